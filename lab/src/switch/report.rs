//! The report of the measurement in memory: the paper's results and the targets.
use super::{FRAMES, RULES};
use crate::{Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

/// Length in bytes of a received frame. The smallest frame with a tunnel is larger than the
/// smallest Ethernet frame.
fn frame_length(operation: &str, frame: u32) -> u32 {
    if operation == "decap" { frame.max(4 + 14 + 44 + 28) } else { frame }
}

/// The median packet rate at a point.
fn value(output: &Output, point: &str) -> f64 {
    output.find(&format!("pps.switch.{point}.median")).map_or(f64::NAN, |figure| figure.value)
}

pub(super) fn write(output: &mut Output, engine: &str) -> Result<()> {
    output.text(&format!(
        "Packets per second of CPU time on one core, in memory, from an endless source into a \
         sink, without interface and generator: medians over all samples with 95 % intervals. The \
         target is DPDK's software switch pipeline (SWX), as {engine}: **software on a CPU, not a \
         switch chip**. The paper measured a programmable hardware switch.\n\nA *64-byte* packet \
         for decapsulation is the smallest possible one: UDP without payload in GTP-U with a PDU \
         session container, a frame of 90 bytes with FCS. It counts as the frame of RFC 2544 that \
         it stands for.\n"
    ));
    let at = |output: &Output, point: String| {
        output.find(&format!("pps.switch.{point}.median")).cloned()
    };
    let mut text = String::from(
        "| frame | decapsulation, Mpps | Gbit/s | encapsulation, Mpps | Gbit/s |\n| --- | --- | \
         --- | --- | --- |\n",
    );
    let mut series: Vec<Series> = Vec::new();
    for (operation, name) in [("decap", "decapsulation"), ("encap", "encapsulation")] {
        let mut points = Vec::new();
        for frame in FRAMES {
            if let Some(figure) = at(output, format!("{operation}_{frame}_memory")) {
                let gbit = |pps: f64| pps * f64::from(frame_length(operation, frame)) * 8.0 / 1e9;
                points.push((
                    f64::from(frame),
                    gbit(figure.value),
                    gbit(figure.low),
                    gbit(figure.high),
                ));
            }
        }
        series.push(Series { name: name.into(), points });
    }
    for (n, frame) in FRAMES.into_iter().enumerate() {
        let cell = |column: usize, name: &str| {
            let figure = at(output, format!("{name}_{frame}_memory"));
            let gbit = series[column].points.get(n).map_or(f64::NAN, |point| point.1);
            figure.map_or("– | –".into(), |f| {
                format!(
                    "{:.2} [{:.2}, {:.2}] | {gbit:.1}",
                    f.value / 1e6,
                    f.low / 1e6,
                    f.high / 1e6
                )
            })
        };
        let _ = writeln!(text, "| {frame} | {} | {} |", cell(0, "decap"), cell(1, "encap"));
    }
    output.text(&text);
    draw(
        output.folder(),
        "throughput",
        &[Panel {
            title: "throughput in memory, one core".into(),
            x_label: "frame size, bytes".into(),
            y_label: "Gbit/s".into(),
            series,
        }],
    )?;
    output.text("![throughput by frame size](throughput.svg)\n");
    let mut text = String::from(
        "## Rules, 64 bytes\n\n| rules | decapsulation, Mpps | encapsulation, Mpps | written in, \
         ms |\n| --- | --- | --- | --- |\n",
    );
    for rules in RULES {
        let suffix = if rules == 1 { String::new() } else { format!("_{rules}_rules") };
        let cell = |operation: &str| {
            at(output, format!("{operation}_64_memory{suffix}"))
                .map_or("–".into(), |f| format!("{:.2}", f.value / 1e6))
        };
        let written = output
            .find(&format!("rules_written.switch.{rules}.median"))
            .map_or("–".into(), |f| format!("{:.1}", f.value));
        let _ = writeln!(text, "| {rules} | {} | {} | {written} |", cell("decap"), cell("encap"));
    }
    output.text(&text);

    let mut text = String::from(
        "## Comparison with the paper\n\n| | paper: hardware switch | here: software, one core, \
         in memory |\n| --- | --- | --- |\n",
    );
    for (operation, name, paper) in [
        ("decap", "decapsulation", "100 Gbit/s, 0.94 µs"),
        ("encap", "encapsulation", "86 Gbit/s, 0.93 µs"),
    ] {
        let pps = value(output, &format!("{operation}_1024_memory"));
        let _ = writeln!(
            text,
            "| {name}, 1024 bytes | {paper} | {:.1} Gbit/s, {:.0} ns of CPU time per packet |",
            pps * 1024.0 * 8.0 / 1e9,
            1e9 / pps
        );
    }
    text.push_str(
        "| native software UPF | 550 and 350 Mbit/s, 70 and 59 µs (free5GC) | `martlet-lab upf` \
         measures Martlet's |\n",
    );
    text.push_str(
        "\nLatency is measured over interfaces (`--interfaces`); it is mainly that of links and \
         sockets.\n",
    );
    output.text(&text);
    let mut text =
        String::from("## Targets\n\n| figure | target | measured |\n| --- | --- | --- |\n");
    let mut row = |what: &str, target: &str, measured: f64| {
        let _ = writeln!(text, "| {what} | {target} | {measured:.2} |");
    };
    let (decap, encap) =
        (value(output, "decap_64_memory") / 1e6, value(output, "encap_64_memory") / 1e6);
    row("decapsulation, 64 bytes, Mpps", "≥ 8", decap);
    row("encapsulation, 64 bytes, Mpps", "≥ 6", encap);
    for operation in ["decap", "encap"] {
        let ratio = value(output, &format!("{operation}_64_memory"))
            / value(output, &format!("{operation}_64_memory_100000_rules"));
        row(&format!("{operation}: 100,000 rules relative to one"), "≤ 1.25 times", ratio);
    }
    let figure = |id: String| output.find(&id).map_or(f64::NAN, |f| f.value);
    for (rules, max) in [(1000, 50.0), (100_000, 5000.0)] {
        let elapsed = figure(format!("rules_issued.switch.{rules}.median"));
        row(&format!("{rules} rules written under traffic, ms"), &format!("≤ {max}"), elapsed);
    }
    let lost = figure("rules_issued.switch.lost_or_reordered".into());
    row("packets lost or reordered meanwhile", "none", lost);
    output.text(&text);
    Ok(())
}

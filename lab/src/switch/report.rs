//! The report: beside the paper's figures, and what was asked for.
use super::{FRAMES, RULES};
use crate::{Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

/// Octets of a frame that goes in: the smallest packet in a tunnel is larger than the smallest
/// frame of Ethernet.
fn octets(way: &str, frame: u32) -> u32 {
    if way == "decap" { frame.max(4 + 14 + 44 + 28) } else { frame }
}

/// The median of a figure of packets.
fn value(output: &Output, point: &str) -> f64 {
    output.find(&format!("pps.switch.{point}.median")).map_or(f64::NAN, |figure| figure.value)
}

pub(super) fn write(output: &mut Output, engine: &str) -> Result<()> {
    output.say(&format!(
        "Packets a second of one core, in memory: from a source that never ends into a sink, no \
         interface, no generator; by the processor's time; medians over all samples with 95 % \
         intervals. The target is DPDK's software switch pipeline (SWX), as {engine}: **software \
         on a processor, not a switch chip**. The paper measured a programmable hardware \
         switch.\n\nA *64-octet* packet that is to leave a tunnel is the smallest that there is: \
         UDP without payload in GTP-U with a PDU session container, a frame of 90 octets with its \
         checksum. It is counted as the frame of RFC 2544 that it stands for.\n"
    ));
    let at = |output: &Output, point: String| {
        output.find(&format!("pps.switch.{point}.median")).cloned()
    };
    let mut text = String::from(
        "| frame | decapsulation, Mpps | Gbit/s | encapsulation, Mpps | Gbit/s |\n| --- | --- | \
         --- | --- | --- |\n",
    );
    let mut series: Vec<Series> = Vec::new();
    for (way, name) in [("decap", "decapsulation"), ("encap", "encapsulation")] {
        let mut points = Vec::new();
        for frame in FRAMES {
            if let Some(figure) = at(output, format!("{way}_{frame}_memory")) {
                let gbit = |pps: f64| pps * f64::from(octets(way, frame)) * 8.0 / 1e9;
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
        let cell = |way: usize, name: &str| {
            let figure = at(output, format!("{name}_{frame}_memory"));
            let gbit = series[way].points.get(n).map_or(f64::NAN, |point| point.1);
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
    output.say(&text);
    draw(
        output.folder(),
        "throughput",
        &[Panel {
            title: "throughput in memory, one core".into(),
            x_label: "frame, octets".into(),
            y_label: "Gbit/s".into(),
            series,
        }],
    )?;
    output.say("![throughput by frame size](throughput.svg)\n");
    let mut text = String::from(
        "## Rules, 64 octets\n\n| rules | decapsulation, Mpps | encapsulation, Mpps | written in, \
         ms |\n| --- | --- | --- | --- |\n",
    );
    for rules in RULES {
        let suffix = if rules == 1 { String::new() } else { format!("_{rules}_rules") };
        let cell = |way: &str| {
            at(output, format!("{way}_64_memory{suffix}"))
                .map_or("–".into(), |f| format!("{:.2}", f.value / 1e6))
        };
        let written = output
            .find(&format!("rules_written.switch.{rules}.median"))
            .map_or("–".into(), |f| format!("{:.1}", f.value));
        let _ = writeln!(text, "| {rules} | {} | {} | {written} |", cell("decap"), cell("encap"));
    }
    output.say(&text);

    let mut text = String::from(
        "## Beside the paper\n\n| | paper: hardware switch | here: software, one core, in memory \
         |\n| --- | --- | --- |\n",
    );
    for (way, name, paper) in [
        ("decap", "decapsulation", "100 Gbit/s, 0.94 µs"),
        ("encap", "encapsulation", "86 Gbit/s, 0.93 µs"),
    ] {
        let pps = value(output, &format!("{way}_1024_memory"));
        let _ = writeln!(
            text,
            "| {name}, 1024 octets | {paper} | {:.1} Gbit/s, {:.0} ns of processor a packet |",
            pps * 1024.0 * 8.0 / 1e9,
            1e9 / pps
        );
    }
    text.push_str(
        "| native software UPF | 550 and 350 Mbit/s, 70 and 59 µs (free5GC) | `martlet lab upf` \
         has Martlet's |\n",
    );
    text.push_str(
        "\nLatency is measured over interfaces (`--interfaces`), where it is that of the links \
         and of their sockets.\n",
    );
    output.say(&text);
    let mut text =
        String::from("## Asked for\n\n| what | asked | measured | |\n| --- | --- | --- | --- |\n");
    let mut row = |what: &str, asked: &str, measured: f64, reached: bool| {
        let _ = writeln!(
            text,
            "| {what} | {asked} | {measured:.2} | {} |",
            if reached { "reached" } else { "**not reached**" }
        );
    };
    let (decap, encap) =
        (value(output, "decap_64_memory") / 1e6, value(output, "encap_64_memory") / 1e6);
    row("decapsulation, 64 octets, Mpps", "≥ 8", decap, decap >= 8.0);
    row("encapsulation, 64 octets, Mpps", "≥ 6", encap, encap >= 6.0);
    for way in ["decap", "encap"] {
        let ratio = value(output, &format!("{way}_64_memory"))
            / value(output, &format!("{way}_64_memory_100000_rules"));
        row(&format!("{way}: 100,000 rules, over one"), "≤ 1.25 times", ratio, ratio <= 1.25);
    }
    let figure = |id: String| output.find(&id).map_or(f64::NAN, |f| f.value);
    for (rules, most) in [(1000, 50.0), (100_000, 5000.0)] {
        let took = figure(format!("rules_issued.switch.{rules}.median"));
        row(
            &format!("{rules} rules issued while packets pass, ms"),
            &format!("≤ {most}"),
            took,
            took <= most,
        );
    }
    let lost = figure("rules_issued.switch.lost_or_overtaken".into());
    row("packets lost or overtaken meanwhile", "none", lost, lost == 0.0);
    output.say(&text);
    Ok(())
}

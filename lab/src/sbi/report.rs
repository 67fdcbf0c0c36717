//! The report: a table for each load, a plot, and what was asked for.
use super::{LOADS, SbiArgs, Variant};
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

const STATISTICS: [(&str, &str); 4] = [
    ("p50", "median"),
    ("p99", "99th percentile"),
    ("cpu", "processor"),
    ("per_call", "time per call"),
];

/// Writes tables and the plot.
pub(super) fn write(output: &mut Output, args: &SbiArgs) -> Result<()> {
    output.say(
        "Times in µs of a call whose body of 1.7 KB comes back; medians over blocks with 95 % \
         intervals. *Processor* is that of both processes for each call. In brackets: how many \
         times more HTTP/2 over TCP takes, block by block.\n",
    );
    for load in LOADS {
        let mut text = format!("## {}\n\n| |", load.title);
        for (_, title) in STATISTICS {
            let _ = write!(text, " {title} |");
        }
        let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(STATISTICS.len()));
        for variant in &args.variants {
            let _ = write!(text, "| {} |", variant.title());
            for (statistic, _) in STATISTICS {
                let figure = |what: &str| {
                    output.find(&format!("roundtrip.{what}.{}.{statistic}", load.name))
                };
                let ratio = figure(&format!("http_tcp_over_{}", variant.name()));
                let ratio = ratio.map_or(String::new(), |r| {
                    format!(" ({:.1} [{:.1}, {:.1}])", r.value, r.low, r.high)
                });
                let value = figure(variant.name())
                    .map_or("–".into(), |f: &Figure| format!("{:.1}", f.value));
                let _ = write!(text, " {value}{ratio} |");
            }
            text.push('\n');
        }
        output.say(&text);
    }
    let table = promises(output);
    output.say(&table);
    let panels: Vec<Panel> = STATISTICS[..3]
        .iter()
        .map(|(statistic, title)| panel(output, args, statistic, title))
        .collect();
    draw(output.folder(), "round-trip", &panels)?;
    output.say("\n![round trip](round-trip.svg)");
    Ok(())
}

/// What was asked for, beside what was measured.
fn promises(output: &Output) -> String {
    let mut text =
        String::from("## Asked for\n\n| ratio | asked | measured | |\n| --- | --- | --- | --- |\n");
    let asked = [
        ("http_tcp_over_frame_binary.inflight1.p50", 8.0),
        ("http_tcp_over_frame_json.inflight1.p50", 5.0),
        ("http_tcp_over_http_fabric.inflight1.p50", 2.0),
        ("http_tcp_over_frame_binary.inflight1.p99", 4.0),
        ("http_tcp_over_frame_binary.inflight1.cpu", 5.0),
        ("http_tcp_over_frame_binary.inflight16.per_call", 6.0),
        // No worse than 1.3 times what iceoryx2 takes.
        ("iceoryx2_over_socket_octets.inflight1.p50", 1.0 / 1.3),
        ("iceoryx2_over_socket_octets.inflight16.per_call", 1.0 / 1.3),
    ];
    for (id, least) in asked {
        let Some(figure) = output.find(&format!("roundtrip.{id}")) else { continue };
        let reached = if figure.value >= least { "reached" } else { "**not reached**" };
        let _ = writeln!(text, "| {id} | ≥ {least:.2} times | {:.2} | {reached} |", figure.value);
    }
    text
}

/// The loads without gaps, by calls in flight.
fn panel(output: &Output, args: &SbiArgs, statistic: &str, title: &str) -> Panel {
    let series = args.variants.iter().map(|variant: &Variant| {
        let point = |load: &super::Load| {
            let f =
                output.find(&format!("roundtrip.{}.{}.{statistic}", variant.name(), load.name))?;
            Some((load.in_flight as f64, f.value, f.low, f.high))
        };
        let points = LOADS.iter().filter(|load| load.gap.is_zero()).filter_map(point).collect();
        Series { name: variant.title().into(), points }
    });
    Panel {
        title: format!("round trip, {title}"),
        x_label: "calls in flight".into(),
        y_label: "µs".into(),
        series: series.collect(),
    }
}

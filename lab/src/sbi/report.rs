//! The report: a table for each load, a plot, and the targets.
use super::{LOADS, SbiArgs, Variant};
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

const STATISTICS: [(&str, &str); 4] = [
    ("p50", "median"),
    ("p99", "99th percentile"),
    ("cpu", "CPU time"),
    ("per_call", "time per call"),
];

/// Writes tables and the plot.
pub(super) fn write(output: &mut Output, args: &SbiArgs) -> Result<()> {
    output.text(
        "Times in µs of a call that echoes a body of 1.7 KB: medians over blocks, with 95 % \
         intervals. *CPU time* is that of both processes per call. In brackets: HTTP/2 over TCP \
         as a multiple, block by block.\n",
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
        output.text(&text);
    }
    let table = targets(output);
    output.text(&table);
    let panels: Vec<Panel> = STATISTICS[..3]
        .iter()
        .map(|(statistic, title)| panel(output, args, statistic, title))
        .collect();
    draw(output.folder(), "round-trip", &panels)?;
    output.text("\n![round trip](round-trip.svg)");
    Ok(())
}

/// The targets beside the measured ratios.
fn targets(output: &Output) -> String {
    let mut text =
        String::from("## Targets\n\n| ratio | target | measured |\n| --- | --- | --- |\n");
    let targets = [
        ("http_tcp_over_frame_binary.inflight1.p99", 4.0),
        ("http_tcp_over_frame_binary.inflight1.cpu", 5.0),
        ("http_tcp_over_frame_binary.inflight16.per_call", 6.0),
        // At most 1.3 times the time of iceoryx2.
        ("iceoryx2_over_socket_octets.inflight1.p50", 1.0 / 1.3),
        ("iceoryx2_over_socket_octets.inflight16.per_call", 1.0 / 1.3),
    ];
    for (id, min) in targets {
        let Some(figure) = output.find(&format!("roundtrip.{id}")) else { continue };
        let _ = writeln!(text, "| {id} | ≥ {min:.2} times | {:.2} |", figure.value);
    }
    text
}

/// A plot of the loads without gaps, by calls in flight.
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

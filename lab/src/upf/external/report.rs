//! The report on UPFs of any vendor.
use super::{DIRECTIONS, LENGTH, QUIET_RATE, RATES};
use crate::{Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

/// Writes tables and plots.
pub(super) fn write(output: &mut Output, names: &[String]) -> Result<()> {
    output.text(&format!(
        "## UPFs by N4, N3 and N6\n\nEach UPF is in a network namespace of its own, between a gNB \
         and a host of the lab; packets of {LENGTH} bytes, the sessions in turn. Medians over \
         rounds of the UPFs in random order; the worst round shows how much this \
         machine disturbs.\n"
    ));
    let mut text = table_head("N4 and memory", names);
    let rows = [
        ("sessions established a second", "n4.{}.establish"),
        ("sessions modified a second", "n4.{}.modify"),
        ("sessions deleted a second", "n4.{}.delete"),
        ("resident without sessions, MB", "resident.{}.empty"),
        ("resident with the sessions, MB", "resident.{}.sessions"),
    ];
    for (title, id) in rows {
        row(output, &mut text, title, names, 1.0, 1, |name| id.replace("{}", name));
    }
    for direction in DIRECTIONS {
        let head = format!("Latency in µs at {QUIET_RATE} packets a second, {direction}");
        text += &table_head(&head, names);
        for statistic in ["p50", "p99", "p999"] {
            let id = |name: &str| format!("latency.{name}.{direction}.{statistic}");
            row(output, &mut text, statistic, names, 1.0, 1, id);
            let id = |name: &str| format!("latency_worst_round.{name}.{direction}.{statistic}");
            row(output, &mut text, &format!("{statistic}, worst round"), names, 1.0, 1, id);
        }
        for (title, what) in
            [("mean change from packet to packet", "mean"), ("p999 less the smallest", "pdv_p999")]
        {
            let id = |name: &str| format!("jitter.{name}.{direction}.{what}");
            row(output, &mut text, title, names, 1.0, 1, id);
        }
    }
    for direction in DIRECTIONS {
        let head = format!("Loss in per cent by packets a second, {direction}");
        text += &table_head(&head, names);
        for rate in RATES {
            let id = |name: &str| format!("loss.{name}.{direction}_{rate:.0}");
            row(output, &mut text, &format!("{rate:.0}"), names, 100.0, 2, id);
        }
    }
    text += "\nA dash: the load was not offered in any round, since this machine was too slow.\n\
             Jitter is the mean change of the latency (RFC 3393), and p999 less the smallest \
             latency of the round (RFC 5481, 4.2).\n";
    output.text(&text);
    let panels: Vec<Panel> = DIRECTIONS.map(|direction| loss(output, names, direction)).into();
    draw(output.folder(), "loss-by-rate", &panels)?;
    output.text("\n![loss by rate](loss-by-rate.svg)");
    Ok(())
}

fn table_head(title: &str, names: &[String]) -> String {
    let rule = " --- |".repeat(names.len());
    format!("\n### {title}\n\n| | {} |\n| --- |{rule}\n", names.join(" | "))
}

fn row(
    output: &Output,
    text: &mut String,
    title: &str,
    names: &[String],
    times: f64,
    decimals: usize,
    id: impl Fn(&str) -> String,
) {
    let _ = write!(text, "| {title} |");
    for name in names {
        let figure = output.find(&id(name));
        let cell = figure.map_or("–".into(), |f| format!("{:.decimals$}", f.value * times));
        let _ = write!(text, " {cell} |");
    }
    text.push('\n');
}

fn loss(output: &Output, names: &[String], direction: &str) -> Panel {
    let series = names.iter().map(|name| {
        let point = |rate: &f64| {
            let figure = output.find(&format!("loss.{name}.{direction}_{rate:.0}"))?;
            let per_cent = |share: f64| share * 100.0;
            let (low, high) = (per_cent(figure.low), per_cent(figure.high));
            Some((rate / 1e3, per_cent(figure.value), low, high))
        };
        Series { name: name.clone(), points: RATES.iter().filter_map(point).collect() }
    });
    Panel {
        title: direction.into(),
        x_label: "1,000 packets a second".into(),
        y_label: "loss, %".into(),
        series: series.collect(),
    }
}

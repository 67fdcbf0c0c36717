//! LCS-UPP: the two diagrams of figure 4, and the five averages.
use super::results::Results;
use super::{Drawing, Mark, PaperFigure, ReproduceArgs, Table};
use crate::lcs_upp::Interval;
use crate::plot::PointLabel;
use crate::{Axes, Panel, Series};
use std::collections::BTreeMap;

/// Channels of each diagram: the paper's, and what stands for each where the build has it not.
const UPPER: [(&str, &str, &str); 3] = [
    ("wolfssl", "wolfSSL", "rustls"),
    ("mbedtls", "Mbed TLS", "openssl"),
    ("msquic", "MsQuic", "quinn"),
];
const LOWER: [(&str, &str, &str); 3] = [
    ("wolfssl", "Type 1, wolfSSL", "rustls"),
    ("ktls", "Type 2, kernel TLS", ""),
    ("kernel_module", "Type 3, kernel module", ""),
];
/// The paper's payload sizes: powers of two, and the largest payload.
const SIZES: usize = 17;

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    let mut words = Vec::new();
    if args.minimal {
        words.extend(["--rounds", "5", "--sizes", "1,65535", "--setups", "1"]);
        words.extend(["--channels", "rustls,quinn"]);
    } else if args.quick {
        words.extend(["--rounds", "50"]);
    }
    if args.realtime {
        words.push("--realtime");
    }
    words.into_iter().map(String::from).collect()
}

/// The interval of each payload size of a channel.
fn intervals(results: &Results, channel: &str) -> BTreeMap<usize, Interval> {
    let mut samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for row in &results.rows {
        if let [name, n, _, time] = &row[..]
            && name == channel
            && let (Ok(n), Ok(time)) = (n.parse(), time.parse())
        {
            samples.entry(n).or_default().push(time);
        }
    }
    samples.into_iter().filter_map(|(n, all)| Some((n, Interval::of(&all)?))).collect()
}

/// The mean change of the upper bound, in per cent.
fn change(results: &Results, of: &str, from: &str) -> Option<f64> {
    let (of, from) = (intervals(results, of), intervals(results, from));
    super::results::mean(of.iter().map(|(n, it)| Some(it.change(from.get(n)?))))
}

/// wolfSSL as the paper runs it, with the library's defaults, where that was measured.
fn measured<'a>(results: &Results, name: &'a str) -> Option<&'a str> {
    let has = |name: &str| results.rows.iter().any(|row| row.first().is_some_and(|it| it == name));
    match name {
        "wolfssl" if has("wolfssl_default") => Some("wolfssl_default"),
        _ => has(name).then_some(name),
    }
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let diagrams = [
        ("lcs-upp-4a", "upper diagram: Type 1 libraries", UPPER),
        ("lcs-upp-4b", "lower diagram: the three data path types", LOWER),
    ];
    diagrams.map(|(id, title, channels)| diagram(results, id, title, channels)).into()
}

/// Path, real-time properties and length of the run, as it noted them.
fn conditions(results: &Results) -> String {
    let mut text = match results.noted("path") {
        Some("loopback") => "Both ends ran on one machine, without a radio".to_string(),
        Some("core") => "Both ends ran on one machine, over a simulated gNB and Martlet's UPF, \
                         without a radio"
            .into(),
        Some("radio") => "Both ends ran on one machine, over a model of the air interface".into(),
        Some("peer") => format!(
            "The ends ran on two machines; the LMF's: {}",
            results.noted("lmf").unwrap_or("not noted")
        ),
        _ => return "The run noted no conditions.".into(),
    };
    let ue = results.noted("ue").unwrap_or("not noted");
    text += &match results.run["realtime"].as_bool() {
        Some(true) => format!(", with the real-time properties ({ue})"),
        _ => format!(", without the real-time properties ({ue})"),
    };
    if let Some(rounds) = results.run["rounds"].as_u64() {
        text += &format!(", {rounds} rounds for each point");
    }
    if let Some(guest) = results.noted("guest") {
        text += &format!(", in an emulated machine ({guest}): compare its values with each other");
    }
    text + "."
}

/// A change in per cent, in a few characters.
fn short(change: f64) -> String {
    let digits = if change.abs() < 9.95 { 1 } else { 0 };
    format!("{change:+.digits$}")
}

fn diagram(
    results: &Results,
    id: &'static str,
    title: &str,
    channels: [(&'static str, &'static str, &'static str); 3],
) -> PaperFigure {
    let mut lines: Vec<(String, BTreeMap<usize, Interval>)> = Vec::new();
    let mut lacks = Vec::new();
    let mut has_tuned = false;
    for (channel, name, instead) in channels {
        let why = results.run["absent"][channel].as_str().unwrap_or("not measured");
        match (measured(results, channel), measured(results, instead)) {
            (Some(found), _) => {
                has_tuned |= found == "wolfssl";
                lines.push((name.to_string(), intervals(results, found)));
            }
            (None, Some(instead)) => {
                lacks.push(format!("{instead} stands for {name} ({why})"));
                lines.push((format!("{instead} (for {name})"), intervals(results, instead)));
            }
            (None, None) => lacks.push(format!("{name} is absent ({why})")),
        }
    }
    // The paper runs wolfSSL as it is, and all sizes. The CPU of a guest may be emulated.
    let is_papers = !has_tuned
        && lines.iter().all(|(_, points)| points.len() >= SIZES)
        && results.run["realtime"].as_bool() == Some(true)
        && results.noted("guest").is_none();
    let mark = match results.noted("path") {
        _ if !lacks.is_empty() => Mark::Incomplete,
        Some("radio") => Mark::ModelledPart,
        _ if is_papers => Mark::True,
        _ => Mark::OtherTestbed,
    };
    let first = if lacks.is_empty() {
        "All of the figure's channels ran in one run.".into()
    } else {
        format!(
            "{}. `make reproduce` builds the libraries, and runs a guest with kernel TLS and \
             Martlet's module.",
            lacks.join("; ")
        )
    };
    let reason = format!("{first} {}", conditions(results));
    let mut figure = PaperFigure::new(id, &format!("LCS-UPP, figure 4, {title}"), mark, &reason);
    // The paper prints at each point the change of the upper bound from wolfSSL's at the same n.
    let (mut labels, mut table) = (Vec::new(), None);
    if let Some(((base, from), others)) = lines.split_first() {
        let cell = |of: &BTreeMap<usize, Interval>, n: &usize| {
            of.get(n).zip(from.get(n)).map(|(of, from)| of.change(from))
        };
        for (name, of) in others {
            labels.extend(of.keys().filter_map(|n| {
                let change = cell(of, n)?;
                Some(PointLabel {
                    series: name.clone(),
                    x: *n as f64,
                    text: short(change),
                    is_below: change < 0.0,
                })
            }));
        }
        let row = |(n, it): (&usize, &Interval)| -> Vec<String> {
            let changes = others.iter().map(|(_, of)| {
                cell(of, n).map_or("–".into(), |change| format!("{change:+.2} %"))
            });
            [n.to_string(), format!("{:.4} ms", it.high())].into_iter().chain(changes).collect()
        };
        let columns = ["n, bytes".to_string(), format!("{base}, upper bound")];
        table = (!others.is_empty()).then(|| Table {
            title: format!("Change of the interval's upper bound relative to {base}"),
            columns: columns.into_iter().chain(others.iter().map(|it| it.0.clone())).collect(),
            rows: from.iter().map(row).collect(),
        });
    }
    figure.table = table;
    let series = lines.into_iter().map(|(name, points)| Series {
        name,
        points: points.iter().map(|(n, it)| (*n as f64, it.mean, it.low(), it.high())).collect(),
    });
    let panel = Panel {
        title: title.into(),
        x_label: "LPP payload size n, bytes".into(),
        y_label: "transport time, ms, 99 % interval".into(),
        series: series.collect(),
    };
    let axes = Axes { log_x: true, log_y: true };
    figure.drawing = Drawing::Labelled(vec![panel], axes, labels);
    for quantity in super::paper::of(id) {
        let (of, from) = quantity.what.split_once(" relative to ").unwrap_or_default();
        let value = measured(results, of)
            .zip(measured(results, from))
            .and_then(|(of, from)| change(results, of, from));
        figure.here(quantity.what, value);
    }
    figure.like = "The paper finds that the transport time grows with the payload, and rapidly \
                   above the size of a TLS record (2¹⁴ bytes). As in the paper, a number at a \
                   point is the change of the upper bound in per cent. Where the path has no \
                   radio, the channels' own cost is a larger share."
        .into();
    figure
}

#[cfg(test)]
mod tests {
    use super::super::mark::mark_name;
    use super::*;
    use serde_json::{Value, json};

    const UPPER_MEASURED: [&str; 3] = ["wolfssl_default", "mbedtls", "msquic"];
    const ALL: [&str; 5] = ["wolfssl_default", "mbedtls", "msquic", "ktls", "kernel_module"];

    /// The marks of both diagrams, of a run with two rounds of each channel and size.
    fn marks(channels: &[&str], sizes: usize, run: Value) -> Vec<&'static str> {
        let row = |channel: &str, n: usize, time: &str| {
            [channel, &n.to_string(), "0", time].map(String::from).to_vec()
        };
        let rows = channels.iter().flat_map(|channel| {
            (1..=sizes).flat_map(move |n| [row(channel, n, "1.0"), row(channel, n, "1.1")])
        });
        let mut results = Results::of(rows.collect());
        results.run = run;
        figures(&results).iter().map(|figure| mark_name(figure.mark)).collect()
    }

    #[test]
    fn figure_4_is_true_with_all_channels_and_sizes_and_the_real_time_properties() {
        let realtime = || json!({"realtime": true});
        assert_eq!(marks(&ALL, SIZES, realtime()), ["true", "true"]);
        assert_eq!(marks(&ALL, SIZES, json!({"realtime": false})), ["other testbed"; 2]);
        assert_eq!(marks(&ALL, SIZES, Value::Null), ["other testbed"; 2], "nothing was noted");
        let guest = json!({"realtime": true, "guest": "QEMU without KVM"});
        assert_eq!(marks(&ALL, SIZES, guest), ["other testbed"; 2]);
        assert_eq!(marks(&UPPER_MEASURED, SIZES, realtime()), ["true", "incomplete"]);
        assert_eq!(marks(&ALL, SIZES - 1, realtime()), ["other testbed"; 2]);
        let tuned = ["wolfssl", "mbedtls", "msquic"];
        assert_eq!(marks(&tuned, SIZES, realtime())[0], "other testbed");
    }

    #[test]
    fn figure_4_with_a_model_or_without_a_series_is_never_true() {
        let radio = json!({"realtime": true, "path": "radio"});
        assert_eq!(marks(&ALL, SIZES, radio), ["modelled part"; 2]);
        let replaced = ["wolfssl_default", "openssl", "msquic"];
        let run = json!({"realtime": true, "path": "loopback"});
        assert_eq!(marks(&replaced, SIZES, run), ["incomplete"; 2]);
    }
}

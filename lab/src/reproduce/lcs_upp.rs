//! LCS-UPP: the two diagrams of figure 4, and the five averages.
use super::results::Results;
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::lcs_upp::Interval;
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

pub(super) fn figures(results: &Results, args: &ReproduceArgs) -> Vec<PaperFigure> {
    let diagrams = [
        ("lcs-upp-4a", "upper diagram: Type 1 libraries", UPPER),
        ("lcs-upp-4b", "lower diagram: the three data path types", LOWER),
    ];
    diagrams.map(|(id, title, channels)| diagram(results, args, id, title, channels)).into()
}

fn diagram(
    results: &Results,
    args: &ReproduceArgs,
    id: &'static str,
    title: &str,
    channels: [(&'static str, &'static str, &'static str); 3],
) -> PaperFigure {
    let mut series = Vec::new();
    let (mut missing, mut replaced) = (Vec::new(), Vec::new());
    for (channel, name, instead) in channels {
        let (found, title) = match (measured(results, channel), measured(results, instead)) {
            (Some(found), _) => (found, name.to_string()),
            (None, Some(instead)) => {
                replaced.push(format!("{instead} stands for {name}"));
                (instead, format!("{instead} (for {name})"))
            }
            (None, None) => {
                missing.push(name);
                continue;
            }
        };
        let points = intervals(results, found);
        series.push(Series {
            name: title,
            points: points
                .iter()
                .map(|(n, it)| (*n as f64, it.mean, it.low(), it.high()))
                .collect(),
        });
    }
    let reason = match (missing.is_empty() && replaced.is_empty(), args.realtime) {
        (true, true) => "All of the figure's channels ran in one run, with the real-time \
                         properties; both ends run on this machine, without a radio."
            .to_string(),
        (true, false) => "All of the figure's channels ran in one run, without the real-time \
                          properties (--realtime); both ends run on this machine, without a radio."
            .into(),
        _ => {
            let mut parts = replaced.clone();
            if !missing.is_empty() {
                parts.push(format!("not measured: {}", missing.join(", ")));
            }
            format!(
                "Both ends run on this machine, without a radio. {}. Build with --features \
                 wolfssl,mbedtls,msquic, and run in a kernel with TLS and Martlet's module.",
                parts.join("; ")
            )
        }
    };
    let mut figure =
        PaperFigure::new(id, &format!("LCS-UPP, figure 4, {title}"), Mark::OtherTestbed, &reason);
    figure.drawing = Drawing::Lines(
        vec![Panel {
            title: title.into(),
            x_label: "LPP payload size n, bytes".into(),
            y_label: "transport time, ms, 99 % interval".into(),
            series,
        }],
        Axes { log_x: true, log_y: true },
    );
    for quantity in super::paper::of(id) {
        let (of, from) = quantity.what.split_once(" relative to ").unwrap_or_default();
        let value = measured(results, of)
            .zip(measured(results, from))
            .and_then(|(of, from)| change(results, of, from));
        figure.here(quantity.what, value);
    }
    figure.like =
        "The paper finds that the transport time grows with the payload, and rapidly above \
                   the size of a TLS record (2¹⁴ bytes). The path here is a loopback, so that the \
                   channels' own cost is a larger share than over a radio."
            .into();
    figure
}

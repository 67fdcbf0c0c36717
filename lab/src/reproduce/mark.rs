//! How true to the paper a measured figure is. A figure that was not measured has no mark: it is
//! absent.
use super::PaperFigure;
use super::results::Results;
use std::collections::BTreeSet;

/// How true to the paper a figure is. Each measured figure has exactly one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// All of its parts are real and of the paper's kind: the paper's board with its sensors, or
    /// the paper's libraries and kernel parts in one run with the paper's real-time properties.
    True,
    /// Measured on other hardware, or with other programs, than the paper's.
    OtherTestbed,
    /// A part of it is a model.
    ModelledPart,
    /// Series of the paper are absent, or others stand for them.
    Incomplete,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Mark::True => "true",
            Mark::OtherTestbed => "other testbed",
            Mark::ModelledPart => "modelled part",
            Mark::Incomplete => "incomplete",
        }
    }
}

/// The word of a report for a mark, or for a figure without one.
pub(super) fn mark_name(mark: Option<Mark>) -> &'static str {
    mark.map_or("absent", Mark::name)
}

/// The channels of the two diagrams of LCS-UPP, figure 4.
const LCS_UPP: [(&str, [&str; 3]); 2] = [
    ("lcs-upp-4a", ["wolfssl_default", "mbedtls", "msquic"]),
    ("lcs-upp-4b", ["wolfssl_default", "ktls", "kernel_module"]),
];
/// The paper's payload sizes: powers of two, and the largest payload.
const SIZES: usize = 17;

/// Marks the diagrams of figure 4 of LCS-UPP as true that have all of the paper's channels with all
/// of its payload sizes, in one run that noted the real-time properties, and no modelled part. A
/// guest is another testbed: its CPU may be emulated.
pub(super) fn judge_lcs_upp(figures: &mut [PaperFigure], results: &Results) {
    let is_realtime = results.run["realtime"].as_bool() == Some(true);
    let is_machine = results.noted("guest").is_none();
    let sizes = |channel: &str| {
        let rows = results.rows.iter().filter(|row| row.first().is_some_and(|it| it == channel));
        rows.filter_map(|row| row.get(1)).collect::<BTreeSet<_>>().len()
    };
    for (id, channels) in LCS_UPP {
        let is_true =
            is_realtime && is_machine && channels.iter().all(|channel| sizes(channel) >= SIZES);
        let can_be_true =
            |figure: &&mut PaperFigure| figure.id == id && figure.mark == Some(Mark::OtherTestbed);
        for figure in figures.iter_mut().filter(can_be_true).filter(|_| is_true) {
            figure.mark = Some(Mark::True);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn marks(results: &Results, before: Mark) -> [&'static str; 2] {
        let mut figures =
            ["lcs-upp-4a", "lcs-upp-4b"].map(|id| PaperFigure::new(id, id, before, ""));
        judge_lcs_upp(&mut figures, results);
        figures.map(|figure| mark_name(figure.mark))
    }

    fn results(channels: &[&str], sizes: usize, run: Value) -> Results {
        let row = |channel: &str, n: usize| vec![channel.to_string(), n.to_string()];
        let rows = channels.iter().flat_map(|channel| (0..sizes).map(|n| row(channel, n)));
        let mut results = Results::of(rows.collect());
        results.run = run;
        results
    }

    const UPPER: [&str; 3] = ["wolfssl_default", "mbedtls", "msquic"];
    const ALL: [&str; 5] = ["wolfssl_default", "mbedtls", "msquic", "ktls", "kernel_module"];

    #[test]
    fn figure_4_is_true_with_all_channels_and_sizes_and_the_real_time_properties() {
        let of = |channels: &[&str], sizes: usize, run: Value| {
            marks(&results(channels, sizes, run), Mark::OtherTestbed)
        };
        let realtime = || json!({"realtime": true});
        assert_eq!(of(&ALL, SIZES, realtime()), ["true", "true"]);
        assert_eq!(of(&ALL, SIZES, json!({"realtime": false})), ["other testbed"; 2]);
        assert_eq!(of(&ALL, SIZES, Value::Null), ["other testbed"; 2], "nothing was noted");
        let guest = json!({"realtime": true, "guest": "QEMU without KVM"});
        assert_eq!(of(&ALL, SIZES, guest), ["other testbed"; 2]);
        assert_eq!(of(&UPPER, SIZES, realtime()), ["true", "other testbed"]);
        assert_eq!(of(&UPPER, SIZES - 1, realtime()), ["other testbed"; 2]);
    }

    #[test]
    fn figure_4_with_a_model_or_without_a_series_is_never_true() {
        let all = results(&ALL, SIZES, json!({"realtime": true}));
        assert_eq!(marks(&all, Mark::ModelledPart), ["modelled part"; 2]);
        assert_eq!(marks(&all, Mark::Incomplete), ["incomplete"; 2]);
    }
}

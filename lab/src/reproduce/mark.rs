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
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Mark::True => "true",
            Mark::OtherTestbed => "other testbed",
            Mark::ModelledPart => "modelled part",
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
/// of its payload sizes, in one run with the real-time properties.
pub(super) fn judge_lcs_upp(figures: &mut [PaperFigure], results: &Results, realtime: bool) {
    let sizes = |channel: &str| {
        let rows = results.rows.iter().filter(|row| row.first().is_some_and(|it| it == channel));
        rows.filter_map(|row| row.get(1)).collect::<BTreeSet<_>>().len()
    };
    for (id, channels) in LCS_UPP {
        let is_true = realtime && channels.iter().all(|channel| sizes(channel) >= SIZES);
        for figure in figures.iter_mut().filter(|figure| figure.id == id && is_true) {
            figure.mark = Some(Mark::True);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_4_is_true_with_all_channels_and_sizes_and_the_real_time_properties() {
        let row = |channel: &str, n: usize| vec![channel.to_string(), n.to_string()];
        let of = |channels: &[&str], sizes: usize| {
            let rows = channels.iter().flat_map(|channel| (0..sizes).map(|n| row(channel, n)));
            Results::of(rows.collect())
        };
        let marks = |results: &Results, realtime: bool| {
            let mut figures = ["lcs-upp-4a", "lcs-upp-4b"]
                .map(|id| PaperFigure::new(id, id, Mark::OtherTestbed, ""));
            judge_lcs_upp(&mut figures, results, realtime);
            figures.map(|figure| mark_name(figure.mark))
        };
        let upper = ["wolfssl_default", "mbedtls", "msquic"];
        let all = of(&[&upper[..], &["ktls", "kernel_module"]].concat(), SIZES);
        assert_eq!(marks(&all, true), ["true", "true"]);
        assert_eq!(marks(&all, false), ["other testbed"; 2]);
        assert_eq!(marks(&of(&upper, SIZES), true), ["true", "other testbed"]);
        assert_eq!(marks(&of(&upper, SIZES - 1), true), ["other testbed"; 2]);
    }
}

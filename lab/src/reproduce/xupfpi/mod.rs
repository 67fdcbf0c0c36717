//! XupfPI: the study of a UPF on a satellite's board, figures 2, 4 to 9, 11 and 12.
mod load;
mod over_time;
mod power;
mod study;

use super::results::{Point, Results};
use super::{PaperFigure, ReproduceArgs};
use crate::{Panel, Series};
use study::{Study, Value};

const BOTH: [(&str, &str); 2] = [("kernel", "vanilla UPF (kernel)"), ("xdp", "XDP UPF")];
/// The report of the study, beside this one.
const STUDY: (&str, &str) = ("upf/report.md", "the same on a whole CPU of this machine");

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    let mut words = vec!["--parts".to_string(), "onboard".into()];
    if args.minimal {
        words.push("--least".into());
    }
    if args.hold > 0 {
        words.extend(["--hold".into(), args.hold.to_string()]);
    }
    words
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let study = Study::of(results);
    let mut all = vec![power::board(&study)];
    all.extend(load::by_bandwidth(&study));
    all.extend(load::by_sessions(&study));
    all.extend(over_time::figures(&study));
    all
}

fn at(x: f64, value: Value) -> Point {
    (x, value.0, value.1, value.2)
}

fn panel(title: &str, x: &str, y: &str, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), x_label: x.into(), y_label: y.into(), series }
}

/// A series for each datapath.
fn both(of: impl Fn(&'static str) -> Vec<Point>) -> Vec<Series> {
    BOTH.map(|(variant, title)| Series { name: title.into(), points: of(variant) }).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Mark;

    /// Rows of ten repetitions with three slots of both datapaths, on a board.
    fn rows() -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut row = |kind: &str, variant: &str, at: (u32, u32), values: [f64; 2]| {
            let [first, second] = values.map(|value| value.to_string());
            let round = format!("{}:{}", at.0, at.1);
            let words = [kind, "60", variant, "uplink", &round, &first, &second];
            rows.push(words.map(String::from).into());
        };
        for (repetition, slot) in (0..10).flat_map(|n| (0..3).map(move |slot| (n, slot))) {
            for (variant, loss, busy) in [("kernel", 20.0, 90.0), ("xdp", 0.0, 40.0)] {
                let more = f64::from(repetition);
                for kind in ["board_time", "same_load"] {
                    row(kind, variant, (repetition, slot), [loss + more, busy + more]);
                }
                let heat = 50.0 + f64::from(slot) * 10.0;
                row("board_time_celsius", variant, (repetition, slot), [heat, f64::NAN]);
                if variant == "kernel" {
                    row("board_room_27", variant, (repetition, slot), [loss, heat]);
                }
            }
        }
        rows
    }

    const SHARE: (&str, Value) = ("board.share", (0.04, 0.04, 0.04));
    const CELSIUS: (&str, Value) = ("board_celsius.kernel.load0.median", (61.0, 60.0, 62.0));

    fn found<'a>(figures: &'a [PaperFigure], id: &str) -> &'a PaperFigure {
        figures.iter().find(|figure| figure.id == id).unwrap()
    }

    #[test]
    fn figures_over_time_have_the_median_and_interval_of_ten_repetitions_by_slot() {
        let results = Results::of(rows()).with(&[SHARE]);
        let figures = figures(&results);
        let eleven = found(&figures, "xupfpi-11").drawing.values();
        let kernel: Vec<_> = eleven.iter().filter(|value| value.series == BOTH[0].1).collect();
        // Three slots on the board, and three beside on a whole CPU.
        assert_eq!(kernel.len(), 6);
        assert!(kernel.iter().all(|drawn| drawn.value.0 == 24.5 && drawn.value.1 < 24.5));
        assert!(kernel.iter().all(|drawn| drawn.value.2 > 24.5));
        let panels: Vec<&str> = kernel.iter().map(|drawn| drawn.panel.as_str()).collect();
        assert!(panels[5].starts_with("whole CPU"), "{panels:?}");
        let twelve = found(&figures, "xupfpi-12");
        assert_eq!(twelve.mark, Some(Mark::ModelledPart));
        assert!(twelve.drawing.values().iter().any(|drawn| drawn.panel == "modelled temperature"));
        let eight = found(&figures, "xupfpi-8").drawing.values();
        assert!(eight.iter().any(|drawn| drawn.series == "vanilla UPF, room of 27 °C"));
    }

    #[test]
    fn a_board_with_sensors_has_its_temperature_by_slot_and_the_papers_board_is_true() {
        let watts = [
            ("board_watts.kernel.load0.median", (3.0, 3.0, 3.0)),
            ("board_watts.kernel.load6.median", (5.0, 5.0, 5.0)),
            ("board_celsius.kernel.load6.median", (75.0, 74.0, 76.0)),
        ];
        let sensors = || Results::of(rows()).with(&[SHARE, CELSIUS]).with(&watts);
        for (board, mark) in [
            ("Raspberry Pi 4 Model B Rev 1.4", Mark::True),
            ("Raspberry Pi 5 Model B Rev 1.0", Mark::OtherTestbed),
        ] {
            let mut results = sensors();
            results.board = Some(board.into());
            let figures = figures(&results);
            for id in ["xupfpi-4", "xupfpi-7", "xupfpi-8", "xupfpi-12"] {
                let figure = found(&figures, id);
                assert_eq!(figure.mark, Some(mark), "{id} on {board}");
                let words = format!("{} {}", figure.title, figure.reason);
                let panels = figure.drawing.values().into_iter().map(|drawn| drawn.panel);
                let words = panels.fold(words, |all, panel| all + &panel);
                assert!(!words.contains("modelled"), "{id}: {words}");
            }
            let twelve = found(&figures, "xupfpi-12").drawing.values();
            let heat = twelve.iter().filter(|drawn| drawn.panel == "temperature");
            assert!(heat.map(|drawn| drawn.value.0).any(|celsius| celsius == 70.0));
            let two = found(&figures, "xupfpi-2");
            assert_eq!(two.mark, Some(Mark::OtherTestbed), "the satellite's curve is absent");
            assert_eq!(two.drawing.values().len(), 2);
        }
        // A board without sensors is modelled, also where it is the paper's.
        let mut results = Results::of(rows()).with(&[SHARE]);
        results.board = Some("Raspberry Pi 4 Model B Rev 1.4".into());
        let figures = figures(&results);
        assert_eq!(found(&figures, "xupfpi-12").mark, Some(Mark::ModelledPart));
        assert_eq!(found(&figures, "xupfpi-7").mark, Some(Mark::OtherTestbed));
    }
}

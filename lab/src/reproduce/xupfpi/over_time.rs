//! Figures 7, 8, 9, 11 and 12: loss, CPU time and temperature over time.
use super::study::{Study, by_slot, middle};
use super::{BOTH, STUDY, at, both, panel};
use crate::reproduce::results::{NO_BAR, Point, Results};
use crate::reproduce::{Drawing, PaperFigure};
use crate::upf::onboard::same_load::{PARTS, ROOMS};
use crate::upf::onboard::steady_temperature;
use crate::upf::onboard::stress::KINDS;
use crate::{Axes, Bars, Series};
use martlet_board::BoardConfig;

/// A sentence on the lines over time.
const REPETITIONS: &str = "Each point is the median of ten repetitions with its 95 % interval.";

/// Figures 7, 8, 9, 11 and 12.
pub(super) fn figures(study: &Study<'_>) -> Vec<PaperFigure> {
    vec![
        loss_by_bandwidth(study),
        by_temperature(study),
        loss_by_memory_use(study),
        loss_at_full_load(study),
        cpu_and_temperature(study),
    ]
}

/// The median of the loss over all slots, in per cent.
fn usual_loss(study: &Study<'_>, variant: &str, part: u32) -> Option<f64> {
    middle(study.loss_by_slot(variant, part).into_iter().flatten())
}

/// Figure 7.
fn loss_by_bandwidth(study: &Study<'_>) -> PaperFigure {
    let mut seven = PaperFigure::new(
        "xupfpi-7",
        "XupfPI, figure 7: bandwidth and packet loss of the vanilla UPF",
        study.mark(),
        &study.machine(),
    );
    let panels = PARTS.map(|part| {
        let mut series =
            vec![Series { name: BOTH[0].1.into(), points: study.loss_over_time("kernel", part) }];
        if let Some(whole) = study.beside() {
            // The same study up to this machine's own breaking point.
            let points = whole.loss_over_time(BOTH[0].0, part);
            series.push(Series { name: "whole CPU, load scaled".into(), points });
        }
        panel(&format!("{part} Mbit/s"), "seconds", "% lost", series)
    });
    seven.drawing = Drawing::Lines(panels.into(), Axes::default());
    for part in [20, 60] {
        seven.here(&format!("loss at {part} Mbit/s"), usual_loss(study, "kernel", part));
    }
    seven.like = format!(
        "The paper finds that the vanilla UPF loses much at 60 Mbit/s. {REPETITIONS} The second \
         line is the same on a whole CPU of this machine, where 60 stands for 1.2 times the rate \
         that the kernel path carries; its slots whose load was not offered are not drawn."
    );
    seven
}

/// Figure 8.
fn by_temperature(study: &Study<'_>) -> PaperFigure {
    let (mark, reason) = study.mark_of_heat();
    let title = "XupfPI, figure 8: temperature and packet loss";
    let mut eight = PaperFigure::new("xupfpi-8", title, mark, &reason);
    let series = match study.is_measured || study.share.is_none() {
        // Of a board's sensor, or of the model by the CPU time of a whole CPU.
        true => {
            let losses = study.loss_by_slot("kernel", 60);
            let heat = study.heat_by_slot("kernel");
            let points = heat.iter().zip(losses);
            let points = points.filter_map(|(heat, loss)| Some(at(heat.1, loss?)));
            vec![Series { name: BOTH[0].1.into(), points: points.collect() }]
        }
        false => ROOMS.map(|room| in_room(study.results, room)).into(),
    };
    let limit = BoardConfig::default().throttle;
    let mut below: Vec<Point> =
        series.iter().flat_map(|series| &series.points).copied().filter(|p| p.0 < limit).collect();
    below.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (colder, warmer) = below.split_at(below.len() / 2);
    let middle = |points: &[Point]| middle(points.iter().map(|p| (p.1, p.2, p.3)));
    let change = middle(warmer).zip(middle(colder)).map(|(warmer, colder)| warmer - colder);
    eight.here("change of the loss while the board heats up", change);
    let (x, like) = match study.is_measured {
        true => (
            "temperature, °C",
            "The temperature is that of this board's sensor while it heats up in one room.",
        ),
        false if study.share.is_some() => (
            "modelled temperature, °C",
            "The simulated board heats up in rooms of several temperatures. From 80 °C on it \
             lowers its frequency, which acts on the emulated board's share of the CPU: the loss \
             rises there and not below. The table has the change below 80 °C.",
        ),
        false => (
            "modelled temperature, °C",
            "The temperature is modelled and cannot act on the CPU: a loss here arises without it.",
        ),
    };
    eight.drawing = Drawing::Lines(
        vec![panel("vanilla UPF at 60 Mbit/s", x, "% lost", series)],
        Axes::default(),
    );
    eight.like = format!(
        "The paper finds that the loss hardly follows the temperature, under several thermal \
         conditions. {like} {REPETITIONS}"
    );
    eight
}

/// Loss by the temperature of the simulated board in a room.
fn in_room(results: &Results, room: u32) -> Series {
    let of = |column| by_slot(results, &format!("board_room_{room}"), "kernel", 60, column);
    let points = of(1).into_iter().zip(of(0)).filter_map(|(heat, loss)| Some(at(heat?.0, loss?)));
    Series { name: format!("vanilla UPF, room of {room} °C"), points: points.collect() }
}

/// Figure 9.
fn loss_by_memory_use(study: &Study<'_>) -> PaperFigure {
    let mut nine = PaperFigure::new(
        "xupfpi-9",
        "XupfPI, figure 9: frequent memory use and packet loss",
        study.mark(),
        &study.machine(),
    );
    let memory = |variant: &str, kind: &str| {
        let id = format!("{}_loss.{variant}.memory_{kind}.median", study.prefix);
        study.results.interval(&id)
    };
    let series = BOTH.map(|(variant, name)| {
        let bars = KINDS.iter().map(|(kind, _)| memory(variant, kind).unwrap_or(NO_BAR));
        (name.to_string(), bars.collect())
    });
    let title = match study.share {
        Some(_) => "loss at 50 Mbit/s",
        None => "loss at 0.9 of the rate that the kernel path carries",
    };
    nine.drawing = Drawing::Bars(vec![Bars {
        title: title.into(),
        y_label: "% lost".into(),
        groups: KINDS.map(|(kind, _)| kind.to_string()).into(),
        series: series.into(),
    }]);
    let more = memory("kernel", "frequent").zip(memory("kernel", "sparse"));
    let what = "loss with frequent memory use, above that with sparse use, vanilla";
    nine.here(what, more.map(|(frequent, sparse)| frequent.0 - sparse.0));
    nine.like =
        "As in the paper, other programs load the memory while packets flow. The load runs \
                 on another CPU here, and this machine's memory is wider than a Raspberry Pi's."
            .into();

    nine.more = study.beside().map(|_| STUDY);
    nine
}

/// Figure 11.
fn loss_at_full_load(study: &Study<'_>) -> PaperFigure {
    let mut eleven = PaperFigure::new(
        "xupfpi-11",
        "XupfPI, figure 11: packet loss at 60 Mbit/s",
        study.mark(),
        &study.machine(),
    );
    let lost = |title: &str, study: &Study<'_>| {
        let series = both(|variant| study.loss_over_time(variant, 60));
        panel(title, "seconds", "% lost", series)
    };
    let mut panels = vec![lost("loss at 60 Mbit/s", study)];
    panels.extend(study.beside().map(|whole| lost(&whole.title("loss"), &whole)));
    eleven.drawing = Drawing::Lines(panels, Axes::default());
    eleven.here("loss of the vanilla UPF", usual_loss(study, "kernel", 60));
    eleven.here("loss of the XDP UPF", usual_loss(study, "xdp", 60));
    eleven.like =
        format!("The paper finds that XDP loses far less than the kernel path. {REPETITIONS}");
    eleven
}

/// Figure 12.
fn cpu_and_temperature(study: &Study<'_>) -> PaperFigure {
    let (mark, reason) = study.mark_of_heat();
    let title = "XupfPI, figure 12: CPU time and temperature at 60 Mbit/s";
    let mut twelve = PaperFigure::new("xupfpi-12", title, mark, &reason);
    let cpu = |title: &str, study: &Study<'_>| {
        let series = both(|variant| study.cpu_over_time(variant));
        let series = study.with_generator(series, study.cpu_over_time("generator"));
        panel(title, "seconds", "% of the computing power", series)
    };
    let (title, seconds) = match study.is_measured {
        true => ("temperature", "seconds"),
        false => ("modelled temperature", "seconds on the board"),
    };
    let heat = both(|variant| study.heat_by_slot(variant));
    let mut panels = vec![cpu(study.cpu_title(), study), panel(title, seconds, "°C", heat)];
    panels.extend(study.beside().map(|whole| cpu(&whole.title("added CPU time"), &whole)));
    twelve.drawing = Drawing::Lines(panels, Axes::default());
    let usual = |variant: &str| middle(study.cpu_by_slot(variant, 60).into_iter());
    let (vanilla, xdp) = (usual("kernel"), usual("xdp"));
    let times = vanilla.zip(xdp).map(|(vanilla, xdp)| vanilla / xdp);
    twelve.here("CPU time of vanilla over XDP", times.filter(|times| times.is_finite()));
    let last = |variant: &str| Some(study.heat_by_slot(variant).last()?.1);
    let above = match study.is_measured {
        true => last("kernel").zip(last("xdp")),
        false => vanilla.zip(xdp).map(|(vanilla, xdp)| {
            (steady_temperature(vanilla / 100.0), steady_temperature(xdp / 100.0))
        }),
    };
    twelve.here("temperature of vanilla above XDP", above.map(|(vanilla, xdp)| vanilla - xdp));
    twelve.like = format!(
        "The paper finds that the kernel path needs more CPU time and heats the board more. Where \
         the kernel path loses packets, its CPU time is that of fewer packets. {REPETITIONS} {}",
        match study.is_measured {
            true => "The temperature is the sensor's at the end of each slot.",
            false => "A slot stands for 40 seconds of the modelled temperature.",
        }
    );
    twelve
}

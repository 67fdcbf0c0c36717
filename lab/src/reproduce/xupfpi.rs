//! XupfPI: the study of a UPF on a satellite's board, figures 2, 4 to 9, 11 and 12.
use super::results::{NO_BAR, Results, span};
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::stats::median;
use crate::upf::onboard::same_load::{BOARD_SLOT_S, FULL_LOAD, PARTS, SLOT};
use crate::upf::onboard::stress::KINDS;
use crate::upf::onboard::{LENGTH, LOADS, SESSIONS, SHARES, steady_temperature};
use crate::{Axes, Bars, Panel, Series};
use martlet_board::{BoardConfig, SimulatedBoard};

const BOTH: [(&str, &str); 2] = [("kernel", "vanilla UPF (kernel)"), ("xdp", "XDP UPF")];
/// What stands where a temperature is drawn.
const MODEL: &str = "No sensor was read: temperatures are those of a simulated board (27 °C room, \
                     50 °C standby, 5 W at full load as in the paper; a time constant of 150 s and \
                     2 W in standby are assumed) for the CPU time that a datapath adds.";
/// What stands where the load is the only thing that differs.
const MACHINE: &str = "Both datapaths share one CPU of this machine with generator and receiver, \
over \
                       virtual links, in place of a Raspberry Pi 4B.";

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    let mut words = vec!["--parts", "onboard"];
    if args.minimal {
        words.push("--minimal");
    }
    words.into_iter().map(String::from).collect()
}

/// A slot of a variant under a load: loss and CPU time in per cent.
fn slots(results: &Results, variant: &str, part: u32) -> Vec<(f64, f64)> {
    let part = part.to_string();
    let rows = results.rows.iter().filter_map(|row| match &row[..] {
        [kind, at, name, _, _, loss, busy] if kind == "same_load" => {
            (*at == part && name == variant).then(|| Some((loss.parse().ok()?, busy.parse().ok()?)))
        }
        _ => None,
    });
    rows.flatten().collect()
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>()).map(|estimate| estimate.value)
}

/// CPU time that a datapath adds to the generator's, slot by slot, in per cent of a CPU.
fn added_by_slot(results: &Results, variant: &str, part: u32) -> Vec<f64> {
    let generator = middle(slots(results, "generator", part).iter().map(|slot| slot.1));
    let generator = generator.unwrap_or(0.0);
    slots(results, variant, part).iter().map(|slot| (slot.1 - generator).max(0.0)).collect()
}

/// CPU time that a datapath adds to the generator's at a point, in per cent of a CPU.
fn added(results: &Results, variant: &str, point: &str) -> Option<f64> {
    let busy = |variant: &str| results.value(&format!("onboard_busy.{variant}.{point}.median"));
    Some((busy(variant)? - busy("generator")?).max(0.0))
}

fn celsius(results: &Results, variant: &str, point: &str) -> Option<f64> {
    added(results, variant, point).map(|added| steady_temperature(added / 100.0))
}

/// The temperature of the simulated board slot by slot, from standby on.
fn heating(added: &[f64]) -> Vec<f64> {
    let config = BoardConfig { throttle: f64::INFINITY, ..BoardConfig::default() };
    let mut board = SimulatedBoard::new(config);
    let heat = added.iter().map(|added| {
        board.pass(BOARD_SLOT_S, added / 100.0);
        board.temperature()
    });
    heat.collect()
}

fn flat(x: f64, y: f64) -> super::results::Point {
    (x, y, y, y)
}

/// Seconds of the end of a slot.
fn seconds(slot: usize) -> f64 {
    (slot + 1) as f64 * SLOT.as_secs_f64()
}

fn panel(title: &str, x: &str, y: &str, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), x_label: x.into(), y_label: y.into(), series }
}

/// A series for each datapath.
fn both(of: impl Fn(&'static str) -> Vec<super::results::Point>) -> Vec<Series> {
    BOTH.map(|(variant, title)| Series { name: title.into(), points: of(variant) }).into()
}

fn difference(values: &[Option<f64>]) -> Option<f64> {
    Some(values.last().copied().flatten()? - values.first().copied().flatten()?)
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let carried = results.value("onboard_carried.kernel").unwrap_or(f64::NAN);
    let sixty = carried * FULL_LOAD * f64::from(LENGTH) * 8.0 / 1e6;
    let scale = format!("Mbit/s on the paper's scale (60 is {sixty:.0} here)");
    let scaled = format!(
        "60 Mbit/s of the paper stand for 1.2 times the rate that the kernel path carries here \
         ({sixty:.0} Mbit/s), since this machine is idle at 60 Mbit/s."
    );
    let mut all = vec![board()];
    all.extend(by_load(results, &scale, &scaled));
    all.extend(by_sessions(results));
    all.extend(over_time(results, &scaled));
    all
}

/// Figure 2.
fn board() -> PaperFigure {
    let mut two = PaperFigure::new(
        "xupfpi-2",
        "XupfPI, figure 2: power and temperature of the simulation platform",
        Mark::ModelledPart,
        MODEL,
    );
    let config = BoardConfig::default();
    let watts = |load: f64| config.idle_watts + load * (config.full_watts - config.idle_watts);
    let points = (0..=10).map(|n| f64::from(n) / 10.0);
    let points = points.map(|load| flat(watts(load), steady_temperature(load)));
    two.drawing = Drawing::Lines(
        vec![panel(
            "power-temperature curve",
            "power, W",
            "°C",
            vec![Series { name: "simulated board".into(), points: points.collect() }],
        )],
        Axes::default(),
    );
    two.here("power at full load", Some(config.full_watts));
    two.here("temperature in standby", Some(config.idle));
    two.here("temperature of the room", Some(config.room));
    two.like = "The model's parameters are the paper's numbers, so that they agree by \
                construction. The satellite's own curve is drawn in the paper and not measured \
                here."
        .into();
    two
}

/// Figures 4 and 5.
fn by_load(results: &Results, scale: &str, scaled: &str) -> Vec<PaperFigure> {
    let name = |n: usize| format!("load{n}");
    let x = |n: usize| LOADS[n] / FULL_LOAD * 60.0;
    let lines = |of: &dyn Fn(&str, &str) -> Option<f64>| {
        both(|variant| {
            let points = (0..LOADS.len()).filter_map(|n| Some(flat(x(n), of(variant, &name(n))?)));
            points.collect()
        })
    };
    let memory = |variant: &str, point: &str| {
        results.value(&format!("onboard_memory.{variant}.{point}.median"))
    };
    let rise = |of: &dyn Fn(&str, &str) -> Option<f64>| {
        difference(&[of("kernel", &name(0)), of("kernel", &name(LOADS.len() - 1))])
    };
    let heat = |variant: &str, point: &str| celsius(results, variant, point);
    let busy = |variant: &str, point: &str| added(results, variant, point);
    let mut four = PaperFigure::new(
        "xupfpi-4",
        "XupfPI, figure 4: bandwidth and temperature",
        Mark::ModelledPart,
        MODEL,
    );
    four.drawing = Drawing::Lines(
        vec![panel("modelled temperature after an hour", scale, "°C", lines(&heat))],
        Axes::default(),
    );
    let what = "rise of the temperature from the lowest to the highest load, vanilla";
    four.here(what, rise(&heat));
    four.like = format!("The paper finds that the temperature rises with the bandwidth. {scaled}");
    let mut five = PaperFigure::new(
        "xupfpi-5",
        "XupfPI, figure 5: bandwidth and resources",
        Mark::OtherTestbed,
        MACHINE,
    );
    five.drawing = Drawing::Lines(
        vec![
            panel("CPU time that the datapath adds", scale, "% of one CPU", lines(&busy)),
            panel("memory of the process, with the generator", scale, "MB", lines(&memory)),
        ],
        Axes::default(),
    );
    five.here("rise of the CPU time, vanilla", rise(&busy));
    five.here("rise of the memory, vanilla", rise(&memory));
    five.like = format!(
        "The paper finds that CPU time grows with the bandwidth, and more than memory. {scaled} \
        The \
         memory is that of the whole process."
    );
    vec![four, five]
}

/// Figures 6a and 6b.
fn by_sessions(results: &Results) -> Vec<PaperFigure> {
    let bars = |title: &str, groups: Vec<String>, points: &[String]| {
        let series = BOTH.map(|(variant, name)| {
            let bar = |point: &String| celsius(results, variant, point).map(|v| (v, v, v));
            (name.to_string(), points.iter().map(|point| bar(point).unwrap_or(NO_BAR)).collect())
        });
        Bars { title: title.into(), y_label: "°C".into(), groups, series: series.into() }
    };
    let differs = |points: &[String]| {
        span(points.iter().filter_map(|point| celsius(results, "kernel", point)))
    };
    let sessions = SESSIONS.map(|n| format!("sessions{n}"));
    let mut a = PaperFigure::new(
        "xupfpi-6a",
        "XupfPI, figure 6a: number of sessions and temperature",
        Mark::ModelledPart,
        MODEL,
    );
    let title = "modelled temperature by sessions at one total rate";
    a.drawing = Drawing::Bars(vec![bars(title, SESSIONS.map(|n| n.to_string()).into(), &sessions)]);
    a.here("difference of the temperatures, vanilla", differs(&sessions));
    a.like =
        "The paper finds that the total bandwidth decides, not the number of sessions. The rate \
              here is 164 Mbit/s in place of 20."
            .into();
    let shares = SHARES.map(|n| format!("share{n}"));
    let mut b = PaperFigure::new(
        "xupfpi-6b",
        "XupfPI, figure 6b: allocation of the bandwidth and temperature",
        Mark::ModelledPart,
        MODEL,
    );
    let title = "modelled temperature by one session's share of the rate";
    b.drawing = Drawing::Bars(vec![bars(title, SHARES.map(|n| format!("{n} %")).into(), &shares)]);
    b.here("difference of the temperatures, vanilla", differs(&shares));
    b.like =
        "The paper finds that one session's share hardly matters. Here too, the rest is spread \
        over 100 sessions."
            .into();
    vec![a, b]
}

/// Figures 7, 8, 9, 11 and 12.
fn over_time(results: &Results, scaled: &str) -> Vec<PaperFigure> {
    let loss = |variant: &str, part: u32| -> Vec<super::results::Point> {
        let slots = slots(results, variant, part);
        let points = slots.iter().enumerate().filter(|(_, slot)| slot.0.is_finite());
        points.map(|(n, slot)| flat(seconds(n), slot.0)).collect()
    };
    let usual = |variant: &str, part: u32| middle(loss(variant, part).iter().map(|p| p.1));
    let mut seven = PaperFigure::new(
        "xupfpi-7",
        "XupfPI, figure 7: bandwidth and packet loss of the vanilla UPF",
        Mark::OtherTestbed,
        MACHINE,
    );
    let panels = PARTS.map(|part| {
        let series = Series { name: BOTH[0].1.into(), points: loss("kernel", part) };
        panel(&format!("{part} Mbit/s"), "seconds", "% lost", vec![series])
    });
    seven.drawing = Drawing::Lines(panels.into(), Axes::default());
    for part in [20, 60] {
        seven.here(&format!("loss at {part} Mbit/s"), usual("kernel", part));
    }
    seven.like = format!(
        "The paper finds that the vanilla UPF loses much at 60 Mbit/s. {scaled} Slots whose \
         load was not offered are not drawn."
    );

    let mut eight = PaperFigure::new(
        "xupfpi-8",
        "XupfPI, figure 8: temperature and packet loss",
        Mark::ModelledPart,
        MODEL,
    );
    let heat = heating(&added_by_slot(results, "kernel", 60));
    let slots_60 = slots(results, "kernel", 60);
    let points: Vec<_> = heat
        .iter()
        .zip(&slots_60)
        .filter(|(_, slot)| slot.0.is_finite())
        .map(|(celsius, slot)| flat(*celsius, slot.0))
        .collect();
    let half = |from: usize, until: usize| {
        middle(points.get(from..until).unwrap_or_default().iter().map(|point| point.1))
    };
    let (count, middle_of) = (points.len(), points.len() / 2);
    let change = difference(&[half(0, middle_of), half(middle_of, count)]);
    eight.here("change of the loss while the board heats up", change);
    eight.drawing = Drawing::Lines(
        vec![panel(
            "vanilla UPF at 60 Mbit/s",
            "modelled temperature, °C",
            "% lost",
            vec![Series { name: BOTH[0].1.into(), points }],
        )],
        Axes::default(),
    );
    eight.like =
        "The paper finds that the loss hardly follows the temperature. Here the temperature is \
                  modelled and cannot act on the CPU, so a loss here arises without it."
            .into();

    let mut nine = PaperFigure::new(
        "xupfpi-9",
        "XupfPI, figure 9: frequent memory use and packet loss",
        Mark::OtherTestbed,
        MACHINE,
    );
    let memory = |variant: &str, kind: &str| {
        results.interval(&format!("onboard_loss.{variant}.memory_{kind}.median"))
    };
    let series = BOTH.map(|(variant, name)| {
        let bars = KINDS.iter().map(|(kind, _)| memory(variant, kind).unwrap_or(NO_BAR));
        (name.to_string(), bars.collect())
    });
    nine.drawing = Drawing::Bars(vec![Bars {
        title: "loss at 0.9 of the rate that the kernel path carries".into(),
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

    let mut eleven = PaperFigure::new(
        "xupfpi-11",
        "XupfPI, figure 11: packet loss at 60 Mbit/s",
        Mark::OtherTestbed,
        MACHINE,
    );
    eleven.drawing = Drawing::Lines(
        vec![panel("loss at 60 Mbit/s", "seconds", "% lost", both(|variant| loss(variant, 60)))],
        Axes::default(),
    );
    eleven.here("loss of the vanilla UPF", usual("kernel", 60));
    eleven.here("loss of the XDP UPF", usual("xdp", 60));
    eleven.like = format!("The paper finds that XDP loses far less than the kernel path. {scaled}");

    let mut twelve = PaperFigure::new(
        "xupfpi-12",
        "XupfPI, figure 12: CPU time and temperature at 60 Mbit/s",
        Mark::ModelledPart,
        MODEL,
    );
    let busy = both(|variant| {
        let added = added_by_slot(results, variant, 60);
        added.iter().enumerate().map(|(n, added)| flat(seconds(n), *added)).collect()
    });
    let heat = both(|variant| {
        let heat = heating(&added_by_slot(results, variant, 60));
        let minutes = |n: usize| (n + 1) as f64 * BOARD_SLOT_S / 60.0;
        heat.iter().enumerate().map(|(n, celsius)| flat(minutes(n), *celsius)).collect()
    });
    twelve.drawing = Drawing::Lines(
        vec![
            panel("CPU time that the datapath adds", "seconds", "% of one CPU", busy),
            panel("modelled temperature", "minutes on the board", "°C", heat),
        ],
        Axes::default(),
    );
    let usual = |variant: &str| middle(added_by_slot(results, variant, 60).into_iter());
    let (vanilla, xdp) = (usual("kernel"), usual("xdp"));
    let times = vanilla.zip(xdp).map(|(vanilla, xdp)| vanilla / xdp);
    twelve.here("CPU time of vanilla over XDP", times.filter(|times| times.is_finite()));
    let above = vanilla.zip(xdp).map(|(vanilla, xdp)| {
        steady_temperature(vanilla / 100.0) - steady_temperature(xdp / 100.0)
    });
    twelve.here("temperature of vanilla above XDP", above);
    twelve.like = "The paper finds that the kernel path needs more CPU time and heats the board \
    more. Where the kernel path loses packets, its CPU time is that \
                   of fewer packets."
        .into();
    vec![seven, eight, nine, eleven, twelve]
}

//! XupfPI: the study of a UPF on a satellite's board, figures 2, 4 to 9, 11 and 12.
use super::results::{NO_BAR, Results, span};
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::stats::median;
use crate::upf::onboard::same_load::{BOARD_SLOT_S, FULL_LOAD, PARTS, SLOT};
use crate::upf::onboard::stress::KINDS;
use crate::upf::onboard::{BOARD_LOADS, LENGTH, LOADS, SESSIONS, SHARES, steady_temperature};
use crate::{Axes, Bars, Panel, Series};
use martlet_board::{BoardConfig, SimulatedBoard};

const GENERATOR: &str = "generator and receiver alone";
const BOTH: [(&str, &str); 2] = [("kernel", "vanilla UPF (kernel)"), ("xdp", "XDP UPF")];
/// The note of a figure whose temperature is modelled.
const MODEL: &str = "No sensor was read: temperatures are those of a simulated board (27 °C room, \
                     50 °C standby, 5 W at full load as in the paper; a time constant of 150 s and \
                     2 W in standby are assumed) for the CPU time that a datapath adds.";
/// The note of a figure whose temperature is read from a board's sensors.
const SENSORS: &str = "Temperatures are those of this board's hottest sensor.";

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

/// What the study loaded.
struct Study<'a> {
    results: &'a Results,
    /// The first word of its figures: that of the board, or of the whole CPU.
    prefix: &'static str,
    /// The first word of its rows over time.
    over_time: &'static str,
    /// The board's share of a CPU of this machine.
    share: Option<f64>,
    /// Mbit/s that stand for the paper's 60.
    sixty: f64,
    /// Whether the temperature is a sensor's.
    is_measured: bool,
}

impl<'a> Study<'a> {
    fn of(results: &'a Results) -> Study<'a> {
        let share = results.value("board.share");
        let on_board = share.is_some();
        let carried = results.value("onboard_carried.kernel").unwrap_or(f64::NAN);
        let whole = carried * FULL_LOAD * f64::from(LENGTH) * 8.0 / 1e6;
        Study {
            results,
            prefix: if on_board { "board" } else { "onboard" },
            over_time: if on_board { "board_time" } else { "same_load" },
            share,
            sixty: if on_board { 60.0 } else { whole },
            is_measured: results.value("board_celsius.kernel.load0.median").is_some(),
        }
    }

    /// A sentence on the path of the packets.
    fn machine(&self) -> String {
        let place = match self.share {
            Some(share) if share < 1.0 => format!(
                "The Raspberry Pi 4B is emulated by {:.1} % of one CPU of this machine, with which \
                 the kernel path carries 55 Mbit/s.",
                share * 100.0
            ),
            Some(_) => "One CPU of this machine is the board.".into(),
            None => format!(
                "60 Mbit/s of the paper stand for 1.2 times the rate that the kernel path carries \
                 on one CPU of this machine ({:.0} Mbit/s), since it is idle at 60 Mbit/s.",
                self.sixty
            ),
        };
        place + " Generator and receiver share it with the datapath, over virtual links."
    }

    fn scale(&self) -> String {
        match self.share {
            Some(_) => "Mbit/s".into(),
            None => format!("Mbit/s on the paper's scale (60 is {:.0} here)", self.sixty),
        }
    }

    /// The title of a panel with a temperature.
    fn heat(&self, title: &str) -> String {
        match self.is_measured {
            true => title.into(),
            false => format!("modelled {title}"),
        }
    }

    /// Mark and reason of a figure with a temperature.
    fn mark_of_heat(&self) -> (Mark, String) {
        match self.is_measured {
            true => (Mark::OtherTestbed, format!("{SENSORS} {}", self.machine())),
            false => (Mark::ModelledPart, format!("{MODEL} {}", self.machine())),
        }
    }

    fn x(&self, n: usize) -> f64 {
        match self.share {
            Some(_) => BOARD_LOADS[n],
            None => LOADS[n] / FULL_LOAD * 60.0,
        }
    }

    /// A figure of a point.
    fn value(&self, what: &str, variant: &str, point: &str) -> Option<f64> {
        let Study { results, prefix, .. } = self;
        results.value(&format!("{prefix}_{what}.{variant}.{point}.median"))
    }

    /// CPU time in per cent of the computing power. On the board it is that of all its work:
    /// generator and receiver stand for the interface's driver. Otherwise it is what a datapath
    /// adds to them.
    fn cpu(&self, variant: &str, point: &str) -> Option<f64> {
        let busy = |variant: &str| self.value("busy", variant, point);
        match self.share {
            Some(_) => busy(variant),
            None => Some((busy(variant)? - busy("generator")?).max(0.0)),
        }
    }

    fn cpu_title(&self) -> &'static str {
        match self.share {
            Some(_) => "CPU time of the board",
            None => "CPU time that the datapath adds",
        }
    }

    /// On the board, the generator alone beside both datapaths.
    fn with_generator(
        &self,
        mut series: Vec<Series>,
        points: Vec<super::results::Point>,
    ) -> Vec<Series> {
        if self.share.is_some() {
            series.push(Series { name: GENERATOR.into(), points });
        }
        series
    }

    fn celsius(&self, variant: &str, point: &str) -> Option<f64> {
        match self.is_measured {
            true => self.value("celsius", variant, point),
            false => self.cpu(variant, point).map(|cpu| steady_temperature(cpu / 100.0)),
        }
    }

    /// The slots of a variant under a load: loss and CPU time in per cent.
    fn slots(&self, variant: &str, part: u32) -> Vec<(f64, f64)> {
        slots(self.results, self.over_time, variant, part)
    }

    /// The same slot by slot.
    fn cpu_by_slot(&self, variant: &str, part: u32) -> Vec<f64> {
        let generator = match self.share {
            Some(_) => 0.0,
            None => middle(self.slots("generator", part).iter().map(|it| it.1)).unwrap_or(0.0),
        };
        self.slots(variant, part).iter().map(|slot| (slot.1 - generator).max(0.0)).collect()
    }
}

/// The slots of a variant under a load: loss and CPU time in per cent.
fn slots(results: &Results, kind: &str, variant: &str, part: u32) -> Vec<(f64, f64)> {
    let part = part.to_string();
    let rows = results.rows.iter().filter_map(|row| match &row[..] {
        [of, at, name, _, _, loss, busy] if of == kind => {
            (*at == part && name == variant).then(|| Some((loss.parse().ok()?, busy.parse().ok()?)))
        }
        _ => None,
    });
    rows.flatten().collect()
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>()).map(|estimate| estimate.value)
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
    let study = Study::of(results);
    let mut all = vec![board()];
    all.extend(by_load(&study));
    all.extend(by_sessions(&study));
    all.extend(over_time(&study));
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
fn by_load(study: &Study<'_>) -> Vec<PaperFigure> {
    let name = |n: usize| format!("load{n}");
    let scale = study.scale();
    let lines = |of: &dyn Fn(&str, &str) -> Option<f64>| {
        both(|variant| {
            let point = |n: usize| Some(flat(study.x(n), of(variant, &name(n))?));
            (0..LOADS.len()).filter_map(point).collect()
        })
    };
    // Of the board alone: a process of its own for each point.
    let memory = |variant: &str, point: &str| {
        study.results.value(&format!("board_memory.{variant}.{point}.median"))
    };
    let rise = |of: &dyn Fn(&str, &str) -> Option<f64>| {
        difference(&[of("kernel", &name(0)), of("kernel", &name(LOADS.len() - 1))])
    };
    let heat = |variant: &str, point: &str| study.celsius(variant, point);
    let busy = |variant: &str, point: &str| study.cpu(variant, point);
    let generator = (0..LOADS.len())
        .filter_map(|n| Some(flat(study.x(n), study.cpu("generator", &name(n))?)))
        .collect();
    let cpu = study.with_generator(lines(&busy), generator);
    let (mark, reason) = study.mark_of_heat();
    let title = "XupfPI, figure 4: bandwidth and temperature";
    let mut four = PaperFigure::new("xupfpi-4", title, mark, &reason);
    let title = study.heat("temperature after an hour");
    four.drawing = Drawing::Lines(vec![panel(&title, &scale, "°C", lines(&heat))], Axes::default());
    let what = "rise of the temperature from the lowest to the highest load, vanilla";
    four.here(what, rise(&heat));
    four.like = "The paper finds that the temperature rises with the bandwidth. As there, the \
                 bandwidth is that of all sessions together."
        .into();
    let mut five = PaperFigure::new(
        "xupfpi-5",
        "XupfPI, figure 5: bandwidth and resources",
        Mark::OtherTestbed,
        &study.machine(),
    );
    five.drawing = Drawing::Lines(
        vec![
            panel(study.cpu_title(), &scale, "% of the computing power", cpu),
            panel("memory of the UPF alone", &scale, "MB", lines(&memory)),
        ],
        Axes::default(),
    );
    five.here("rise of the CPU time, vanilla", rise(&busy));
    five.here("rise of the memory, vanilla", rise(&memory));
    five.like = "The paper finds that CPU time grows with the bandwidth, and more than memory. \
                 Generator and receiver stand for the interface's driver. The \
                 memory is what the datapath adds to a process of its own, with its eBPF maps; \
                 memory of the kernel's sockets is not in it."
        .into();
    vec![four, five]
}

/// Figures 6a and 6b.
fn by_sessions(study: &Study<'_>) -> Vec<PaperFigure> {
    let bars = |title: &str, groups: Vec<String>, points: &[String]| {
        let series = BOTH.map(|(variant, name)| {
            let bar = |point: &String| study.celsius(variant, point).map(|v| (v, v, v));
            (name.to_string(), points.iter().map(|point| bar(point).unwrap_or(NO_BAR)).collect())
        });
        Bars { title: title.into(), y_label: "°C".into(), groups, series: series.into() }
    };
    let differs =
        |points: &[String]| span(points.iter().filter_map(|point| study.celsius("kernel", point)));
    let rate = match study.share {
        Some(_) => "The total rate is 20 Mbit/s, as in the paper.",
        None => "The total rate is 164 Mbit/s in place of 20.",
    };
    let (mark, reason) = study.mark_of_heat();
    let sessions = SESSIONS.map(|n| format!("sessions{n}"));
    let title = "XupfPI, figure 6a: number of sessions and temperature";
    let mut a = PaperFigure::new("xupfpi-6a", title, mark, &reason);
    let title = study.heat("temperature by sessions at one total rate");
    a.drawing =
        Drawing::Bars(vec![bars(&title, SESSIONS.map(|n| n.to_string()).into(), &sessions)]);
    a.here("difference of the temperatures, vanilla", differs(&sessions));
    a.like = format!(
        "The paper finds that the total bandwidth decides, not the number of sessions. {rate}"
    );
    let shares = SHARES.map(|n| format!("share{n}"));
    let title = "XupfPI, figure 6b: allocation of the bandwidth and temperature";
    let mut b = PaperFigure::new("xupfpi-6b", title, mark, &reason);
    let title = study.heat("temperature by one session's share of the rate");
    b.drawing = Drawing::Bars(vec![bars(&title, SHARES.map(|n| format!("{n} %")).into(), &shares)]);
    b.here("difference of the temperatures, vanilla", differs(&shares));
    b.like = format!(
        "The paper finds that one session's share hardly matters. Here too, the rest is spread \
         over 100 sessions. {rate}"
    );
    vec![a, b]
}

/// Figures 7, 8, 9, 11 and 12.
fn over_time(study: &Study<'_>) -> Vec<PaperFigure> {
    let points = |slots: Vec<(f64, f64)>| -> Vec<super::results::Point> {
        let points = slots.iter().enumerate().filter(|(_, slot)| slot.0.is_finite());
        points.map(|(n, slot)| flat(seconds(n), slot.0)).collect()
    };
    let loss = |variant: &str, part: u32| points(study.slots(variant, part));
    let usual = |variant: &str, part: u32| middle(loss(variant, part).iter().map(|p| p.1));
    let machine = study.machine();
    let mut seven = PaperFigure::new(
        "xupfpi-7",
        "XupfPI, figure 7: bandwidth and packet loss of the vanilla UPF",
        Mark::OtherTestbed,
        &machine,
    );
    let panels = PARTS.map(|part| {
        let mut series = vec![Series { name: BOTH[0].1.into(), points: loss("kernel", part) }];
        if study.share.is_some() {
            // The same study up to this machine's own breaking point.
            let whole = slots(study.results, "same_load", BOTH[0].0, part);
            series.push(Series { name: "whole CPU, load scaled".into(), points: points(whole) });
        }
        panel(&format!("{part} Mbit/s"), "seconds", "% lost", series)
    });
    seven.drawing = Drawing::Lines(panels.into(), Axes::default());
    for part in [20, 60] {
        seven.here(&format!("loss at {part} Mbit/s"), usual("kernel", part));
    }
    seven.like =
        "The paper finds that the vanilla UPF loses much at 60 Mbit/s. The second line is \
                  the same on a whole CPU of this machine, where 60 stands for 1.2 times the rate \
                  that the kernel path carries; its slots whose load was not offered are not drawn."
            .into();

    let (mark, reason) = study.mark_of_heat();
    let title = "XupfPI, figure 8: temperature and packet loss";
    let mut eight = PaperFigure::new("xupfpi-8", title, mark, &reason);
    let heat = heating(&study.cpu_by_slot("kernel", 60));
    let by_heat: Vec<_> = heat
        .iter()
        .zip(study.slots("kernel", 60))
        .filter(|(_, slot)| slot.0.is_finite())
        .map(|(celsius, slot)| flat(*celsius, slot.0))
        .collect();
    let half = |from: usize, until: usize| {
        middle(by_heat.get(from..until).unwrap_or_default().iter().map(|point| point.1))
    };
    let (count, middle_of) = (by_heat.len(), by_heat.len() / 2);
    let change = difference(&[half(0, middle_of), half(middle_of, count)]);
    eight.here("change of the loss while the board heats up", change);
    eight.drawing = Drawing::Lines(
        vec![panel(
            "vanilla UPF at 60 Mbit/s",
            "modelled temperature, °C",
            "% lost",
            vec![Series { name: BOTH[0].1.into(), points: by_heat }],
        )],
        Axes::default(),
    );
    eight.like =
        "The paper finds that the loss hardly follows the temperature. The temperature of \
                  this figure is always modelled, slot by slot, and cannot act on the CPU: a loss \
                  here arises without it."
            .into();

    let mut nine = PaperFigure::new(
        "xupfpi-9",
        "XupfPI, figure 9: frequent memory use and packet loss",
        Mark::OtherTestbed,
        &machine,
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

    let mut eleven = PaperFigure::new(
        "xupfpi-11",
        "XupfPI, figure 11: packet loss at 60 Mbit/s",
        Mark::OtherTestbed,
        &machine,
    );
    eleven.drawing = Drawing::Lines(
        vec![panel("loss at 60 Mbit/s", "seconds", "% lost", both(|variant| loss(variant, 60)))],
        Axes::default(),
    );
    eleven.here("loss of the vanilla UPF", usual("kernel", 60));
    eleven.here("loss of the XDP UPF", usual("xdp", 60));
    eleven.like = "The paper finds that XDP loses far less than the kernel path.".into();

    let title = "XupfPI, figure 12: CPU time and temperature at 60 Mbit/s";
    let mut twelve = PaperFigure::new("xupfpi-12", title, Mark::ModelledPart, &reason);
    let over_time = |variant: &str| -> Vec<super::results::Point> {
        let cpu = study.cpu_by_slot(variant, 60);
        cpu.iter().enumerate().map(|(n, cpu)| flat(seconds(n), *cpu)).collect()
    };
    let busy = study.with_generator(both(over_time), over_time("generator"));
    let heat = both(|variant| {
        let heat = heating(&study.cpu_by_slot(variant, 60));
        let minutes = |n: usize| (n + 1) as f64 * BOARD_SLOT_S / 60.0;
        heat.iter().enumerate().map(|(n, celsius)| flat(minutes(n), *celsius)).collect()
    });
    twelve.drawing = Drawing::Lines(
        vec![
            panel(study.cpu_title(), "seconds", "% of the computing power", busy),
            panel("modelled temperature", "minutes on the board", "°C", heat),
        ],
        Axes::default(),
    );
    let usual = |variant: &str| middle(study.cpu_by_slot(variant, 60).into_iter());
    let (vanilla, xdp) = (usual("kernel"), usual("xdp"));
    let times = vanilla.zip(xdp).map(|(vanilla, xdp)| vanilla / xdp);
    twelve.here("CPU time of vanilla over XDP", times.filter(|times| times.is_finite()));
    let above = vanilla.zip(xdp).map(|(vanilla, xdp)| {
        steady_temperature(vanilla / 100.0) - steady_temperature(xdp / 100.0)
    });
    twelve.here("temperature of vanilla above XDP", above);
    twelve.like = "The paper finds that the kernel path needs more CPU time and heats the board \
                   more. Where the kernel path loses packets, its CPU time is that of fewer \
                   packets. The \
                   temperature over time is always modelled."
        .into();
    vec![seven, eight, nine, eleven, twelve]
}

//! XupfPI: the study of a UPF on a satellite's board, figures 2, 4 to 9, 11 and 12.
use super::results::{NO_BAR, Point, Results, span};
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::stats::{Estimate, median};
use crate::upf::onboard::same_load::{BOARD_SLOT_S, FULL_LOAD, PARTS, ROOMS, SLOT};
use crate::upf::onboard::stress::KINDS;
use crate::upf::onboard::{BOARD_LOADS, LENGTH, LOADS, SESSIONS, SHARES, steady_temperature};
use crate::{Axes, Bars, Panel, Series};
use martlet_board::{BoardConfig, SimulatedBoard};
use std::collections::BTreeMap;

const GENERATOR: &str = "generator and receiver alone";
const BOTH: [(&str, &str); 2] = [("kernel", "vanilla UPF (kernel)"), ("xdp", "XDP UPF")];
/// The note of a figure whose temperature is modelled.
const MODEL: &str = "No sensor was read: temperatures are those of a simulated board (27 °C room, \
                     50 °C standby, 5 W at full load as in the paper; a time constant of 150 s and \
                     2 W in standby are assumed) for the CPU time that a datapath adds.";
/// The note of a figure whose temperature is read from a board's sensors.
const SENSORS: &str = "Temperatures are those of this board's hottest sensor.";
/// The paper's board.
const PAPERS_BOARD: &str = "Raspberry Pi 4 Model B";
/// The report of the study, beside this one.
const STUDY: (&str, &str) = ("upf/report.md", "the same on a whole CPU of this machine");

/// A sentence on the lines over time.
const REPETITIONS: &str = "Each point is the median of ten repetitions with its 95 % interval.";

/// A value with its interval.
type Value = (f64, f64, f64);

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
    /// Whether it ran on the paper's board.
    is_papers_board: bool,
}

impl<'a> Study<'a> {
    fn of(results: &'a Results) -> Study<'a> {
        let share = results.value("board.share");
        let whole = Study::on_whole_cpu(results);
        if share.is_none() {
            return whole;
        }
        let is_measured = results.value("board_celsius.kernel.load0.median").is_some();
        // An emulated board has no sensors, also where this machine is a board.
        let is_papers_board = is_measured
            && results.board.as_ref().is_some_and(|board| board.starts_with(PAPERS_BOARD));
        Study {
            prefix: "board",
            over_time: "board_time",
            share,
            sixty: 60.0,
            is_measured,
            is_papers_board,
            ..whole
        }
    }

    /// The study up to the breaking point of a whole CPU.
    fn on_whole_cpu(results: &'a Results) -> Study<'a> {
        let carried = results.value("onboard_carried.kernel").unwrap_or(f64::NAN);
        Study {
            results,
            prefix: "onboard",
            over_time: "same_load",
            share: None,
            sixty: carried * FULL_LOAD * f64::from(LENGTH) * 8.0 / 1e6,
            is_measured: false,
            is_papers_board: false,
        }
    }

    /// The mark of a figure without a model.
    fn mark(&self) -> Mark {
        if self.is_papers_board { Mark::True } else { Mark::OtherTestbed }
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

    /// The title of a panel of a whole CPU.
    fn title(&self, what: &str) -> String {
        format!("whole CPU: {what} at {:.0} Mbit/s", self.sixty)
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
            true => (self.mark(), format!("{SENSORS} {}", self.machine())),
            false => (Mark::ModelledPart, format!("{MODEL} {}", self.machine())),
        }
    }

    fn x(&self, n: usize) -> f64 {
        match self.share {
            Some(_) => BOARD_LOADS[n],
            None => LOADS[n] / FULL_LOAD * 60.0,
        }
    }

    /// A figure of a point, with its interval.
    fn value(&self, what: &str, variant: &str, point: &str) -> Option<Value> {
        let Study { results, prefix, .. } = self;
        results.interval(&format!("{prefix}_{what}.{variant}.{point}.median"))
    }

    /// CPU time in per cent of the computing power. On the board it is that of all its work:
    /// generator and receiver stand for the interface's driver. Otherwise it is what a datapath
    /// adds to them.
    fn cpu(&self, variant: &str, point: &str) -> Option<Value> {
        let busy = |variant: &str| self.value("busy", variant, point);
        match self.share {
            Some(_) => busy(variant),
            None => {
                let generator = busy("generator")?.0;
                Some(each(busy(variant)?, |busy| (busy - generator).max(0.0)))
            }
        }
    }

    fn cpu_title(&self) -> &'static str {
        match self.share {
            Some(_) => "CPU time of the board",
            None => "CPU time that the datapath adds",
        }
    }

    /// On the board, the generator alone beside both datapaths.
    fn with_generator(&self, mut series: Vec<Series>, points: Vec<Point>) -> Vec<Series> {
        if self.share.is_some() {
            series.push(Series { name: GENERATOR.into(), points });
        }
        series
    }

    fn celsius(&self, variant: &str, point: &str) -> Option<Value> {
        match self.is_measured {
            true => self.value("celsius", variant, point),
            false => {
                let cpu = self.cpu(variant, point)?;
                Some(each(cpu, |cpu| steady_temperature(cpu / 100.0)))
            }
        }
    }

    /// Loss by slot in per cent; `None` where no repetition's load was offered.
    fn loss_by_slot(&self, variant: &str, part: u32) -> Vec<Option<Value>> {
        by_slot(self.results, self.over_time, variant, part, 0)
    }

    /// CPU time by slot in per cent, as [`Study::cpu`].
    fn cpu_by_slot(&self, variant: &str, part: u32) -> Vec<Value> {
        let busy = |variant: &str| by_slot(self.results, self.over_time, variant, part, 1);
        let generator = match self.share {
            Some(_) => 0.0,
            None => middle(busy("generator").into_iter().flatten()).unwrap_or(0.0),
        };
        let added = |value| each(value, |busy| (busy - generator).max(0.0));
        busy(variant).into_iter().flatten().map(added).collect()
    }

    /// The temperature by slot at the highest load with its time in seconds, from a board's sensor;
    /// else modelled.
    fn heat_by_slot(&self, variant: &str) -> Vec<Point> {
        if self.is_measured {
            let celsius = by_slot(self.results, "board_time_celsius", variant, 60, 0);
            return self.over_slots(celsius.into_iter());
        }
        let cpu = self.cpu_by_slot(variant, 60);
        let heat = |of: fn(&Value) -> f64| heating(&cpu.iter().map(of).collect::<Vec<_>>());
        let (value, low, high) = (heat(|cpu| cpu.0), heat(|cpu| cpu.1), heat(|cpu| cpu.2));
        let at = |n: usize| (n + 1) as f64 * BOARD_SLOT_S;
        let values = value.into_iter().zip(low).zip(high).enumerate();
        values.map(|(n, ((value, low), high))| (at(n), value, low, high)).collect()
    }

    /// Values by slot, over time in seconds.
    fn over_slots(&self, values: impl Iterator<Item = Option<Value>>) -> Vec<Point> {
        let id = format!("{}_slot.60", self.over_time);
        let length = self.results.value(&id).unwrap_or(SLOT.as_secs_f64());
        let at = |n: usize| (n + 1) as f64 * length;
        let point = |(n, value): (usize, Option<Value>)| {
            value.map(|(value, low, high)| (at(n), value, low, high))
        };
        values.enumerate().filter_map(point).collect()
    }

    fn loss_over_time(&self, variant: &str, part: u32) -> Vec<Point> {
        self.over_slots(self.loss_by_slot(variant, part).into_iter())
    }

    fn cpu_over_time(&self, variant: &str) -> Vec<Point> {
        self.over_slots(self.cpu_by_slot(variant, 60).into_iter().map(Some))
    }

    /// The same study on a whole CPU, where this one is of a board.
    fn beside(&self) -> Option<Study<'a>> {
        self.share.map(|_| Study::on_whole_cpu(self.results))
    }
}

/// A value and the ends of its interval, each changed alike. The change is monotonic.
fn each(value: Value, of: impl Fn(f64) -> f64) -> Value {
    (of(value.0), of(value.1), of(value.2))
}

/// A column of the rows of a kind by slot, as the median of the repetitions with its interval.
fn by_slot(
    results: &Results,
    kind: &str,
    variant: &str,
    part: u32,
    column: usize,
) -> Vec<Option<Value>> {
    let part = part.to_string();
    let mut slots: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in &results.rows {
        let [of, at, name, _, round, first, second] = &row[..] else { continue };
        let slot = round.split_once(':').and_then(|(_, slot)| slot.parse().ok());
        let Some(slot) = slot.filter(|_| of == kind && *at == part && name == variant) else {
            continue;
        };
        let value = if column == 0 { first } else { second };
        slots.entry(slot).or_default().push(value.parse().unwrap_or(f64::NAN));
    }
    let value = |it: Estimate| (it.value, it.low, it.high);
    slots.into_values().map(|values| median(&values).map(value)).collect()
}

/// The median of the values, without their intervals.
fn middle(values: impl Iterator<Item = Value>) -> Option<f64> {
    median(&values.map(|value| value.0).collect::<Vec<_>>()).map(|estimate| estimate.value)
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

fn flat(x: f64, y: f64) -> Point {
    (x, y, y, y)
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

/// The difference of the last and the first value.
fn difference(values: &[Option<Value>]) -> Option<f64> {
    Some(values.last().copied().flatten()?.0 - values.first().copied().flatten()?.0)
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let study = Study::of(results);
    let mut all = vec![board(&study)];
    all.extend(by_load(&study));
    all.extend(by_sessions(&study));
    all.extend(over_time(&study));
    all
}

/// Figure 2.
fn board(study: &Study<'_>) -> PaperFigure {
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
    let model = Series { name: "simulated board".into(), points: points.collect() };
    let mut series = measured_power(study);
    if series.is_empty() {
        two.here("power at full load", Some(config.full_watts));
        two.here("temperature in standby", Some(config.idle));
        two.here("temperature of the room", Some(config.room));
        two.like = "The model's parameters are the paper's numbers, so that they agree by \
                    construction. The satellite's own curve is drawn in the paper and not measured \
                    here."
            .into();
        series.push(model);
    } else {
        two.mark = Some(Mark::OtherTestbed);
        two.reason = format!("{SENSORS} The power is that of its power monitor.");
        let all = || series.iter().flat_map(|series| &series.points);
        two.here("power at full load", all().map(|point| point.0).reduce(f64::max));
        two.here("temperature in standby", all().map(|point| point.1).reduce(f64::min));
        two.like =
            "The paper has the curves of the satellite and of its platform. Here is that of \
                    this board under the loads of figure 4; its lowest load stands for standby. \
                    The satellite's own curve is not measured here."
                .into();
    }
    two.drawing = Drawing::Lines(
        vec![panel("power-temperature curve", "power, W", "°C", series)],
        Axes::default(),
    );
    two
}

/// Temperature by power of a board with sensors for both.
fn measured_power(study: &Study<'_>) -> Vec<Series> {
    let points = |variant: &str| -> Vec<Point> {
        let point = |n: usize| {
            let point = format!("load{n}");
            let watts = study.value("watts", variant, &point)?.0;
            Some(at(watts, study.value("celsius", variant, &point)?))
        };
        (0..LOADS.len()).filter_map(point).collect()
    };
    let series = both(points).into_iter();
    series.filter(|series| !series.points.is_empty()).collect()
}

/// Figures 4 and 5.
fn by_load(study: &Study<'_>) -> Vec<PaperFigure> {
    let name = |n: usize| format!("load{n}");
    let scale = study.scale();
    let lines = |of: &dyn Fn(&str, &str) -> Option<Value>| {
        both(|variant| {
            let point = |n: usize| Some(at(study.x(n), of(variant, &name(n))?));
            (0..LOADS.len()).filter_map(point).collect()
        })
    };
    // Of the board alone: a process of its own for each point.
    let memory = |variant: &str, point: &str| {
        study.results.interval(&format!("board_memory.{variant}.{point}.median"))
    };
    let rise = |of: &dyn Fn(&str, &str) -> Option<Value>| {
        difference(&[of("kernel", &name(0)), of("kernel", &name(LOADS.len() - 1))])
    };
    let heat = |variant: &str, point: &str| study.celsius(variant, point);
    let busy = |variant: &str, point: &str| study.cpu(variant, point);
    let generator = (0..LOADS.len())
        .filter_map(|n| Some(at(study.x(n), study.cpu("generator", &name(n))?)))
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
        study.mark(),
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
    (four.more, five.more) = (study.beside().map(|_| STUDY), study.beside().map(|_| STUDY));
    vec![four, five]
}

/// Figures 6a and 6b.
fn by_sessions(study: &Study<'_>) -> Vec<PaperFigure> {
    let bars = |title: &str, groups: Vec<String>, points: &[String]| {
        let series = BOTH.map(|(variant, name)| {
            let bar = |point: &String| study.celsius(variant, point);
            (name.to_string(), points.iter().map(|point| bar(point).unwrap_or(NO_BAR)).collect())
        });
        Bars { title: title.into(), y_label: "°C".into(), groups, series: series.into() }
    };
    let differs = |points: &[String]| {
        span(points.iter().filter_map(|point| Some(study.celsius("kernel", point)?.0)))
    };
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
    (a.more, b.more) = (study.beside().map(|_| STUDY), study.beside().map(|_| STUDY));
    vec![a, b]
}

/// Figures 7, 8, 9, 11 and 12.
fn over_time(study: &Study<'_>) -> Vec<PaperFigure> {
    let loss = |variant: &str, part: u32| study.loss_over_time(variant, part);
    let usual =
        |variant: &str, part: u32| middle(study.loss_by_slot(variant, part).into_iter().flatten());
    let machine = study.machine();
    let mut seven = PaperFigure::new(
        "xupfpi-7",
        "XupfPI, figure 7: bandwidth and packet loss of the vanilla UPF",
        study.mark(),
        &machine,
    );
    let panels = PARTS.map(|part| {
        let mut series = vec![Series { name: BOTH[0].1.into(), points: loss("kernel", part) }];
        if let Some(whole) = study.beside() {
            // The same study up to this machine's own breaking point.
            let points = whole.loss_over_time(BOTH[0].0, part);
            series.push(Series { name: "whole CPU, load scaled".into(), points });
        }
        panel(&format!("{part} Mbit/s"), "seconds", "% lost", series)
    });
    seven.drawing = Drawing::Lines(panels.into(), Axes::default());
    for part in [20, 60] {
        seven.here(&format!("loss at {part} Mbit/s"), usual("kernel", part));
    }
    seven.like = format!(
        "The paper finds that the vanilla UPF loses much at 60 Mbit/s. {REPETITIONS} The second \
         line is the same on a whole CPU of this machine, where 60 stands for 1.2 times the rate \
         that the kernel path carries; its slots whose load was not offered are not drawn."
    );
    let eight = by_temperature(study);

    let mut nine = PaperFigure::new(
        "xupfpi-9",
        "XupfPI, figure 9: frequent memory use and packet loss",
        study.mark(),
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

    nine.more = study.beside().map(|_| STUDY);

    let mut eleven = PaperFigure::new(
        "xupfpi-11",
        "XupfPI, figure 11: packet loss at 60 Mbit/s",
        study.mark(),
        &machine,
    );
    let lost = |title: &str, study: &Study<'_>| {
        let series = both(|variant| study.loss_over_time(variant, 60));
        panel(title, "seconds", "% lost", series)
    };
    let mut panels = vec![lost("loss at 60 Mbit/s", study)];
    panels.extend(study.beside().map(|whole| lost(&whole.title("loss"), &whole)));
    eleven.drawing = Drawing::Lines(panels, Axes::default());
    eleven.here("loss of the vanilla UPF", usual("kernel", 60));
    eleven.here("loss of the XDP UPF", usual("xdp", 60));
    eleven.like =
        format!("The paper finds that XDP loses far less than the kernel path. {REPETITIONS}");

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
    vec![seven, eight, nine, eleven, twelve]
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

#[cfg(test)]
mod tests {
    use super::*;

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

//! What the study measured: its values by load, and over time.
use crate::Series;
use crate::reproduce::Mark;
use crate::reproduce::results::{Point, Results};
use crate::stats::{Estimate, at_least_zero, median};
use crate::upf::onboard::same_load::{BOARD_SLOT_S, FULL_LOAD, SLOT};
use crate::upf::onboard::{BOARD_LOADS, LENGTH, LOADS, steady_temperature};
use martlet_board::{BoardConfig, SimulatedBoard};
use std::collections::BTreeMap;

const GENERATOR: &str = "generator and receiver alone";
/// The note of a figure whose temperature is modelled.
pub(super) const MODEL: &str = "No sensor was read: temperatures are those of a simulated board \
     (27 °C room, 50 °C standby, 5 W at full load as in the paper; a time constant of 150 s and \
     2 W in standby are assumed) for the CPU time that a datapath adds.";
/// The note of a figure whose temperature is read from a board's sensors.
pub(super) const SENSORS: &str = "Temperatures are those of this board's hottest sensor.";
/// The paper's board.
const PAPERS_BOARD: &str = "Raspberry Pi 4 Model B";

/// A value with its interval.
pub(super) type Value = (f64, f64, f64);

/// What the study loaded.
pub(super) struct Study<'a> {
    pub(super) results: &'a Results,
    /// The first word of its figures: that of the board, or of the whole CPU.
    pub(super) prefix: &'static str,
    /// The first word of its rows over time.
    over_time: &'static str,
    /// The board's share of a CPU of this machine.
    pub(super) share: Option<f64>,
    /// Mbit/s that stand for the paper's 60.
    sixty: f64,
    /// Whether the temperature is a sensor's.
    pub(super) is_measured: bool,
    /// Whether it ran on the paper's board.
    is_papers_board: bool,
}

impl<'a> Study<'a> {
    pub(super) fn of(results: &'a Results) -> Study<'a> {
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
    pub(super) fn mark(&self) -> Mark {
        if self.is_papers_board { Mark::True } else { Mark::OtherTestbed }
    }

    /// A sentence on the path of the packets.
    pub(super) fn machine(&self) -> String {
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

    pub(super) fn scale(&self) -> String {
        match self.share {
            Some(_) => "Mbit/s".into(),
            None => format!("Mbit/s on the paper's scale (60 is {:.0} here)", self.sixty),
        }
    }

    /// The title of a panel of a whole CPU.
    pub(super) fn title(&self, what: &str) -> String {
        format!("whole CPU: {what} at {:.0} Mbit/s", self.sixty)
    }

    /// The title of a panel with a temperature.
    pub(super) fn heat(&self, title: &str) -> String {
        match self.is_measured {
            true => title.into(),
            false => format!("modelled {title}"),
        }
    }

    /// Mark and reason of a figure with a temperature.
    pub(super) fn mark_of_heat(&self) -> (Mark, String) {
        match self.is_measured {
            true => (self.mark(), format!("{SENSORS} {}", self.machine())),
            false => (Mark::ModelledPart, format!("{MODEL} {}", self.machine())),
        }
    }

    pub(super) fn x(&self, n: usize) -> f64 {
        match self.share {
            Some(_) => BOARD_LOADS[n],
            None => LOADS[n] / FULL_LOAD * 60.0,
        }
    }

    /// A figure of a point, with its interval.
    pub(super) fn value(&self, what: &str, variant: &str, point: &str) -> Option<Value> {
        let Study { results, prefix, .. } = self;
        results.interval(&format!("{prefix}_{what}.{variant}.{point}.median"))
    }

    /// CPU time in per cent of the computing power. On the board it is that of all its work:
    /// generator and receiver stand for the interface's driver. Otherwise it is what a datapath
    /// adds to them.
    pub(super) fn cpu(&self, variant: &str, point: &str) -> Option<Value> {
        let busy = |variant: &str| self.value("busy", variant, point);
        match self.share {
            Some(_) => busy(variant),
            None => {
                let generator = busy("generator")?.0;
                Some(each(busy(variant)?, |busy| at_least_zero(busy - generator)))
            }
        }
    }

    pub(super) fn cpu_title(&self) -> &'static str {
        match self.share {
            Some(_) => "CPU time of the board",
            None => "CPU time that the datapath adds",
        }
    }

    /// On the board, the generator alone beside both datapaths.
    pub(super) fn with_generator(
        &self,
        mut series: Vec<Series>,
        points: Vec<Point>,
    ) -> Vec<Series> {
        if self.share.is_some() {
            series.push(Series { name: GENERATOR.into(), points });
        }
        series
    }

    pub(super) fn celsius(&self, variant: &str, point: &str) -> Option<Value> {
        match self.is_measured {
            true => self.value("celsius", variant, point),
            false => {
                let cpu = self.cpu(variant, point)?;
                Some(each(cpu, |cpu| steady_temperature(cpu / 100.0)))
            }
        }
    }

    /// Loss by slot in per cent; `None` where no repetition's load was offered.
    pub(super) fn loss_by_slot(&self, variant: &str, part: u32) -> Vec<Option<Value>> {
        by_slot(self.results, self.over_time, variant, part, 0)
    }

    /// CPU time by slot in per cent, as [`Study::cpu`]; nothing without the generator's.
    pub(super) fn cpu_by_slot(&self, variant: &str, part: u32) -> Vec<Value> {
        let busy = |variant: &str| by_slot(self.results, self.over_time, variant, part, 1);
        let generator = match self.share {
            Some(_) => Some(0.0),
            None => middle(busy("generator").into_iter().flatten()),
        };
        let Some(generator) = generator else { return Vec::new() };
        let added = |value| each(value, |busy| at_least_zero(busy - generator));
        busy(variant).into_iter().flatten().map(added).collect()
    }

    /// The temperature by slot at the highest load with its time in seconds, from a board's sensor;
    /// else modelled.
    pub(super) fn heat_by_slot(&self, variant: &str) -> Vec<Point> {
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

    pub(super) fn loss_over_time(&self, variant: &str, part: u32) -> Vec<Point> {
        self.over_slots(self.loss_by_slot(variant, part).into_iter())
    }

    pub(super) fn cpu_over_time(&self, variant: &str) -> Vec<Point> {
        self.over_slots(self.cpu_by_slot(variant, 60).into_iter().map(Some))
    }

    /// The same study on a whole CPU, where this one is of a board.
    pub(super) fn beside(&self) -> Option<Study<'a>> {
        self.share.map(|_| Study::on_whole_cpu(self.results))
    }
}

/// A value and the ends of its interval, each changed alike. The change is monotonic.
fn each(value: Value, of: impl Fn(f64) -> f64) -> Value {
    (of(value.0), of(value.1), of(value.2))
}

/// A column of the rows of a kind by slot, as the median of the repetitions with its interval.
pub(super) fn by_slot(
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
pub(super) fn middle(values: impl Iterator<Item = Value>) -> Option<f64> {
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

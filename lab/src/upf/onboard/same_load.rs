//! Both datapaths under the same loads over time. The loads are 20 to 60 parts, as the paper has 20
//! to 60 Mbit/s; in both, the kernel path begins to lose packets a little below 60.
use super::super::Rules;
use super::super::links::{Round, carried_rate, with_testbed};
use super::board::{BoardSensors, with_share};
use super::cpu_quota::CpuQuota;
use super::study::{Machine, Study, VARIANTS, busy, is_offered, offered};
use super::{LENGTH, steady_temperature};
use crate::stats::{Estimate, at_least_zero, median};
use crate::{Figure, Series};
use anyhow::{Context, Result};
use martlet_board::{BoardConfig, SimulatedBoard};
use martlet_upf::config::DatapathChoice;
use std::time::Duration;

/// The loads, in parts of 60.
pub const PARTS: [u32; 4] = [20, 40, 50, 60];
/// 60 parts as a multiple of the rate that the kernel path carries.
pub(crate) const FULL_LOAD: f64 = 1.2;
/// Duration of a slot.
pub(crate) const SLOT: Duration = Duration::from_millis(250);
/// Seconds on the simulated board for each slot. Its temperature changes within minutes.
pub(crate) const BOARD_SLOT_S: f64 = 40.0;
/// Temperatures of the simulated board's room in °C. The paper's is the last.
pub(crate) const ROOMS: [u32; 4] = [0, 10, 20, 27];

/// One slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Lost packets in per cent; NaN if the load was not offered.
    loss: f64,
    /// CPU time in per cent.
    busy: f64,
    /// What a board's sensor shows at its end.
    celsius: Option<f64>,
}

/// The slots of a variant under a load, by repetition.
struct Repeated {
    variant: &'static str,
    part: u32,
    repetitions: Vec<Vec<Slot>>,
}

impl Repeated {
    /// A value by slot, over all repetitions.
    fn by_slot(&self, of: impl Fn(&Slot) -> f64) -> Vec<Option<Estimate>> {
        let slots = self.repetitions.iter().map(Vec::len).max().unwrap_or(0);
        let values = |n: usize| -> Vec<f64> {
            self.repetitions.iter().filter_map(|slots| slots.get(n)).map(&of).collect()
        };
        (0..slots).map(|n| median(&values(n))).collect()
    }
}

/// The results.
pub struct SameLoad {
    all: Vec<Repeated>,
}

/// Measures the rate that the kernel path carries, in packets per second.
pub fn kernel_rate(study: &mut Study<'_>) -> Result<f64> {
    let time = study.time / 2;
    let kernel = with_testbed(Some(DatapathChoice::Kernel), Rules::Full, 1, |testbed| {
        let mut kernel = carried_rate(testbed, true, LENGTH, time)?;
        // A machine that is busy for a moment carries none of the first rates.
        for _ in 0..2 {
            if kernel == 0.0 {
                kernel = carried_rate(testbed, true, LENGTH, time)?;
            }
        }
        Ok(kernel)
    })?;
    study.output.figure(Figure::once("onboard_carried.kernel", "packets/s", kernel));
    study.progress.step("rate carried by kernel");
    Ok(kernel)
}

/// How long both datapaths are measured.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Slots of each repetition.
    pub slots: u32,
    /// Repetitions, each with a new testbed.
    pub repetitions: u32,
}

/// Measures all variants and loads. `full` is the rate of 60 parts, in packets per second. Packets
/// arrive at a queue, so that a load above what the kernel path carries is offered, too. On a board
/// whose loads are held, the slots of the highest load last as long together.
pub fn measure(
    study: &mut Study<'_>,
    full: f64,
    parts: &[u32],
    extent: Extent,
) -> Result<SameLoad> {
    let machine = study.machine;
    let prefix = prefix(machine);
    let is_held = study.sensors.is_some() && !study.held.is_zero();
    let longest = if is_held { study.held / extent.slots.max(1) } else { SLOT };
    let length = |part: u32| if part == 60 { longest.max(SLOT) } else { SLOT };
    study.output.figure(Figure::once(format!("{prefix}_slot.60"), "s", length(60).as_secs_f64()));
    let none = |(variant, _)| parts.iter().map(move |part| (variant, *part));
    let mut all: Vec<Repeated> = VARIANTS
        .into_iter()
        .flat_map(none)
        .map(|(variant, part)| Repeated { variant, part, repetitions: Vec::new() })
        .collect();
    for repetition in 0..extent.repetitions {
        // Each variant is first, second and last equally often.
        let mut variants = VARIANTS;
        variants.rotate_left(repetition as usize % VARIANTS.len());
        for (variant, choice) in variants {
            let sensors = &mut study.sensors;
            let rounds = with_share(machine.share(), choice, 1, |testbed, _| {
                let mut of_parts = Vec::new();
                for &part in parts {
                    let (rate, length) = (full * f64::from(part) / 60.0, length(part));
                    testbed.queued(true, LENGTH, rate, SLOT, || 1)?;
                    let mut slots = Vec::new();
                    for _ in 0..extent.slots {
                        let (round, discarded) =
                            offered(|| testbed.queued(true, LENGTH, rate, length, || 1))?;
                        let shown = sensors.as_mut().and_then(BoardSensors::read);
                        slots.push((round, discarded, shown.map(|shown| shown.celsius)));
                    }
                    of_parts.push(slots);
                }
                Ok(of_parts)
            })?;
            for (part, rounds) in parts.iter().zip(rounds) {
                let discarded: u32 = rounds.iter().map(|(_, discarded, _)| discarded).sum();
                if discarded > 0 {
                    let id = format!("{prefix}_discarded.{variant}.{part}.{repetition}");
                    study.output.figure(Figure::once(id, "slots", discarded.into()));
                }
                let slot = |(round, _, celsius): &(Round, u32, Option<f64>)| Slot {
                    loss: if is_offered(round) { round.loss() * 100.0 } else { f64::NAN },
                    busy: study.busy(round) * 100.0,
                    celsius: *celsius,
                };
                let slots: Vec<Slot> = rounds.iter().map(slot).collect();
                for (n, Slot { loss, busy, celsius }) in slots.iter().enumerate() {
                    let at = format!("{part},{variant},uplink,{repetition}:{n}");
                    study.output.row(format_args!("{prefix},{at},{loss},{busy}"))?;
                    if let Some(celsius) = celsius {
                        study.output.row(format_args!("{prefix}_celsius,{at},{celsius},"))?;
                    }
                }
                if let Some(found) =
                    all.iter_mut().find(|it| it.variant == variant && it.part == *part)
                {
                    found.repetitions.push(slots);
                }
                study.progress.step("the same load");
            }
        }
    }
    for repeated in &all {
        let Repeated { variant, part, repetitions } = repeated;
        let of = |value: &dyn Fn(&Slot) -> f64| {
            median(&repetitions.iter().flatten().map(value).collect::<Vec<_>>())
        };
        // None where no slot's load was offered.
        if let Some(loss) = of(&|slot| slot.loss) {
            let id = format!("{prefix}_loss.{variant}.{part}.median");
            study.output.figure(Figure::of(id, "%", loss));
        }
        let busy = of(&|slot| slot.busy).context("no samples")?;
        let id = format!("{prefix}_busy.{variant}.{part}.median");
        study.output.figure(Figure::of(id, "%", busy));
    }
    Ok(SameLoad { all })
}

/// The first word of figures and rows.
fn prefix(machine: Machine) -> &'static str {
    match machine {
        Machine::Whole => "same_load",
        Machine::Board(_) => "board_time",
    }
}

/// Measures the loss of the kernel path at 60 parts on an emulated board, in rooms of several
/// temperatures. The frequency of the simulated board acts on its share of the CPU, slot by slot.
pub fn rooms(study: &mut Study<'_>, full: f64, extent: Extent) -> Result<()> {
    let machine = study.machine;
    let Some(share) = machine.share() else { return Ok(()) };
    for repetition in 0..extent.repetitions {
        let all = with_share(Some(share), Some(DatapathChoice::Kernel), 1, |testbed, quota| {
            let mut all = Vec::new();
            for room in ROOMS {
                let mut board = in_room(f64::from(room));
                set(quota, share)?;
                testbed.queued(true, LENGTH, full, SLOT, || 1)?;
                for n in 0..extent.slots {
                    set(quota, share * board.capacity())?;
                    let round = testbed.queued(true, LENGTH, full, SLOT, || 1)?;
                    board.pass(BOARD_SLOT_S, busy(&round) / share);
                    all.push((room, n, round.loss() * 100.0, board.temperature()));
                }
            }
            Ok(all)
        })?;
        for (room, n, loss, celsius) in all {
            study.output.row(format_args!(
                "board_room_{room},60,kernel,uplink,{repetition}:{n},{loss},{celsius}"
            ))?;
        }
        study.progress.step("rooms");
    }
    Ok(())
}

fn set(quota: Option<&CpuQuota>, share: f64) -> Result<()> {
    quota.map_or(Ok(()), |quota| quota.set(share))
}

/// The paper's board in a room of another temperature: it is as much warmer when idle.
fn in_room(room: f64) -> SimulatedBoard {
    let config = BoardConfig::default();
    let idle = room + config.idle - config.room;
    SimulatedBoard::new(BoardConfig { room, idle, ..config })
}

impl SameLoad {
    fn of(&self, variant: &str, part: u32) -> Option<&Repeated> {
        self.all.iter().find(|it| it.variant == variant && it.part == part)
    }

    /// Loss over time at the highest load, with its interval over the repetitions.
    pub fn loss_by_time(&self, variant: &'static str) -> Series {
        let slots = self.of(variant, 60).map(|all| all.by_slot(|slot| slot.loss));
        let slots = slots.unwrap_or_default();
        let at = |n: usize| (n + 1) as f64 * SLOT.as_secs_f64();
        let points = slots.iter().enumerate().filter_map(|(n, slot)| {
            let slot = (*slot)?;
            Some((at(n), slot.value, slot.low, slot.high))
        });
        Series { name: variant.into(), points: points.collect() }
    }

    /// CPU time that a datapath adds to the generator's, slot by slot; nothing without the
    /// generator's.
    fn added(&self, variant: &str, part: u32) -> Vec<f64> {
        let busy = |variant: &str| -> Vec<f64> {
            let slots = self.of(variant, part).map(|all| all.by_slot(|slot| slot.busy));
            slots.unwrap_or_default().into_iter().flatten().map(|slot| slot.value).collect()
        };
        let Some(generator) = median(&busy("generator")) else { return Vec::new() };
        let added = |busy| at_least_zero(busy - generator.value);
        busy(variant).into_iter().map(added).collect()
    }

    /// The temperature of the simulated board over time at the highest load, from idle on, without
    /// thermal throttling.
    pub fn temperature(&self, variant: &'static str) -> Series {
        let mut board =
            SimulatedBoard::new(BoardConfig { throttle: f64::INFINITY, ..BoardConfig::default() });
        let mut points = vec![(0.0, board.temperature())];
        for (n, added) in self.added(variant, 60).into_iter().enumerate() {
            board.pass(BOARD_SLOT_S, added / 100.0);
            points.push(((n + 1) as f64 * BOARD_SLOT_S / 60.0, board.temperature()));
        }
        Series {
            name: variant.into(),
            points: points.into_iter().map(|(x, y)| (x, y, y, y)).collect(),
        }
    }

    /// The temperature after an hour of a load, in °C.
    pub fn celsius(&self, variant: &str, part: u32) -> f64 {
        median(&self.added(variant, part))
            .map_or(f64::NAN, |added| steady_temperature(added.value / 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_the_median_of_its_repetitions_and_their_interval() {
        let slot = |loss| Slot { loss, busy: 10.0, celsius: None };
        let repetitions = (0..10).map(|n| vec![slot(f64::from(n)), slot(f64::NAN)]).collect();
        let repeated = Repeated { variant: "kernel", part: 60, repetitions };
        let by_slot = repeated.by_slot(|slot| slot.loss);
        let first = by_slot[0].unwrap();
        assert_eq!((first.value, first.n), (4.5, 10));
        assert!(first.low < 4.5 && first.high > 4.5);
        assert_eq!((by_slot.len(), by_slot[1]), (2, None));
        let series = SameLoad { all: vec![repeated] }.loss_by_time("kernel");
        assert_eq!(series.points, [(0.25, 4.5, first.low, first.high)]);
    }

    #[test]
    fn added_cpu_time_needs_that_of_the_generator() {
        let repeated = |variant, busy| {
            let slot = Slot { loss: 0.0, busy, celsius: None };
            Repeated { variant, part: 60, repetitions: vec![vec![slot]] }
        };
        let whole = SameLoad { all: vec![repeated("generator", 10.0), repeated("xdp", 40.0)] };
        assert_eq!(whole.added("xdp", 60), [30.0]);
        assert_eq!(SameLoad { all: vec![repeated("xdp", 40.0)] }.added("xdp", 60), [0.0; 0]);
    }

    #[test]
    fn a_board_in_a_colder_room_stays_colder_by_the_difference_and_keeps_its_frequency() {
        let mut boards = ROOMS.map(|room| in_room(f64::from(room)));
        for board in &mut boards {
            for _ in 0..12 {
                board.pass(BOARD_SLOT_S, 1.0);
            }
        }
        assert!((boards[1].temperature() - boards[0].temperature() - 10.0).abs() < 0.01);
        assert!(boards[..3].iter().all(|board| board.throttled_s == 0.0));
        assert!(boards[3].throttled_s > 0.0, "the paper's room is warm enough for throttling");
    }
}

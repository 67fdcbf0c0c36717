//! Both datapaths under the same loads over time. The loads are 20 to 60 parts, as the paper has 20
//! to 60 Mbit/s; in both, the kernel path begins to lose packets a little below 60.
use super::super::Rules;
use super::super::links::{Round, carried_rate, with_testbed};
use super::board::with_share;
use super::study::{Machine, Study, VARIANTS, is_offered, offered, send};
use super::{LENGTH, steady_temperature};
use crate::stats::median;
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
pub(crate) const BOARD_SLOT_S: f64 = 20.0;

/// Loss and CPU time in per cent.
type Slot = (f64, f64);

/// The results.
pub struct SameLoad {
    /// The slots of each variant and load.
    slots: Vec<(&'static str, u32, Vec<Slot>)>,
}

/// Measures the rate that the kernel path carries, in packets per second.
pub fn kernel_rate(study: &mut Study<'_>) -> Result<f64> {
    let time = study.time / 2;
    let kernel = with_testbed(Some(DatapathChoice::Kernel), Rules::Full, 1, |testbed| {
        carried_rate(testbed, true, LENGTH, time)
    })?;
    study.output.figure(Figure::once("onboard_carried.kernel", "packets/s", kernel));
    study.progress.step("rate carried by kernel");
    Ok(kernel)
}

/// Measures all variants and loads. `full` is the rate of 60 parts, in packets per second.
pub fn measure(study: &mut Study<'_>, full: f64, parts: &[u32], slots: u32) -> Result<SameLoad> {
    let machine = study.machine;
    let prefix = match machine {
        Machine::Whole => "same_load",
        Machine::Board(_) => "board_time",
    };
    let mut all = Vec::new();
    for (variant, choice) in VARIANTS {
        for &part in parts {
            let rate = full * f64::from(part) / 60.0;
            let rounds = with_share(machine.share(), choice, 1, |testbed, _| {
                send(machine, testbed, rate, SLOT, || 1)?;
                (0..slots)
                    .map(|_| offered(|| send(machine, testbed, rate, SLOT, || 1)))
                    .collect::<Result<Vec<_>>>()
            })?;
            let discarded: u32 = rounds.iter().map(|(_, discarded)| discarded).sum();
            if discarded > 0 {
                let id = format!("{prefix}_discarded.{variant}.{part}");
                study.output.figure(Figure::once(id, "slots", discarded.into()));
            }
            let loss = |round: &Round| match is_offered(round) {
                true => round.loss() * 100.0,
                false => f64::NAN,
            };
            let slots: Vec<Slot> =
                rounds.iter().map(|(round, _)| (loss(round), study.busy(round) * 100.0)).collect();
            for (n, (loss, busy)) in slots.iter().enumerate() {
                study
                    .output
                    .row(format_args!("{prefix},{part},{variant},uplink,{n},{loss},{busy}"))?;
            }
            let of = |values: Vec<f64>| median(&values).context("no samples");
            let (loss, busy) =
                (slots.iter().map(|t| t.0).collect(), slots.iter().map(|t| t.1).collect());
            // None where no slot's load was offered.
            if let Ok(loss) = of(loss) {
                let id = format!("{prefix}_loss.{variant}.{part}.median");
                study.output.figure(Figure::of(id, "%", loss));
            }
            study.output.figure(Figure::of(
                format!("{prefix}_busy.{variant}.{part}.median"),
                "%",
                of(busy)?,
            ));
            all.push((variant, part, slots));
            study.progress.step("the same load");
        }
    }
    Ok(SameLoad { slots: all })
}

impl SameLoad {
    fn of(&self, variant: &str, part: u32) -> &[(f64, f64)] {
        let found = self.slots.iter().find(|(v, p, _)| *v == variant && *p == part);
        found.map_or(&[], |(_, _, slots)| slots.as_slice())
    }

    /// Loss over time at the highest load.
    pub fn loss_by_time(&self, variant: &'static str) -> Series {
        let slots = self.of(variant, 60).iter().enumerate();
        let points =
            slots.map(|(n, (loss, _))| ((n + 1) as f64 * SLOT.as_secs_f64(), *loss, *loss, *loss));
        Series { name: variant.into(), points: points.collect() }
    }

    /// CPU time that a datapath adds to the generator's, slot by slot.
    fn added(&self, variant: &str, part: u32) -> Vec<f64> {
        let generator: Vec<f64> = self.of("generator", part).iter().map(|slot| slot.1).collect();
        let generator = median(&generator).map_or(0.0, |estimate| estimate.value);
        self.of(variant, part).iter().map(|slot| (slot.1 - generator).max(0.0)).collect()
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

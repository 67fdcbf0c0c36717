//! Both datapaths under the same loads, over some time: as many parts of 60 as the paper had
//! Mbit/s, where the kernel's path begins to lose a little below 60.
use super::super::Rules;
use super::super::wire::{carried_of, with_wire};
use super::study::{Study, VARIANTS, busy};
use super::{LENGTH, celsius_of};
use crate::stats::median;
use crate::{Figure, Series};
use anyhow::{Context, Result};
use martlet_board::{BoardConfig, SimulatedBoard};
use martlet_upf::config::DatapathChoice;
use std::time::Duration;

/// The loads, in parts of 60.
pub const PARTS: [u32; 4] = [20, 40, 50, 60];
/// Of what the kernel's path carries, 60 parts are this.
const OVER: f64 = 1.2;
/// Measured at a time,
const SLOT: Duration = Duration::from_millis(250);
/// and how much longer that is on the board, whose temperature changes within minutes.
const BOARD_SLOT_S: f64 = 20.0;

/// Loss and processor time.
type Slot = (f64, f64);

/// What was measured.
pub struct SameLoad {
    /// Packets in a second that the kernel's path carries.
    pub carried: f64,
    /// Of each variant and load, slot by slot.
    slots: Vec<(&'static str, u32, Vec<Slot>)>,
}

/// Packets in a second that the kernel's path carries of those of the study.
pub fn kernel_carries(study: &mut Study<'_>) -> Result<f64> {
    let time = study.time / 2;
    let kernel = with_wire(Some(DatapathChoice::Kernel), Rules::Full, 1, |wire| {
        carried_of(wire, true, LENGTH, time)
    })?;
    study.output.figure(Figure::once("onboard_carried.kernel", "packets/s", kernel));
    study.progress.step("what kernel carries");
    Ok(kernel)
}

/// Measures.
pub fn measure(study: &mut Study<'_>, carried: f64, parts: &[u32], slots: u32) -> Result<SameLoad> {
    let mut all = Vec::new();
    for (variant, choice) in VARIANTS {
        for &part in parts {
            let rate = carried * OVER * f64::from(part) / 60.0;
            let rounds = with_wire(choice, Rules::Full, 1, |wire| {
                wire.paced(true, LENGTH, rate, SLOT)?;
                (0..slots).map(|_| wire.paced(true, LENGTH, rate, SLOT)).collect::<Result<Vec<_>>>()
            })?;
            let told: Vec<(f64, f64)> =
                rounds.iter().map(|round| (round.loss() * 100.0, busy(round) * 100.0)).collect();
            for (n, (loss, busy)) in told.iter().enumerate() {
                study
                    .output
                    .row(format_args!("same_load,{part},{variant},uplink,{n},{loss},{busy}"))?;
            }
            let of = |values: Vec<f64>| median(&values).context("nothing was measured");
            let (loss, busy) =
                (told.iter().map(|t| t.0).collect(), told.iter().map(|t| t.1).collect());
            study.output.figure(Figure::of(
                format!("same_load_loss.{variant}.{part}.median"),
                "%",
                of(loss)?,
            ));
            study.output.figure(Figure::of(
                format!("same_load_busy.{variant}.{part}.median"),
                "%",
                of(busy)?,
            ));
            all.push((variant, part, told));
            study.progress.step("the same load");
        }
    }
    Ok(SameLoad { carried, slots: all })
}

impl SameLoad {
    fn of(&self, variant: &str, part: u32) -> &[(f64, f64)] {
        let found = self.slots.iter().find(|(v, p, _)| *v == variant && *p == part);
        found.map_or(&[], |(_, _, slots)| slots.as_slice())
    }

    /// Loss by time at the highest load.
    pub fn loss_by_time(&self, variant: &'static str) -> Series {
        let slots = self.of(variant, 60).iter().enumerate();
        let points =
            slots.map(|(n, (loss, _))| ((n + 1) as f64 * SLOT.as_secs_f64(), *loss, *loss, *loss));
        Series { name: variant.into(), points: points.collect() }
    }

    /// Processor time that a datapath adds to the generator's, slot by slot.
    fn added(&self, variant: &str, part: u32) -> Vec<f64> {
        let generator: Vec<f64> = self.of("generator", part).iter().map(|slot| slot.1).collect();
        let generator = median(&generator).map_or(0.0, |estimate| estimate.value);
        self.of(variant, part).iter().map(|slot| (slot.1 - generator).max(0.0)).collect()
    }

    /// The temperature of a simulated board by the minute, at the highest load, from idle on. Where
    /// `throttles`, it slows itself down at its limit; else it gets as hot as it would.
    pub fn heat(&self, variant: &'static str) -> Series {
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

    /// The temperature after an hour of a load.
    pub fn celsius(&self, variant: &str, part: u32) -> f64 {
        median(&self.added(variant, part)).map_or(f64::NAN, |added| celsius_of(added.value / 100.0))
    }
}

//! The study of a satellite board (XupfPI), as far as it is possible without the board: number of
//! sessions at one total rate, one session's share, memory contention, CPU time, memory and a
//! modelled temperature against load, and both datapaths under the same load. All on one CPU, over
//! virtual links.
mod report;
pub(crate) mod same_load;
pub(crate) mod stress;
mod study;

use super::UpfArgs;
use super::links::Testbed;
use crate::Output;
use crate::progress::Progress;
use anyhow::Result;
use martlet_board::{BoardConfig, SimulatedBoard};
use std::time::Duration;
use stress::Stress;
pub use stress::{MemoryLoadArgs, use_memory};
use study::{Study, VARIANTS};

/// Length of UEs' packets in bytes, and packets per second of all sessions together.
pub(crate) const LENGTH: u32 = 1024;
const RATE: f64 = 20_000.0;
pub(crate) const SESSIONS: [u32; 6] = [1, 10, 50, 100, 200, 500];
pub(crate) const SHARES: [u32; 5] = [100, 75, 50, 25, 0];
/// Loads, as multiples of the rate that the kernel path carries.
pub(crate) const LOADS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5];
/// The load of the measurement with memory contention.
const STRESSED: f64 = 0.9;
/// Sessions of the measurement of shares.
const SHARE_SESSIONS: u32 = 100;

/// Temperature in °C of the simulated board after an hour of a load from 0 to 1.
pub(crate) fn steady_temperature(load: f64) -> f64 {
    let mut board =
        SimulatedBoard::new(BoardConfig { throttle: f64::INFINITY, ..BoardConfig::default() });
    board.pass(3600.0, load);
    board.temperature()
}

/// Runs the study.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let (rounds, milliseconds) = args.pick((3, 500), (1, 200), (1, 40));
    let (slots, time) = (args.pick(24, 4, 2), Duration::from_millis(milliseconds));
    let (sessions, shares, loads) =
        (args.points(&SESSIONS), args.points(&SHARES), args.points(&[0, 1, 2, 3, 4, 5, 6]));
    let (kinds, parts) = (args.points(&stress::KINDS), args.points(&same_load::PARTS));
    let each = sessions.len() + shares.len() + loads.len() + parts.len();
    let steps = 1 + VARIANTS.len() * each + 2 * kinds.len();
    let progress = Progress::new("points", steps as u64);
    let mut study = Study { output, rounds, time, progress };
    let carried = same_load::kernel_rate(&mut study)?;
    for variant in VARIANTS {
        for &sessions in &sessions {
            let run = |testbed: &Testbed, time| testbed.paced(true, LENGTH, RATE, time);
            study.point(&format!("sessions{sessions}"), variant, sessions, run)?;
        }
        for &share in &shares {
            study.point(&format!("share{share}"), variant, SHARE_SESSIONS, |testbed, time| {
                shared(testbed, share, time)
            })?;
        }
        for &n in &loads {
            let run =
                |testbed: &Testbed, time| testbed.paced(true, LENGTH, carried * LOADS[n], time);
            study.point(&format!("load{n}"), variant, 1, run)?;
        }
    }
    let mut skipped = Vec::new();
    for variant in VARIANTS.into_iter().filter(|(_, choice)| choice.is_some()) {
        for &(name, arguments) in &kinds {
            let Ok(_stress) = Stress::start(name, arguments) else {
                skipped.push(name);
                continue;
            };
            let run =
                |testbed: &Testbed, time| testbed.paced(true, LENGTH, carried * STRESSED, time);
            study.point(&format!("memory_{name}"), variant, SHARE_SESSIONS, run)?;
        }
    }
    let same_load = same_load::measure(&mut study, carried, &parts, slots)?;
    study.progress.done();
    report::write(output, &same_load, !skipped.is_empty())
}

/// Sends packets of which a share in per cent belongs to one session.
fn shared(testbed: &Testbed, share: u32, time: Duration) -> Result<super::links::Round> {
    let mut owed = 0;
    testbed.paced_among(true, LENGTH, RATE, time, move || {
        owed += share;
        let one = owed >= 100;
        owed -= if one { 100 } else { 0 };
        if one { 1 } else { SHARE_SESSIONS }
    })
}

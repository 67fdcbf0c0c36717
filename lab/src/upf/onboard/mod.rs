//! The study of the satellite board, as far as a machine without one can do it: sessions at one
//! total rate, one session's share, contention for memory, load against processor, memory and a
//! modelled temperature, and both datapaths under the same load. On one processor, over virtual
//! links.
mod report;
mod same_load;
mod stress;
mod study;

use super::UpfArgs;
use super::wire::Wire;
use crate::Output;
use crate::progress::Progress;
use anyhow::Result;
use martlet_board::{BoardConfig, SimulatedBoard};
use std::time::Duration;
use stress::Stress;
use study::{Study, VARIANTS};

/// Octets of UEs' packets, and packets in a second of all sessions together.
const LENGTH: u32 = 1024;
const RATE: f64 = 20_000.0;
const SESSIONS: [u32; 6] = [1, 10, 50, 100, 200, 500];
const SHARES: [u32; 5] = [100, 75, 50, 25, 0];
/// Of the rate that the kernel's path carries.
const LOADS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5];
/// The load under which others use memory.
const STRESSED: f64 = 0.9;
/// Sessions beside the one whose share is changed.
const OTHERS: u32 = 100;

/// °C of the simulated board after an hour of a load of 0 to 1.
fn celsius_of(load: f64) -> f64 {
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
    let carried = same_load::kernel_carries(&mut study)?;
    for variant in VARIANTS {
        for &sessions in &sessions {
            let run = |wire: &Wire, time| wire.paced(true, LENGTH, RATE, time);
            study.point(&format!("sessions{sessions}"), variant, sessions, run)?;
        }
        for &share in &shares {
            study.point(&format!("share{share}"), variant, OTHERS, |wire, time| {
                shared(wire, share, time)
            })?;
        }
        for &n in &loads {
            let run = |wire: &Wire, time| wire.paced(true, LENGTH, carried * LOADS[n], time);
            study.point(&format!("load{n}"), variant, 1, run)?;
        }
    }
    let mut left_out = Vec::new();
    for variant in VARIANTS.into_iter().filter(|(_, choice)| choice.is_some()) {
        for &(name, arguments) in &kinds {
            let Ok(_stress) = Stress::start(arguments) else {
                left_out.push(name);
                continue;
            };
            let run = |wire: &Wire, time| wire.paced(true, LENGTH, carried * STRESSED, time);
            study.point(&format!("memory_{name}"), variant, OTHERS, run)?;
        }
    }
    let same_load = same_load::measure(&mut study, carried, &parts, slots)?;
    study.progress.done();
    report::write(output, &same_load, !left_out.is_empty())
}

/// Packets of which a share in per cent is one session's.
fn shared(wire: &Wire, share: u32, time: Duration) -> Result<super::wire::Round> {
    let mut owed = 0;
    wire.paced_among(true, LENGTH, RATE, time, move || {
        owed += share;
        let one = owed >= 100;
        owed -= if one { 100 } else { 0 };
        if one { 1 } else { OTHERS }
    })
}

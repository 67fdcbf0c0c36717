//! The study of a satellite board (XupfPI): number of sessions at one total rate, one session's
//! share, memory contention, CPU time, memory and temperature against load, and both datapaths
//! under the same load. All on one CPU, over virtual links.
//!
//! It runs twice: on the board, at the paper's rates, and on a whole CPU of this machine, up to its
//! own breaking point. Where this machine is no board, a share of a CPU stands for it, with which
//! the kernel path breaks where the paper's does. Without sensors, the temperature is modelled.
//!
//! | file | content |
//! | --- | --- |
//! | `board` | the board's computing power and sensors |
//! | `cpu_quota` | a share of a CPU |
//! | `arrivals` | the queue of an interface at which packets arrive |
//! | `memory` | memory of a UPF alone |
//! | `study`, `same_load`, `stress` | points, both datapaths over time, memory contention |
//! | `report` | tables and plots |
pub(crate) mod arrivals;
pub(crate) mod board;
pub(crate) mod cpu_quota;
pub(crate) mod memory;
mod report;
pub(crate) mod same_load;
pub(crate) mod stress;
mod study;

use super::UpfArgs;
use super::links::Testbed;
use crate::progress::Progress;
use crate::{Figure, Output};
use anyhow::Result;
pub use board::BoardChoice;
use board::{BoardSensors, packets};
use martlet_board::{BoardConfig, SimulatedBoard};
pub use memory::{UpfMemoryArgs, print as print_memory};
use same_load::Extent;
use std::time::Duration;
use stress::Stress;
pub use stress::{MemoryLoadArgs, use_memory};
use study::{Machine, Study, VARIANTS, send};

/// Length of UEs' packets in bytes, and packets per second of all sessions together.
pub(crate) const LENGTH: u32 = 1024;
const RATE: f64 = 20_000.0;
pub(crate) const SESSIONS: [u32; 6] = [1, 10, 50, 100, 200, 500];
pub(crate) const SHARES: [u32; 5] = [100, 75, 50, 25, 0];
/// Rates on the board in Mbit/s: of all sessions together, as in the paper, of each load, and under
/// memory contention.
pub(crate) const BOARD_RATE: f64 = 20.0;
pub(crate) const BOARD_LOADS: [f64; 7] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0];
pub(crate) const BOARD_STRESSED: f64 = 50.0;
/// Loads, as multiples of the rate that the kernel path carries.
pub(crate) const LOADS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5];
/// The load of the measurement with memory contention.
const STRESSED: f64 = 0.9;
/// Sessions of the measurement of shares.
const SHARE_SESSIONS: u32 = 100;

/// Temperature in °C of the simulated board after an hour of a load from 0 to 1.
pub(crate) fn steady_temperature(load: f64) -> f64 {
    if load.is_nan() {
        return f64::NAN;
    }
    let mut board =
        SimulatedBoard::new(BoardConfig { throttle: f64::INFINITY, ..BoardConfig::default() });
    board.pass(3600.0, load);
    board.temperature()
}

/// What the points of a study are.
struct Points {
    machine: Machine,
    rounds: u32,
    time: Duration,
    /// Both datapaths over time.
    extent: Extent,
    /// Packets per second of the points of sessions and shares.
    rate: f64,
    /// Packets per second of each load.
    loads: Vec<f64>,
    /// Packets per second under memory contention.
    stressed: f64,
    /// Packets per second of 60 parts.
    full: f64,
}

/// Runs both studies.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    on_board(output, args)?;
    let milliseconds = args.pick(500, 200, 40);
    let mut study = study(output, args, Machine::Whole, args.pick(3, 1, 1), milliseconds);
    let carried = same_load::kernel_rate(&mut study)?;
    let points = Points {
        machine: Machine::Whole,
        rounds: study.rounds,
        time: study.time,
        extent: extent(args),
        rate: RATE,
        loads: LOADS.map(|part| part * carried).into(),
        stressed: carried * STRESSED,
        full: carried * same_load::FULL_LOAD,
    };
    let (same_load, no_stress) = run(output, args, &points, None)?;
    report::write(output, &same_load, carried, no_stress)
}

fn study<'a>(
    output: &'a mut Output,
    args: &UpfArgs,
    machine: Machine,
    rounds: u32,
    milliseconds: u64,
) -> Study<'a> {
    let repetitions = extent(args).repetitions as usize;
    let over_time = args.points(&same_load::PARTS).len() * repetitions;
    let points = args.points(&SESSIONS).len() + args.points(&SHARES).len() + LOADS.len();
    let all = VARIANTS.len() * (points + over_time) + 8 + repetitions;
    let progress = Progress::new("points", all as u64);
    let (time, hold) = (Duration::from_millis(milliseconds), Duration::ZERO);
    let held = Duration::from_secs(args.hold);
    Study { machine, sensors: None, hold, held, output, rounds, time, progress }
}

/// Slots and repetitions of both datapaths over time: ten repetitions, as the paper has them.
fn extent(args: &UpfArgs) -> Extent {
    Extent { slots: args.pick(12, 4, 3), repetitions: args.pick(10, 2, 1) }
}

/// The study on the board.
fn on_board(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let (rounds, time) = (args.pick(10, 2, 1), Duration::from_millis(args.pick(300, 200, 120)));
    let share = match args.board.is_real() {
        true => None,
        false => match board::calibrate(time) {
            Ok(share) => Some(share),
            Err(error) => {
                let why = format!("{error:#}");
                tracing::warn!(error = why, "no board is emulated");
                output.text(&format!(
                    "## The emulated board\n\nNot measured: the computing power of a board cannot \
                     be emulated here ({why}).\n"
                ));
                return Ok(());
            }
        },
    };
    output.figure(Figure::once("board.share", "of a CPU", share.unwrap_or(1.0)));
    let machine = Machine::Board(share);
    let points = Points {
        machine,
        rounds,
        time,
        extent: extent(args),
        rate: packets(BOARD_RATE),
        loads: BOARD_LOADS.map(packets).into(),
        stressed: packets(BOARD_STRESSED),
        full: packets(60.0),
    };
    let sensors = args.board.is_real().then(BoardSensors::of_this_machine);
    let (_, no_stress) = run(output, args, &points, sensors)?;
    if let Err(error) = memory_by_load(output, args, &points) {
        output.text(&format!("Memory was not measured: {error:#}\n"));
    }
    report::write_board(output, share, no_stress)
}

/// Memory of each UPF alone, by load.
fn memory_by_load(output: &mut Output, args: &UpfArgs, points: &Points) -> Result<()> {
    for (n, &rate) in points.loads.iter().enumerate().filter(|(n, _)| is_chosen(args, *n)) {
        for (variant, _) in VARIANTS.into_iter().filter(|(_, choice)| choice.is_some()) {
            let bytes = memory::of(variant, rate, points.time, points.machine.share())?;
            let id = format!("board_memory.{variant}.load{n}.median");
            output.figure(Figure::once(id, "MB", bytes / 1e6));
            output.row(format_args!("board_memory,load{n},{variant},uplink,0,{bytes},"))?;
        }
    }
    Ok(())
}

/// Whether a load is one of the points of this run.
fn is_chosen(args: &UpfArgs, n: usize) -> bool {
    args.points(&[0, 1, 2, 3, 4, 5, 6]).contains(&n)
}

/// Runs all points. Returns the slots of the same load, and whether there is no memory contention.
fn run(
    output: &mut Output,
    args: &UpfArgs,
    points: &Points,
    sensors: Option<BoardSensors>,
) -> Result<(same_load::SameLoad, bool)> {
    let machine = points.machine;
    let milliseconds = points.time.as_millis() as u64;
    let mut study = study(output, args, machine, points.rounds, milliseconds);
    study.sensors = sensors;
    let (sessions, shares) = (args.points(&SESSIONS), args.points(&SHARES));
    let (kinds, parts) = (args.points(&stress::KINDS), args.points(&same_load::PARTS));
    for variant in VARIANTS {
        for &sessions in &sessions {
            let run =
                |testbed: &Testbed, time| send(machine, testbed, points.rate, time, || sessions);
            study.point(&format!("sessions{sessions}"), variant, sessions, run)?;
        }
        for &share in &shares {
            study.point(&format!("share{share}"), variant, SHARE_SESSIONS, |testbed, time| {
                shared(machine, testbed, points.rate, share, time)
            })?;
        }
        study.hold = study.held;
        for (n, &rate) in points.loads.iter().enumerate().filter(|(n, _)| is_chosen(args, *n)) {
            let run = |testbed: &Testbed, time| send(machine, testbed, rate, time, || 1);
            study.point(&format!("load{n}"), variant, 1, run)?;
        }
        study.hold = Duration::ZERO;
    }
    let mut skipped = Vec::new();
    for variant in VARIANTS.into_iter().filter(|(_, choice)| choice.is_some()) {
        for &(name, arguments) in &kinds {
            let Ok(_stress) = Stress::start(name, arguments) else {
                skipped.push(name);
                continue;
            };
            let run = |testbed: &Testbed, time| {
                send(machine, testbed, points.stressed, time, || SHARE_SESSIONS)
            };
            study.point(&format!("memory_{name}"), variant, SHARE_SESSIONS, run)?;
        }
    }
    let same_load = same_load::measure(&mut study, points.full, &parts, points.extent)?;
    if study.sensors.is_none() {
        same_load::rooms(&mut study, points.full, points.extent)?;
    }
    study.progress.done();
    Ok((same_load, !skipped.is_empty()))
}

/// Sends packets of which a share in per cent belongs to one session.
fn shared(
    machine: Machine,
    testbed: &Testbed,
    rate: f64,
    share: u32,
    time: Duration,
) -> Result<super::links::Round> {
    let mut owed = 0;
    send(machine, testbed, rate, time, move || {
        owed += share;
        let one = owed >= 100;
        owed -= if one { 100 } else { 0 };
        if one { 1 } else { SHARE_SESSIONS }
    })
}

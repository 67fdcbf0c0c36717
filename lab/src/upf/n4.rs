//! N4: an SMF that establishes, modifies and deletes sessions over UDP as fast as the UPF answers;
//! what a session costs beside one and beside many others; and packets lost while sessions are
//! modified.
use super::dut::{configuration, session};
use super::links::{self, Testbed};
use super::smf::Smf;
use super::{Rules, UpfArgs};
use crate::process_usage::{bytes_with_bpf_maps, resident_kb};
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_upf::config::DatapathChoice;
use martlet_upf::datapath::Change;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
const UPF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Half of the UE addresses of the UPF under test.
const MAX_SESSIONS: u32 = 1 << 20;

/// Sessions that are established and deleted beside others, and how often in a round.
const BLOCK: (u32, u32) = (1000, 5);

/// Microseconds to establish and delete one of these sessions.
fn block_us(smf: &mut Smf, block: &Range<u32>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..BLOCK.1 {
        let established = smf.establish(block.clone(), GNB)?;
        smf.delete(&established)?;
    }
    let sessions = f64::from(BLOCK.1) * f64::from(block.end - block.start);
    Ok(start.elapsed().as_secs_f64() * 1e6 / sessions)
}

/// Compares the cost of a session while there is one other with its cost while there are almost
/// `sessions`, in turn. The UPF has none at the start and at the end.
fn beside_others(output: &mut Output, smf: &mut Smf, sessions: u32, rounds: u32) -> Result<()> {
    let block = sessions.saturating_sub(BLOCK.0).max(sessions / 2)..sessions;
    let mut times = [Vec::new(), Vec::new()];
    // The first sessions after the start bring in code and memory.
    block_us(smf, &block)?;
    for round in 0..rounds {
        for (times, others) in times.iter_mut().zip([1, block.start]) {
            let established = smf.establish(0..others, GNB)?;
            let us = block_us(smf, &block)?;
            smf.delete(&established)?;
            output.row(format_args!("control,beside_{others},xdp,,{round},{us},{sessions}"))?;
            times.push(us);
        }
    }
    let [one, many] = &times;
    let ratios: Vec<f64> = many.iter().zip(one).map(|(many, one)| many / one).collect();
    for (id, unit, sample) in [
        ("n4.xdp.session_beside_1".into(), "us", one),
        (format!("n4.xdp.session_beside_{sessions}"), "us", many),
        (format!("n4.xdp.session_beside_{sessions}_over_1"), "times", &ratios),
    ] {
        output.figure(Figure::of(id, unit, median(sample).context("no rounds")?));
    }
    Ok(())
}

/// Establishes, modifies and deletes sessions of a UPF in this process.
fn sessions(
    output: &mut Output,
    sessions: u32,
    rounds: u32,
    progress: &mut Progress,
) -> Result<()> {
    crate::namespace::enter_new()?;
    let mut config = configuration(Rules::Full, sessions);
    config.n3.address = (UPF, 2152).into();
    config.n4.address = SocketAddr::from((UPF, martlet_pfcp::PORT));
    config.xdp.interfaces = vec!["lo".into()];
    config.n4.heartbeat_s = 0;
    let pid = std::process::id();
    let before = resident_kb(pid);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The UPF's thread inherits this thread's network namespace.
    let (started, ready) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        runtime.block_on(async {
            let stopped = async { drop(stopped.await) };
            match martlet_upf::start(config, stopped).await {
                Ok(upf) => {
                    let _ = started.send(Ok(()));
                    let _ = upf.finished().await;
                }
                Err(error) => drop(started.send(Err(error))),
            }
        });
    });
    ready.recv().context("the UPF failed to start")??;
    let mut smf = Smf::connect(SMF, (UPF, martlet_pfcp::PORT).into())?;
    smf.associate()?;
    let mut timed =
        |name: &str, act: &mut dyn FnMut() -> Result<()>, output: &mut Output| -> Result<()> {
            let start = Instant::now();
            act()?;
            let rate = f64::from(sessions) / start.elapsed().as_secs_f64();
            output.row(format_args!("control,{name},xdp,,0,{rate},{sessions}"))?;
            output.figure(Figure::once(format!("n4.xdp.{name}_{sessions}"), "sessions/s", rate));
            progress.step(name);
            Ok(())
        };
    let mut established = Vec::new();
    let mut establish = || {
        established = smf.establish(0..sessions, GNB)?;
        Ok(())
    };
    timed("establish", &mut establish, output)?;
    let grown = (resident_kb(pid).saturating_sub(before) * 1024) as f64 / 1e6;
    output.figure(Figure::once(format!("resident.xdp.sessions{sessions}"), "MB", grown));
    output.figure(Figure::once(
        format!("resident_whole.xdp.sessions{sessions}"),
        "MB",
        (resident_kb(pid) * 1024) as f64 / 1e6,
    ));
    output.figure(Figure::once(
        format!("memory.xdp.sessions{sessions}"),
        "MB",
        bytes_with_bpf_maps(pid) as f64 / 1e6,
    ));
    timed("modify", &mut || smf.modify(&established), output)?;
    timed("delete", &mut || smf.delete(&established), output)?;
    beside_others(output, &mut smf, sessions, rounds)?;
    progress.step("sessions beside others");
    drop(stop);
    let _ = serving.join();
    Ok(())
}

/// Counts packets lost while each of 1,000 sessions is modified: its rules are rewritten with
/// another QFI.
fn while_modified(output: &mut Output, args: &UpfArgs) -> Result<()> {
    const SESSIONS: u32 = 1000;
    let round = links::on_one_cpu(|| {
        let mut testbed = Testbed::new(Some(DatapathChoice::Xdp), Rules::Full, SESSIONS)?;
        let mut datapath = testbed.datapath.take().context("the testbed has no datapath")?;
        let testbed = &testbed;
        std::thread::scope(|scope| {
            let changing = scope.spawn(move || -> Result<(u32, Duration)> {
                let start = Instant::now();
                let limits = martlet_upf::UpfConfig::default().rules;
                for n in 0..SESSIONS {
                    let mut session = session(Rules::Full, n);
                    session.qers.values_mut().for_each(|qer| qer.qfi = Some(5));
                    session.resolve(&limits)?;
                    datapath.apply(&Change::to(&session))?;
                    if n % 10 == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                let elapsed = start.elapsed();
                // The datapath keeps its programs loaded until all packets are forwarded.
                std::thread::sleep(Duration::from_secs(3));
                drop(datapath);
                Ok((SESSIONS, elapsed))
            });
            let time = Duration::from_millis(args.pick(2500, 1000, 1000));
            let round = testbed.paced(false, 64, 200_000.0, time);
            let (_, elapsed) =
                changing.join().map_err(|_| anyhow::anyhow!("the modifying thread panicked"))??;
            Ok((round?, elapsed))
        })
    })?;
    let (round, elapsed) = round;
    let lost = round.sent - round.received.packets;
    output.row(format_args!("control,lost_while_modified,xdp,downlink,0,{lost},{}", round.sent))?;
    output.figure(Figure::once("lost.xdp.while_1000_modified", "packets", lost as f64));
    output.figure(Figure::once("sent.xdp.while_1000_modified", "packets", round.sent as f64));
    output.figure(Figure::once("modified.xdp.1000_sessions", "s", elapsed.as_secs_f64()));
    Ok(())
}

/// Measures N4. Returns the largest number of sessions.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<u32> {
    let mut progress = Progress::new("steps", 5);
    let max = args.external.sessions.unwrap_or(args.pick(100_000, 20_000, 500));
    ensure!((2..=MAX_SESSIONS).contains(&max), "--sessions is a number from 2 to {MAX_SESSIONS}");
    // Each round establishes all of them once more.
    let rounds = if max > 100_000 { 1 } else { args.pick(5, 3, 1) };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| sessions(output, max, rounds, &mut progress));
        thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement thread panicked")))
    })?;
    while_modified(output, args)?;
    progress.step("packets while sessions change");
    progress.done();
    Ok(max)
}

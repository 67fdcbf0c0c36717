//! What a signal does to an experiment: the programs that it has started end before it. Otherwise
//! cores would run on, and disturb later measurements.
use crate::core::{children, descendants};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Time for programs to end after SIGTERM. Then they are killed.
const GRACE: Duration = Duration::from_secs(10);
/// Stack of the thread that waits for signals: it may be locked in memory.
const STACK: usize = 256 << 10;

/// On SIGINT and SIGTERM, ends the programs that this process has started, and then the process.
///
/// # Errors
/// The signal handlers or the thread cannot be made.
pub fn end_programs_on_signals() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let thread = std::thread::Builder::new().name("signals".into()).stack_size(STACK);
    let wait = move || {
        let signal = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => Signal::SIGINT,
                _ = terminate.recv() => Signal::SIGTERM,
            }
        });
        eprintln!("martlet-lab: {signal}: the experiment ends");
        end_programs();
        std::process::exit(128 + signal as i32);
    };
    thread.spawn(wait).map(drop)
}

/// Ends the programs that this process has started. Each ends what it has started itself; what is
/// left of all after [`GRACE`] is killed.
fn end_programs() {
    let (own, begun) = (std::process::id(), Instant::now());
    let (mut signalled, mut all) = (BTreeSet::new(), BTreeSet::new());
    loop {
        all.extend(descendants(own).into_iter().skip(1));
        // The experiment may start another program meanwhile.
        for child in children(own) {
            if signalled.insert(child) {
                send(child, Signal::SIGTERM);
            }
        }
        let running: Vec<u32> = all.iter().copied().filter(|pid| is_running(*pid)).collect();
        if running.is_empty() {
            return;
        }
        if begun.elapsed() > GRACE {
            return running.into_iter().for_each(|pid| send(pid, Signal::SIGKILL));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn send(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Whether a process exists and is no zombie, which has no command line.
fn is_running(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

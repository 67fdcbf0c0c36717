//! A network namespace for the traffic of an experiment. It ends with the program.
use crate::command;
use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use std::time::{Duration, Instant};

/// Moves this thread, and the programs that it starts, into a new network namespace with its
/// loopback interface up.
///
/// # Errors
/// The right to make a network namespace (CAP_SYS_ADMIN) or the program `ip` is missing.
pub fn enter_new() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)
        .context("a network namespace cannot be made: run the lab as root")?;
    command::ip("link set lo up")
}

/// Waits until a process has left the network namespace of this thread.
///
/// # Errors
/// It ends, or does not leave it within some seconds.
pub fn wait_for_another(pid: u32) -> Result<()> {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
    let (own, started) = (of("thread-self")?, Instant::now());
    while of(&pid.to_string()).context("the program has ended")? == own {
        ensure!(
            started.elapsed() < Duration::from_secs(5),
            "the program has no network namespace of its own"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

//! A network namespace for the traffic of an experiment. It ends with the program.
use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use std::process::Command;

/// Moves this thread, and the programs that it starts, into a new network namespace with its
/// loopback interface up.
///
/// # Errors
/// The right to make a network namespace (CAP_SYS_ADMIN) or the program `ip` is missing.
pub fn enter_new() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)
        .context("a network namespace cannot be made: run the lab as root")?;
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()
        .context("`ip` is missing: install iproute2")?;
    ensure!(up.success(), "`ip link set lo up` failed");
    Ok(())
}

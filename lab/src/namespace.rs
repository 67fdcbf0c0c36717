//! The lab's traffic stays in a network namespace that goes away with the program.
use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use std::process::Command;

/// Moves this thread, and the programs that it starts, into a new network namespace with its
/// loopback up.
///
/// # Errors
/// There is no right to make one.
pub fn enter_a_new_one() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)
        .context("a network namespace cannot be made; run the lab as root")?;
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()
        .context("`ip` is missing: install iproute2")?;
    ensure!(up.success(), "the loopback interface did not come up");
    Ok(())
}

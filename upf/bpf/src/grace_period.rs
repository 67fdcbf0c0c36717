//! Waiting until the programs that run have ended.
//!
//! Programs run non-preemptible, so once this thread has run on every CPU all earlier runs have
//! ended; that takes microseconds. Where the affinity is restricted or the kernel is PREEMPT_RT, an
//! update of a map of maps waits for the RCU grace period instead, which takes milliseconds.
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::os::fd::{AsFd, AsRawFd};

/// What the kernel is asked by.
#[derive(Debug)]
pub struct GracePeriod {
    /// A map of maps: the kernel waits for programs when it changes.
    pub grace_period: MapHandle,
    /// What is in it.
    pub slot: MapHandle,
}

impl GracePeriod {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn wait(&self) -> libbpf_rs::Result<()> {
        if !std::path::Path::new("/sys/kernel/realtime").exists() && visit_all_processors() {
            return Ok(());
        }
        let slot = self.slot.as_fd().as_raw_fd().to_ne_bytes();
        self.grace_period.update(&0u32.to_ne_bytes(), &slot, MapFlags::ANY)
    }
}

/// Has this thread run on each CPU; false where it may not.
fn visit_all_processors() -> bool {
    let this = Pid::from_raw(0);
    let Ok(before) = sched_getaffinity(this) else { return false };
    let allowed: Vec<usize> =
        (0..CpuSet::count()).filter(|n| before.is_set(*n).unwrap_or(false)).collect();
    // SAFETY: no memory is involved.
    if allowed.len() as i64 != unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } {
        return false;
    }
    let everywhere = allowed.iter().all(|cpu| {
        let mut one = CpuSet::new();
        one.set(*cpu).is_ok() && sched_setaffinity(this, &one).is_ok()
    });
    let _ = sched_setaffinity(this, &before);
    everywhere
}

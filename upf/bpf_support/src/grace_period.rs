//! Waits until all running BPF programs have ended.
//!
//! Programs run non-preemptibly, so once this thread has run on every CPU, all earlier runs have
//! ended. That takes microseconds. Where the affinity is restricted or the kernel is PREEMPT_RT, an
//! update of a map of maps waits for the RCU grace period instead, which takes milliseconds.
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::os::fd::{AsFd, AsRawFd};

/// The maps that trigger an RCU grace period.
#[derive(Debug)]
pub struct GracePeriod {
    /// A map of maps: an update returns after a grace period.
    pub grace_period: MapHandle,
    /// Its element.
    pub slot: MapHandle,
}

impl GracePeriod {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// # Errors
    /// The kernel rejects the update of the map.
    pub fn wait(&self) -> libbpf_rs::Result<()> {
        if !std::path::Path::new("/sys/kernel/realtime").exists() && visit_all_cpus() {
            return Ok(());
        }
        let slot = self.slot.as_fd().as_raw_fd().to_ne_bytes();
        self.grace_period.update(&0u32.to_ne_bytes(), &slot, MapFlags::ANY)
    }
}

/// Runs this thread on each CPU once. Returns false where the affinity does not allow it.
fn visit_all_cpus() -> bool {
    let this = Pid::from_raw(0);
    let Ok(before) = sched_getaffinity(this) else { return false };
    let allowed: Vec<usize> =
        (0..CpuSet::count()).filter(|n| before.is_set(*n).unwrap_or(false)).collect();
    // SAFETY: `sysconf` accesses no memory of ours.
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

//! The real-time properties of the LCS-UPP paper, set and verified: SCHED_FIFO with priority 1 for
//! every thread of the process, locked memory, and the CPU frequency governor `performance`.
//!
//! Later threads inherit the scheduling policy. A machine without governors, such as a virtual one,
//! has nothing to set, which [`Conditions`] reports.
mod error;
mod governor;
mod scheduling;

pub use error::RealtimeError;
use std::fmt;

/// The requested properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// SCHED_FIFO with priority 1.
    pub fifo: bool,
    /// Lock all current and future memory.
    pub lock_memory: bool,
    /// CPU frequency governor `performance`.
    pub governor: bool,
}

impl Wanted {
    /// All properties, as in the paper.
    pub const ALL: Wanted = Wanted { fifo: true, lock_memory: true, governor: true };
}

/// The governor of a machine without governors.
const NO_GOVERNOR: &str = "none on this machine";

/// The properties in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// Scheduling policy and priority.
    pub scheduling: String,
    /// Locked memory.
    pub memory: String,
    /// The governor of the CPUs.
    pub governor: String,
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scheduling {}; memory {}; governor {}",
            self.scheduling, self.memory, self.governor
        )
    }
}

impl Conditions {
    /// The first requested property that is not in force.
    pub fn missing(&self, wanted: Wanted) -> Option<RealtimeError> {
        if wanted.fifo && self.scheduling != "SCHED_FIFO, priority 1" {
            return Some(RealtimeError::OtherScheduling(self.scheduling.clone()));
        }
        if wanted.lock_memory && self.memory == "not locked" {
            return Some(RealtimeError::MemoryNotLocked);
        }
        if wanted.governor && !["performance", NO_GOVERNOR].contains(&self.governor.as_str()) {
            let (wanted, got) = (governor::PERFORMANCE, self.governor.clone());
            return Some(RealtimeError::OtherGovernor { wanted, got });
        }
        None
    }

    /// The properties of this process.
    pub fn now() -> Self {
        Self::at("self")
    }

    /// The properties of another process with all of its threads.
    pub fn of(process: u32) -> Self {
        Self::at(&process.to_string())
    }

    fn at(process: &str) -> Self {
        let locked = field(&format!("/proc/{process}/status"), "VmLck:").unwrap_or_default();
        Conditions {
            scheduling: scheduling::of_process(process),
            memory: if locked.starts_with("0 ") || locked.is_empty() {
                "not locked".into()
            } else {
                format!("{locked} locked")
            },
            governor: governor::now().unwrap_or_else(|| NO_GOVERNOR.into()),
        }
    }
}

/// Sets the properties of this process.
///
/// # Errors
/// A property could not be set.
pub fn enter(wanted: Wanted) -> Result<Conditions, RealtimeError> {
    if wanted.fifo {
        scheduling::fifo()?;
    }
    if wanted.lock_memory {
        let flags =
            nix::sys::mman::MlockAllFlags::MCL_CURRENT | nix::sys::mman::MlockAllFlags::MCL_FUTURE;
        nix::sys::mman::mlockall(flags).map_err(|error| RealtimeError::LockMemory(error.into()))?;
    }
    if wanted.governor {
        governor::set(governor::PERFORMANCE)?;
    }
    let now = Conditions::now();
    match now.missing(wanted) {
        Some(missing) => Err(missing),
        None => Ok(now),
    }
}

/// The value of a field in a file of `/proc`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_process_has_an_ordinary_policy() {
        let now = Conditions::now();
        assert!(now.scheduling.starts_with("SCHED_"), "{now}");
        assert!(now.to_string().contains("governor"));
    }

    #[test]
    fn properties_that_are_not_requested_do_not_change() {
        let before = Conditions::now();
        let wanted = Wanted { fifo: false, lock_memory: false, governor: false };
        assert_eq!(enter(wanted).unwrap(), before);
    }
}

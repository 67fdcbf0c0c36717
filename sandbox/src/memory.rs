//! Keeps memory with keys from swap (mlock(2)).
//!
//! Pages are locked when they are first used, so that a process needs no more memory than without.
//! The main thread's stack is locked with an unlimited RLIMIT_MEMLOCK only: the kernel does not let
//! a locked stack grow beyond the limit.
use std::fmt;

/// `MLOCK_ONFAULT` of mlock2(2).
const MLOCK_ONFAULT: libc::c_uint = 1;
/// `MCL_ONFAULT` of mlockall(2).
const MCL_ONFAULT: libc::c_int = 4;

/// What of a process's memory is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Locked {
    /// All of it, and what is allocated later.
    All,
    /// What was allocated at the start.
    Start,
    /// Nothing, and why.
    Nothing(String),
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Locked::All => "locked",
            Locked::Start => "locked at start",
            Locked::Nothing(_) => "not locked",
        })
    }
}

/// Raises the limit of locked memory as far as this process may: without limit as root with
/// CAP_SYS_RESOURCE, else to the hard limit.
pub(crate) fn raise_limit() {
    let mut held = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls take a pointer to a limit that outlives them.
    unsafe {
        let unlimited =
            libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        if libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const unlimited) == 0 {
            return;
        }
        if libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut held) == 0 {
            held.rlim_cur = held.rlim_max;
            libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const held);
        }
    }
}

fn is_unlimited() -> bool {
    let mut held = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to a limit that outlives it.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut held) };
    read == 0 && held.rlim_cur == libc::RLIM_INFINITY
}

/// Locks the writable memory of this process. Without limit, later memory, too.
pub(crate) fn lock() -> Locked {
    let unlimited = is_unlimited();
    if unlimited {
        // SAFETY: the call changes no memory, only whether it may be swapped out.
        let locked = unsafe { libc::mlockall(libc::MCL_FUTURE | MCL_ONFAULT) };
        if locked != 0 {
            return Locked::Nothing(format!("mlockall: {}", std::io::Error::last_os_error()));
        }
    }
    let maps = match std::fs::read_to_string("/proc/self/maps") {
        Ok(maps) => maps,
        Err(error) => return Locked::Nothing(format!("/proc/self/maps: {error}")),
    };
    for (start, length) in maps.lines().filter_map(|line| writable(line, unlimited)) {
        // SAFETY: as above. A mapping that has ended in the meantime is an error.
        let outcome = unsafe { libc::syscall(libc::SYS_mlock2, start, length, MLOCK_ONFAULT) };
        let error = std::io::Error::last_os_error();
        // EAGAIN and ENOMEM: of a mapping without memory, or beyond the limit.
        if outcome != 0 && error.raw_os_error() == Some(libc::EPERM) {
            return Locked::Nothing(format!("mlock2: {error}"));
        }
        if outcome != 0 && !unlimited && error.raw_os_error() == Some(libc::ENOMEM) {
            return Locked::Nothing("RLIMIT_MEMLOCK is too low: set it to unlimited".into());
        }
    }
    if unlimited { Locked::All } else { Locked::Start }
}

/// Start and length of a line of `/proc/self/maps` (proc_pid_maps(5)), if it is memory that the
/// process writes.
fn writable(line: &str, with_stack: bool) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, permissions) = (fields.next()?, fields.next()?);
    let name = fields.nth(3).unwrap_or_default();
    let is_locked = permissions.starts_with("rw") && (with_stack || name != "[stack]");
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    is_locked.then_some((start, end.checked_sub(start)?))
}

/// Whether the machine has swap space, as far as this process sees.
pub(crate) fn has_swap() -> bool {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    swaps.lines().count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writable_memory_is_found() {
        let stack = "7ffc0000-7ffc3000 rw-p 00000000 00:00 0          [stack]";
        assert_eq!(writable(stack, true), Some((0x7ffc_0000, 0x3000)));
        assert_eq!(writable(stack, false), None);
        let heap = "1000-3000 rw-p 00000000 00:00 0          [heap]";
        assert_eq!(writable(heap, false), Some((0x1000, 0x2000)));
        let anonymous = "1000-3000 rw-s 00000000 00:00 0";
        assert_eq!(writable(anonymous, false), Some((0x1000, 0x2000)));
        for line in ["1000-3000 r-xp 0 fe:00 1 /bin/martlet", "1000-3000 ---p 0 00:00 0", "", "x"] {
            assert_eq!(writable(line, true), None, "{line}");
        }
    }
}

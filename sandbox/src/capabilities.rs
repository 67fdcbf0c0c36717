//! Capabilities (capabilities(7)) of this process. The kernel keeps them for each thread.
use crate::error::ReductionError;
use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long threads may take to give up their capabilities.
const TIMEOUT: Duration = Duration::from_secs(5);
const VERSION_3: u32 = 0x2008_0522;

/// Drops all others from the bounding set, so that no program that this process runs has them.
/// Without CAP_SETPCAP the set stays as it is: `no_new_privs` has the same effect.
pub fn bound(wanted: &CapsHashSet) -> Result<(), ReductionError> {
    let drop_others = || -> Result<(), CapsError> {
        if !caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
            return Ok(());
        }
        let held = caps::read(None, CapSet::Bounding)?;
        let mut others = held.difference(wanted).filter(|one| !is_for_change_of_user(**one));
        others.try_for_each(|one| caps::drop(None, CapSet::Bounding, *one))
    };
    Ok(drop_others()?)
}

fn is_for_change_of_user(one: Capability) -> bool {
    matches!(one, Capability::CAP_SETUID | Capability::CAP_SETGID | Capability::CAP_SETPCAP)
}

/// Permitted capabilities outlive the change from root to another user.
pub fn keep_over_change_of_user() -> Result<(), ReductionError> {
    Ok(caps::securebits::set_keepcaps(true)?)
}

/// Reduces the capabilities of this thread to those of `wanted` that it has. With `ambient`,
/// programs that it runs get them, too.
pub fn reduce(wanted: &CapsHashSet, ambient: bool) -> Result<(), ReductionError> {
    let apply = || -> Result<(), CapsError> {
        let held = caps::read(None, CapSet::Permitted)?;
        let granted: CapsHashSet = held.intersection(wanted).copied().collect();
        caps::set(None, CapSet::Effective, &granted)?;
        caps::set(None, CapSet::Permitted, &granted)?;
        caps::set(None, CapSet::Inheritable, &granted)?;
        if ambient { caps::set(None, CapSet::Ambient, &granted) } else { Ok(()) }
    };
    Ok(apply()?)
}

/// The names of effective capabilities, without `CAP_`.
pub fn effective() -> Vec<String> {
    let held = caps::read(None, CapSet::Effective).unwrap_or_default();
    let mut names: Vec<_> =
        held.iter().map(|one| one.to_string().trim_start_matches("CAP_").to_owned()).collect();
    names.sort();
    names
}

/// What the signal handler applies.
static WANTED: AtomicU64 = AtomicU64::new(0);
/// The signal handler may call capset(2). Afterwards the filter of system calls forbids it.
static REDUCING: AtomicBool = AtomicBool::new(false);
/// Threads in the signal handler.
static IN_HANDLER: AtomicUsize = AtomicUsize::new(0);

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Reduces the capabilities of the calling thread. Async-signal-safe: atomics and two system calls.
extern "C" fn reduce_in_handler(_: libc::c_int) {
    IN_HANDLER.fetch_add(1, Ordering::SeqCst);
    if REDUCING.load(Ordering::SeqCst) {
        reduce_this_thread();
    }
    IN_HANDLER.fetch_sub(1, Ordering::SeqCst);
}

fn reduce_this_thread() {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data { effective: 0, permitted: 0, inheritable: 0 }; 2];
    let wanted = WANTED.load(Ordering::SeqCst);
    // SAFETY: capget and capset take a header and, for version 3, two data structures, which the
    // kernel reads and writes within this call.
    unsafe {
        if libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) != 0 {
            return;
        }
        for (half, data) in [wanted as u32, (wanted >> 32) as u32].into_iter().zip(&mut data) {
            data.permitted &= half;
            data.effective = data.permitted;
            data.inheritable &= half;
        }
        libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr());
    }
}

/// Reduces the capabilities of all threads to `wanted`.
///
/// capset(2) concerns its own thread alone. Like the C library does for setuid(2), a signal makes
/// each other thread call it. On return no thread will call it any more, so that a filter of system
/// calls can forbid it.
pub fn reduce_all_threads(wanted: &CapsHashSet) -> Result<(), ReductionError> {
    let bits = wanted.iter().fold(0, |bits, one| bits | one.bitmask());
    WANTED.store(bits, Ordering::SeqCst);
    REDUCING.store(true, Ordering::SeqCst);
    let outcome = signal_threads(bits);
    REDUCING.store(false, Ordering::SeqCst);
    // A handler that began before may still be in its system calls.
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match IN_HANDLER.load(Ordering::SeqCst) {
            0 => return outcome,
            left if Instant::now() > deadline => return Err(ReductionError::Timeout(left)),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Sends each thread one signal, and waits until all threads have at most these capabilities.
fn signal_threads(bits: u64) -> Result<(), ReductionError> {
    let signal = libc::SIGRTMIN() + 5;
    // SAFETY: the handler is async-signal-safe, see there; the structure is initialised.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = reduce_in_handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if installed != 0 {
        return Err(ReductionError::SignalHandler(std::io::Error::last_os_error()));
    }
    let process = std::process::id() as libc::pid_t;
    let deadline = Instant::now() + TIMEOUT;
    let mut signalled = HashSet::new();
    loop {
        let mut left = 0;
        for thread in threads()? {
            if permitted(thread) & !bits == 0 {
                continue;
            }
            left += 1;
            if !signalled.insert(thread) {
                continue;
            }
            // SAFETY: a signal to a thread of this process, for which a handler is installed.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
        }
        if left == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(ReductionError::Timeout(left));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn threads() -> Result<Vec<libc::pid_t>, ReductionError> {
    let entries = std::fs::read_dir("/proc/self/task");
    let entries = entries.map_err(ReductionError::Threads)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The permitted capabilities of a thread; none of one that has ended.
fn permitted(thread: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::{SeccompMode, apply};
    use std::process::Command;

    const CHILD: &str = "MARTLET_TEST_REDUCED_CHILD";

    /// Without capset(2) in its filter, a thread that calls it late would end the process.
    #[test]
    fn no_thread_changes_its_capabilities_after_the_return() {
        if std::env::var_os(CHILD).is_some() {
            for _ in 0..12 {
                std::thread::spawn(|| {
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
            reduce_all_threads(&CapsHashSet::new()).expect("all threads reduce their capabilities");
            apply(&["base"], SeccompMode::Kill, false).expect("the filter is permitted");
            std::thread::sleep(Duration::from_millis(200));
            std::process::exit(0);
        }
        let name = "capabilities::tests::no_thread_changes_its_capabilities_after_the_return";
        for _ in 0..3 {
            let program = std::env::current_exe().expect("the test program");
            let mut child = Command::new(program);
            let child = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
            let output = child.output().expect("the test program starts");
            assert!(output.status.success(), "{output:?}");
        }
    }
}

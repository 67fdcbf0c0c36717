//! DPDK in this process: started once, without huge pages and devices.
use crate::error::{SwitchError, checked};
use crate::ffi;
use std::ffi::{CStr, CString, c_char};
use std::sync::Mutex;

static STARTED: Mutex<Option<Result<(), SwitchError>>> = Mutex::new(None);

/// Starts DPDK with memory in MiB for tables and packets, allocated on use. Later calls return the
/// first outcome.
pub fn start(memory_mib: u32) -> Result<(), SwitchError> {
    let mut started = STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    started.get_or_insert_with(|| initialize(memory_mib)).clone()
}

fn initialize(memory_mib: u32) -> Result<(), SwitchError> {
    // The calling thread keeps its CPU affinity, which DPDK would restrict to one CPU.
    let cpus = affinity();
    let lcores = format!("0@({})", cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    let memory = memory_mib.to_string();
    let words = [
        "martlet-switch",
        "--no-huge",
        "-m",
        &memory,
        "--no-pci",
        "--no-telemetry",
        "--no-shconf",
        "--iova-mode=va",
        "--lcores",
        &lcores,
        "--log-level",
        "lib.eal:error",
    ];
    let words: Vec<CString> =
        words.iter().map(|word| CString::new(*word).expect("no zeroes")).collect();
    let pointers: Vec<*const c_char> =
        words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
    // DPDK keeps pointers to the arguments.
    let words = Box::leak(words.into_boxed_slice());
    // SAFETY: the given number of arguments, which are never freed, followed by the null pointer of
    // C programs.
    let status = unsafe { ffi::mswx_start(words.len() as i32, pointers.leak().as_ptr()) };
    checked(status, || format!("starting DPDK with {memory_mib} MiB"))?;
    // SAFETY: DPDK is started.
    unsafe { ffi::mswx_trust_huge_pages() };
    Ok(())
}

fn affinity() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    let all = set.map(|set| {
        (0..nix::sched::CpuSet::count())
            .filter(|n| set.is_set(*n).unwrap_or(false))
            .collect::<Vec<_>>()
    });
    all.ok().filter(|all| !all.is_empty()).unwrap_or_else(|| vec![0])
}

/// The version of DPDK.
pub fn version() -> String {
    // SAFETY: a static string of DPDK.
    unsafe { CStr::from_ptr(ffi::mswx_version()) }.to_string_lossy().into_owned()
}

//! What processes use, as `/proc` reports it.
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::collections::BTreeMap;

/// CPU time and context switches of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time in nanoseconds of all threads, also of those that have ended.
    pub cpu_ns: u64,
    /// Context switches, voluntary and involuntary, of the threads that exist: the kernel reports
    /// none of others.
    pub switches: u64,
}

impl Usage {
    /// Since the start of the process.
    pub(crate) fn of(pid: u32) -> Self {
        let mut usage = Usage { cpu_ns: cpu_ns(pid), switches: 0 };
        let threads =
            std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let switches = status.lines().filter(|line| line.contains("ctxt_switches:"));
            usage.switches += switches
                .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
                .sum::<u64>();
        }
        usage
    }

    /// The difference to an earlier reading.
    pub(crate) fn since(&self, before: &Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    pub(crate) fn add(&mut self, other: &Usage) {
        self.cpu_ns += other.cpu_ns;
        self.switches += other.switches;
    }
}

/// CPU time of a process in nanoseconds; 0 for one that has ended.
pub(crate) fn cpu_ns(pid: u32) -> u64 {
    let time = ClockId::pid_cpu_clock_id(Pid::from_raw(pid as i32)).and_then(clock_gettime);
    time.map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Resident kilobytes of a process. Each process counts the pages that it shares.
pub(crate) fn resident_kb(pid: u32) -> u64 {
    field_kb(pid, "status", "VmRSS:")
}

/// The most kilobytes that a process had resident so far; 0 for one that has ended.
pub(crate) fn peak_resident_kb(pid: u32) -> u64 {
    field_kb(pid, "status", "VmHWM:")
}

/// Proportional set size of a process in kilobytes. Processes share the count of shared pages.
pub(crate) fn proportional_kb(pid: u32) -> u64 {
    field_kb(pid, "smaps_rollup", "Pss:")
}

/// As [`proportional_kb`], without files: what other processes of the same program share of its
/// code does not count.
pub(crate) fn proportional_data_kb(pid: u32) -> u64 {
    field_kb(pid, "smaps_rollup", "Pss_Anon:") + field_kb(pid, "smaps_rollup", "Pss_Shmem:")
}

/// Bytes of the memory of a process that no file backs, and of the BPF maps that it has open. What
/// it has mapped of its maps counts once, with the map.
pub(crate) fn bytes_with_bpf_maps(pid: u32) -> u64 {
    field_kb(pid, "status", "RssAnon:") * 1024 + bpf_maps(pid).values().sum::<u64>()
}

/// The BPF maps that a process has open: bytes of memory by the ID of the map.
fn bpf_maps(pid: u32) -> BTreeMap<u64, u64> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let map = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).ok()?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().parse::<u64>().ok()
        };
        Some((field("map_id:")?, field("memlock:")?))
    };
    files.filter_map(map).collect()
}

fn field_kb(pid: u32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_ended_threads_counts() {
        let before = Usage::of(std::process::id());
        let worker = std::thread::spawn(|| {
            std::hint::black_box((0..3_000_000u64).fold(0, |a, b| a ^ b.wrapping_mul(7)));
            let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
            time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
        });
        let of_worker = worker.join().unwrap();
        let used = Usage::of(std::process::id()).since(&before);
        assert!(of_worker > 0 && used.cpu_ns >= of_worker, "{used:?}, {of_worker}");
    }

    #[test]
    fn cpu_time_context_switches_and_memory_of_a_process_are_read() {
        let pid = std::process::id();
        let (before, cpu_before) = (Usage::of(pid), cpu_ns(pid));
        std::hint::black_box((0..30_000_000u64).fold(0, |a, b| a ^ b.wrapping_mul(7)));
        std::thread::sleep(std::time::Duration::from_millis(5));
        let used = Usage::of(pid).since(&before);
        assert!(used.cpu_ns > 100_000 && used.switches >= 1, "{used:?}");
        assert!(cpu_ns(pid) > cpu_before + 100_000);
        assert!(resident_kb(pid) > 500 && proportional_kb(pid) > proportional_data_kb(pid));
        assert!(proportional_data_kb(pid) > 0 && peak_resident_kb(pid) >= resident_kb(pid));
    }
}

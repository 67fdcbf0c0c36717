//! What a process used, by `/proc`.

/// Processor time and context switches, of all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Nanoseconds on a processor.
    pub processor: u64,
    /// Context switches, voluntary and not.
    pub switches: u64,
}

impl Usage {
    /// Until now.
    pub(super) fn of(pid: u32) -> Self {
        let mut usage = Usage::default();
        let threads =
            std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let read =
                |file: &str| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
            // Nanoseconds on a processor are the first field.
            usage.processor += read("schedstat")
                .split(' ')
                .next()
                .and_then(|it| it.parse::<u64>().ok())
                .unwrap_or(0);
            let status = read("status");
            let switches = status.lines().filter(|line| line.contains("ctxt_switches:"));
            usage.switches += switches
                .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
                .sum::<u64>();
        }
        usage
    }

    /// What was used since then.
    pub(super) fn since(&self, before: &Usage) -> Usage {
        Usage {
            processor: self.processor.saturating_sub(before.processor),
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    pub(super) fn add(&mut self, other: &Usage) {
        self.processor += other.processor;
        self.switches += other.switches;
    }
}

/// Resident kilobytes of a process.
pub(super) fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_and_sleeps_is_seen_to() {
        let pid = std::process::id();
        let before = Usage::of(pid);
        std::hint::black_box((0..30_000_000u64).fold(0, |a, b| a ^ b.wrapping_mul(7)));
        std::thread::sleep(std::time::Duration::from_millis(5));
        let used = Usage::of(pid).since(&before);
        assert!(used.processor > 100_000 && used.switches >= 1, "{used:?}");
        assert!(resident_kb(pid) > 500);
    }
}

//! The rights of a process as the kernel reports them.

/// What `/proc/PID/status` has of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessRights {
    /// The effective user.
    pub uid: u32,
    /// Effective capabilities, without `CAP_`, sorted.
    pub capabilities: Vec<String>,
    /// Whether programs that it runs can gain privileges.
    pub no_new_privileges: bool,
    /// Whether a filter of system calls is in force.
    pub has_filter: bool,
}

impl ProcessRights {
    /// The rights of a process.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(pid: u32) -> std::io::Result<ProcessRights> {
        Ok(ProcessRights::parse(&std::fs::read_to_string(format!("/proc/{pid}/status"))?))
    }

    fn parse(status: &str) -> ProcessRights {
        let field = |name: &str, word: usize| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|line| line.split_whitespace().nth(word)).unwrap_or_default()
        };
        let bits = u64::from_str_radix(field("CapEff", 0), 16).unwrap_or(0);
        let held = caps::all().into_iter().filter(|one| bits & one.bitmask() != 0);
        let mut capabilities: Vec<_> =
            held.map(|one| one.to_string().trim_start_matches("CAP_").to_owned()).collect();
        capabilities.sort();
        ProcessRights {
            uid: field("Uid", 1).parse().unwrap_or(0),
            capabilities,
            no_new_privileges: field("NoNewPrivs", 0) == "1",
            has_filter: field("Seccomp", 0) == "2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_read() {
        let text = "Name:\tmartlet\nUid:\t0\t990\t990\t990\nCapEff:\t0000000000003000\n\
                    NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        let expected = ProcessRights {
            uid: 990,
            capabilities: vec!["NET_ADMIN".into(), "NET_RAW".into()],
            no_new_privileges: true,
            has_filter: true,
        };
        assert_eq!(ProcessRights::parse(text), expected);
    }
}

//! System calls that a process may make (seccomp(2)), from the lists in `filters/`.
//!
//! A line of a list is the name of a system call, optionally with a condition on one argument:
//! `socket 0 = 1|2` (one of these values) or `clone 0 & 0x10000000` (none of these bits). The lists
//! hold the names of all architectures: `open` exists on some only, and stands for `openat` too.
use seccompiler::{BpfProgram, TargetArch};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// The lists by name. `base` is what the C library and the runtime call, and is part of every
/// filter; `programs` is for a function that runs other programs; `supervisor` is for the process
/// that starts functions. The others come from profile runs, see `sandbox/profile.py`.
pub const FILTERS: [(&str, &str); 15] = [
    ("base", include_str!("../filters/base.txt")),
    ("programs", include_str!("../filters/programs.txt")),
    ("supervisor", include_str!("../filters/supervisor.txt")),
    ("nrf", include_str!("../filters/nrf.txt")),
    ("udr", include_str!("../filters/udr.txt")),
    ("udm", include_str!("../filters/udm.txt")),
    ("ausf", include_str!("../filters/ausf.txt")),
    ("pcf", include_str!("../filters/pcf.txt")),
    ("nssf", include_str!("../filters/nssf.txt")),
    ("chf", include_str!("../filters/chf.txt")),
    ("smf", include_str!("../filters/smf.txt")),
    ("amf", include_str!("../filters/amf.txt")),
    ("lmf", include_str!("../filters/lmf.txt")),
    ("upf", include_str!("../filters/upf.txt")),
    ("oam", include_str!("../filters/oam.txt")),
];

/// Older system calls, and their replacements on newer architectures.
const LEGACY: [(&str, &str); 27] = [
    ("access", "faccessat"),
    ("arch_prctl", "prctl"),
    ("chmod", "fchmodat"),
    ("chown", "fchownat"),
    ("creat", "openat"),
    ("dup2", "dup3"),
    ("epoll_create", "epoll_create1"),
    ("epoll_wait", "epoll_pwait"),
    ("eventfd", "eventfd2"),
    ("fork", "clone"),
    ("getdents", "getdents64"),
    ("getpgrp", "getpgid"),
    ("lchown", "fchownat"),
    ("link", "linkat"),
    ("lstat", "newfstatat"),
    ("mkdir", "mkdirat"),
    ("open", "openat"),
    ("pipe", "pipe2"),
    ("poll", "ppoll"),
    ("readlink", "readlinkat"),
    ("rename", "renameat"),
    ("rmdir", "unlinkat"),
    ("select", "pselect6"),
    ("stat", "newfstatat"),
    ("symlink", "symlinkat"),
    ("unlink", "unlinkat"),
    ("vfork", "clone"),
];

const ENOSYS: u32 = libc::ENOSYS as u32;
const EACCES: u32 = libc::EACCES as u32;
const PROT_EXEC: u64 = libc::PROT_EXEC as u64;

/// What happens at a system call that is not in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeccompMode {
    /// The kernel kills the process.
    #[default]
    Kill,
    /// The call fails with EPERM.
    Errno,
    /// The call is made, and the kernel's log has it.
    Log,
    /// There is no filter.
    Off,
}

impl fmt::Display for SeccompMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SeccompMode::Kill => "kill",
            SeccompMode::Errno => "errno",
            SeccompMode::Log => "log",
            SeccompMode::Off => "off",
        })
    }
}

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A name without a list.
    #[error("there is no list of system calls {0:?}")]
    NoList(String),
    /// A line that cannot be read.
    #[error("list {0}, line {1:?}: write NAME, NAME INDEX = VALUE|VALUE, or NAME INDEX & BITS")]
    Line(String, String),
    /// This CPU architecture has no filters.
    #[error("no filters for this architecture: set security.seccomp to off")]
    Architecture,
    /// The filter cannot be compiled or installed.
    #[error("{0}")]
    Seccomp(#[from] seccompiler::Error),
}

/// Compiles the filters for an architecture, in the order of installation.
///
/// # Errors
/// A list is wrong.
pub fn compile(
    lists: &[&str],
    mode: SeccompMode,
    executes: bool,
    arch: TargetArch,
) -> Result<Vec<BpfProgram>, FilterError> {
    let mut rules = Vec::new();
    let programs = executes.then_some("programs");
    for name in ["base"].into_iter().chain(programs).chain(lists.iter().copied()) {
        let list = FILTERS.iter().find(|(list, _)| *list == name);
        let (_, text) = list.ok_or_else(|| FilterError::NoList(name.into()))?;
        for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
            if !line.is_empty() {
                rules.extend(parse(name, line, arch)?);
            }
        }
    }
    // A line without a condition in one list outweighs those with a condition in others, which the
    // compiler would otherwise keep alone.
    let unconditional: BTreeSet<String> = rules
        .iter()
        .filter(|rule| rule["args"].is_null())
        .filter_map(|rule| rule["syscall"].as_str().map(str::to_owned))
        .collect();
    rules.retain(|rule| {
        let name = rule["syscall"].as_str().unwrap_or_default();
        rule["args"].is_null() || !unconditional.contains(name)
    });
    // The last filter has the list. A call that several filters know gets the strictest action.
    let mut filters = Vec::new();
    if mode != SeccompMode::Log {
        // clone3 has its flags in memory, where a filter cannot see whether it makes a namespace.
        // The C library then uses clone.
        filters.push(json!({"mismatch_action": "allow", "match_action": {"errno": ENOSYS},
            "filter": [{"syscall": "clone3"}]}));
    }
    if mode != SeccompMode::Log && !executes {
        let executable = |name: &str| {
            json!({"syscall": name, "args": [{"index": 2, "type": "dword",
                "op": {"masked_eq": PROT_EXEC}, "val": PROT_EXEC}]})
        };
        filters.push(json!({"mismatch_action": "allow", "match_action": {"errno": EACCES},
            "filter": [executable("mmap"), executable("mprotect"), executable("pkey_mprotect")]}));
    }
    let action = match mode {
        SeccompMode::Kill => json!("kill_process"),
        SeccompMode::Errno => json!({"errno": libc::EPERM}),
        SeccompMode::Log => json!("log"),
        SeccompMode::Off => return Ok(Vec::new()),
    };
    filters.push(json!({"mismatch_action": action, "match_action": "allow", "filter": rules}));
    let compiled = filters.into_iter().map(|filter| {
        let text = json!({"filter": filter}).to_string();
        let compiled = seccompiler::compile_from_json(text.as_bytes(), arch)?;
        Ok(compiled.into_values().next().unwrap_or_default())
    });
    compiled.collect()
}

/// The rules of a line: one for each value of its condition, and each name on the architecture.
fn parse(list: &str, line: &str, arch: TargetArch) -> Result<Vec<Value>, FilterError> {
    let wrong = || FilterError::Line(list.into(), line.into());
    let number = |text: &str| -> Result<u64, FilterError> {
        let parsed = match text.trim().strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.trim().parse(),
        };
        parsed.map_err(|_| wrong())
    };
    let mut words = line.splitn(4, ' ');
    let name = words.next().ok_or_else(wrong)?;
    let conditions: Vec<Value> = match (words.next(), words.next(), words.next()) {
        (None, ..) => vec![json!([])],
        (Some(index), Some("="), Some(values)) => {
            let index = number(index)?;
            let each = values.split('|').map(|value| {
                let value = number(value)?;
                Ok(json!([{"index": index, "type": "dword", "op": "eq", "val": value}]))
            });
            each.collect::<Result<_, FilterError>>()?
        }
        (Some(index), Some("&"), Some(bits)) => {
            let (index, bits) = (number(index)?, number(bits)?);
            vec![json!([{"index": index, "type": "dword", "op": {"masked_eq": bits}, "val": 0}])]
        }
        _ => return Err(wrong()),
    };
    let modern = LEGACY.iter().find(|(old, _)| *old == name).map(|(_, modern)| *modern);
    let names = match (arch, modern) {
        (TargetArch::x86_64, Some(modern)) => vec![name, modern],
        (_, Some(modern)) => vec![modern],
        (_, None) => vec![name],
    };
    let rule = |name: &str, condition: &Value| match condition.as_array() {
        Some(none) if none.is_empty() => json!({"syscall": name}),
        _ => json!({"syscall": name, "args": condition}),
    };
    let rules = names.iter().flat_map(|name| conditions.iter().map(|c| rule(name, c)));
    Ok(rules.collect())
}

/// Installs the filters in all threads of this process.
pub(crate) fn apply(lists: &[&str], mode: SeccompMode, executes: bool) -> Result<(), FilterError> {
    let arch = std::env::consts::ARCH.try_into().map_err(|_| FilterError::Architecture)?;
    for filter in compile(lists, mode, executes, arch)? {
        seccompiler::apply_filter_all_threads(&filter)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_compiles_for_each_architecture() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            let names: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
            for name in &names {
                for mode in [SeccompMode::Kill, SeccompMode::Errno, SeccompMode::Log] {
                    let filters = compile(&[name], mode, false, arch);
                    let filters = filters.unwrap_or_else(|e| panic!("{name}, {arch:?}: {e}"));
                    assert!(filters.iter().all(|filter| !filter.is_empty()), "{name}");
                }
            }
            // One process with all functions: the kernel limits a filter to 4096 instructions.
            let all = compile(&names, SeccompMode::Kill, true, arch).expect("all lists together");
            assert!(all.iter().all(|filter| filter.len() < 4096));
        }
    }

    #[test]
    fn no_list_has_what_an_attacker_needs() {
        let dangerous = [
            "ptrace",
            "process_vm_writev",
            "process_vm_readv",
            "mount",
            "umount2",
            "pivot_root",
            "chroot",
            "init_module",
            "finit_module",
            "delete_module",
            "kexec_load",
            "reboot",
            "setuid",
            "setresuid",
            "add_key",
            "keyctl",
            "userfaultfd",
            "io_uring_setup",
            "unshare",
            "swapon",
            "acct",
            "open_by_handle_at",
            "personality",
            "pidfd_getfd",
            "settimeofday",
        ];
        let programs = ["execve", "execveat", "fork", "vfork", "bpf", "perf_event_open", "setns"];
        for (list, text) in FILTERS {
            let names: Vec<&str> =
                text.lines().filter_map(|line| line.split_whitespace().next()).collect();
            for name in dangerous {
                // A process of the supervisor becomes another user before it does anything else.
                let allowed = list == "supervisor" && name == "setresuid";
                assert!(allowed || !names.contains(&name), "{list} has {name}");
            }
            for name in programs {
                let allowed = matches!(list, "upf" | "programs");
                assert!(allowed || !names.contains(&name), "{list} has {name}");
            }
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        for line in ["socket 0 ~ 1", "socket zero = 1", "clone 0 &", "prctl 0 = 1|x"] {
            assert!(parse("test", line, TargetArch::x86_64).is_err(), "{line}");
        }
    }
}

//! Kernel features that the programs need.
use libbpf_rs::libbpf_sys as sys;
use std::ffi::c_int;

/// The required features, with the first Linux that has each.
const NEEDED: [(Need, &str, &str); 9] = [
    (Need::Btf, "BTF of the kernel (CONFIG_DEBUG_INFO_BTF)", "5.2"),
    (Need::Helper(sys::BPF_FUNC_fib_lookup as c_int), "bpf_fib_lookup", "4.18"),
    (Need::Map(sys::BPF_MAP_TYPE_QUEUE as c_int), "maps that are queues", "4.20"),
    (Need::Helper(sys::BPF_FUNC_jiffies64 as c_int), "bpf_jiffies64", "5.6"),
    (Need::Map(sys::BPF_MAP_TYPE_RINGBUF as c_int), "ring buffers", "5.8"),
    (Need::Helper(sys::BPF_FUNC_ringbuf_reserve as c_int), "bpf_ringbuf_reserve", "5.8"),
    (Need::Helper(sys::BPF_FUNC_loop as c_int), "bpf_loop", "5.17"),
    (Need::Helper(sys::BPF_FUNC_xdp_load_bytes as c_int), "bpf_xdp_load_bytes", "5.18"),
    (Need::Map(sys::BPF_MAP_TYPE_ARRAY_OF_MAPS as c_int), "arrays of maps", "4.12"),
];

#[derive(Debug, Clone, Copy)]
enum Need {
    Btf,
    Helper(c_int),
    Map(c_int),
}

fn has(need: Need) -> Option<bool> {
    const XDP: sys::bpf_prog_type = sys::BPF_PROG_TYPE_XDP;
    let result = match need {
        Need::Btf => return Some(std::path::Path::new("/sys/kernel/btf/vmlinux").exists()),
        // SAFETY: the numbers are libbpf's own constants; no options are given.
        Need::Helper(id) => unsafe { sys::libbpf_probe_bpf_helper(XDP, id as _, std::ptr::null()) },
        // SAFETY: as above.
        Need::Map(kind) => unsafe { sys::libbpf_probe_bpf_map_type(kind as _, std::ptr::null()) },
    };
    // Negative: unknown, for example without permission.
    (result >= 0).then_some(result > 0)
}

fn lacking_of(has: impl Fn(Need) -> Option<bool>) -> Vec<String> {
    let lacks = NEEDED.iter().filter(|(need, ..)| has(*need) == Some(false));
    lacks.map(|(_, name, since)| format!("{name} (Linux {since})")).collect()
}

/// The required features that this kernel lacks, with the first Linux that has each.
pub fn lacking() -> Vec<String> {
    lacking_of(has)
}

/// The same as the end of a message; empty if none is missing.
pub(crate) fn lacks() -> String {
    let lacks = lacking();
    if lacks.is_empty() {
        String::new()
    } else {
        format!("; Linux {} lacks {}", kernel(), lacks.join(", "))
    }
}

/// The kernel's version.
pub fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_runs_the_programs_lacks_nothing() {
        assert_eq!(lacking(), [] as [String; 0], "on Linux {}", kernel());
    }

    #[test]
    fn missing_features_of_an_older_kernel_are_listed() {
        let before_5_17 = |need| match need {
            Need::Helper(id) => Some(
                ![sys::BPF_FUNC_loop as c_int, sys::BPF_FUNC_xdp_load_bytes as c_int].contains(&id),
            ),
            _ => Some(true),
        };
        assert_eq!(
            lacking_of(before_5_17),
            ["bpf_loop (Linux 5.17)", "bpf_xdp_load_bytes (Linux 5.18)"]
        );
        assert_eq!(lacking_of(|_| None), [] as [String; 0], "unknown features are not listed");
    }
}

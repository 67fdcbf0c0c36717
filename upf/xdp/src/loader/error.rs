//! Errors of loading and attaching programs.
use std::io;

/// Why programs are not loaded or attached.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The kernel refuses the programs or their tables.
    #[error("the XDP programs cannot be loaded: {0}{hint}{lacks}", hint = load_hint(.0), lacks =
        crate::loader::features::lacks())]
    Load(String),
    /// The kernel does not attach a program to an interface.
    #[error("the XDP program cannot be attached to {interface} ({mode}): {error}{hint}", hint =
        attach_hint(.error))]
    Attach {
        /// Name or index of the interface.
        interface: String,
        /// `native` or `generic`.
        mode: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
    /// A program cannot be pinned, or taken over from an earlier process.
    #[error(
        "{path} cannot be used to keep XDP programs: {error}; {hint}, or leave out upf.xdp.pin",
        hint = pin_hint(.error)
    )]
    Pin {
        /// The path of the pin.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// A table of the programs cannot be used.
    #[error("the XDP table {table} cannot be used: {error}")]
    Table {
        /// Its name.
        table: &'static str,
        /// Why.
        error: io::Error,
    },
}

fn load_hint(text: &str) -> &'static str {
    if text.contains("permitted") || text.contains("ermission") {
        "; run as root, or with the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
    } else if text.contains("Cannot allocate") {
        "; the tables do not fit into memory: make upf.xdp.sessions or upf.xdp.rules smaller"
    } else {
        "; they need Linux 6.1 or newer: set upf.datapath to kernel to go without them"
    }
}

fn attach_hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            "; another program is attached there: end it, or use another interface"
        }
        Some(libc::EPERM) => "; run as root, or with the capability CAP_NET_ADMIN",
        Some(libc::EOPNOTSUPP) => "; its driver has no XDP: set upf.xdp.mode to generic",
        Some(libc::ENODEV) => "; there is no such interface: change upf.xdp.interfaces",
        Some(libc::ERANGE | libc::EINVAL) => {
            "; its MTU may be too large for XDP: 3498 bytes fit everywhere"
        }
        _ => "",
    }
}

fn pin_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        // systemd mounts it for root alone.
        io::ErrorKind::PermissionDenied => "run as root, or with the capability CAP_DAC_OVERRIDE",
        _ => "mount bpffs (`mount -t bpf bpf /sys/fs/bpf`)",
    }
}

pub(crate) fn table_error(table: &'static str, error: libbpf_rs::Error) -> XdpError {
    XdpError::Table { table, error: io::Error::other(format!("{error:#}")) }
}

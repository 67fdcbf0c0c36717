//! The bpf(2) system call: maps, programs and attachments.
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const MAP_CREATE: i64 = 0;
const MAP_UPDATE_ELEM: i64 = 2;
const PROG_LOAD: i64 = 5;
const LINK_CREATE: i64 = 28;
pub(crate) const MAP_TYPE_ARRAY: u32 = 2;
pub(crate) const MAP_TYPE_XSKMAP: u32 = 17;
pub(crate) const MMAPABLE: u32 = 1 << 10;
pub(crate) const PROG_TYPE_XDP: u32 = 6;
pub(crate) const ATTACH_XDP: u32 = 37;

/// Calls bpf(2) with the first fields of its argument.
fn bpf<T>(command: i64, argument: &T) -> std::io::Result<i64> {
    // SAFETY: the kernel reads the given number of bytes, and their pointers are valid until the
    // end of the call.
    let outcome =
        unsafe { libc::syscall(libc::SYS_bpf, command, argument as *const T, size_of::<T>()) };
    if outcome < 0 { Err(std::io::Error::last_os_error()) } else { Ok(outcome) }
}

/// A command that returns a descriptor.
fn bpf_open<T>(command: i64, argument: &T) -> std::io::Result<OwnedFd> {
    let fd = bpf(command, argument)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

/// `union bpf_attr` of BPF_MAP_CREATE.
#[repr(C)]
struct MapAttributes {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

/// Creates a map with keys of four bytes.
pub(crate) fn make_map(
    kind: u32,
    value: u32,
    entries: u32,
    flags: u32,
    text: &str,
) -> std::io::Result<OwnedFd> {
    bpf_open(
        MAP_CREATE,
        &MapAttributes { kind, key: 4, value, entries, flags, inner: 0, node: 0, name: name(text) },
    )
}

/// `union bpf_attr` of BPF_PROG_LOAD, up to the attachment type.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log: [u32; 2],
    log_buffer: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    ifindex: u32,
    attach_type: u32,
}

/// Loads a program.
pub(crate) fn load(
    kind: u32,
    attach_type: u32,
    code: &[u64],
    text: &str,
) -> std::io::Result<OwnedFd> {
    let load = Load {
        kind,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel: 0,
        flags: 0,
        name: name(text),
        ifindex: 0,
        attach_type,
    };
    bpf_open(PROG_LOAD, &load)
}

/// `union bpf_attr` of BPF_LINK_CREATE; the remaining fields order tcx programs.
#[repr(C)]
struct Link {
    program: u32,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
    order: [u64; 2],
}

/// Attaches a program to an interface while the returned descriptor is open.
pub(crate) fn attach(
    program: &OwnedFd,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
) -> std::io::Result<OwnedFd> {
    let program = program.as_raw_fd() as u32;
    bpf_open(LINK_CREATE, &Link { program, ifindex, attach_type, flags, order: [0; 2] })
}

/// `union bpf_attr` of BPF_MAP_UPDATE_ELEM.
#[repr(C)]
struct Update {
    map: u32,
    rest: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Sets an entry of a map with values of four bytes.
pub(crate) fn set(map: &OwnedFd, key: u32, value: u32) -> std::io::Result<()> {
    let (map, key, value) =
        (map.as_raw_fd() as u32, (&raw const key) as u64, (&raw const value) as u64);
    bpf(MAP_UPDATE_ELEM, &Update { map, rest: 0, key, value, flags: 0 }).map(drop)
}

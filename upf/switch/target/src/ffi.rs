//! Bindings of `c/switch.h`.
#![allow(missing_docs)]
use std::ffi::{c_char, c_int, c_void};

#[repr(C)]
pub struct Field {
    pub name: *const c_char,
    pub bits: u32,
}
#[repr(C)]
pub struct Key {
    pub name: *const c_char,
    pub wildcard: i32,
}
#[repr(C)]
pub struct TableAction {
    pub name: *const c_char,
    pub in_entries: i32,
    pub by_default: i32,
}
#[repr(C)]
pub struct Entry {
    pub values: *const u64,
    pub masks: *const u64,
    pub priority: u32,
    pub action: u32,
    pub arguments: *const u64,
}
#[repr(C)]
pub struct Change {
    pub table: u32,
    pub before: *const Entry,
    pub after: *const Entry,
}
#[repr(C)]
pub struct Rebuild {
    pub table: u32,
    pub entries: *const Entry,
    pub count: u32,
}
#[repr(C)]
pub struct Meter {
    pub bytes_per_second: u64,
    pub burst: u64,
}
/// Counters of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Received frames.
    pub packets_in: u64,
    /// Received bytes.
    pub bytes_in: u64,
    /// Transmitted frames.
    pub packets_out: u64,
    /// Transmitted bytes.
    pub bytes_out: u64,
    /// Frames that bypassed the pipeline to the native path: truncated, or with a wrong header
    /// checksum.
    pub bypassed: u64,
    /// Frames of invalid length.
    pub runts: u64,
    /// Frames that the kernel or a ring rejected.
    pub refused: u64,
}

pub type Raw = c_void;

unsafe extern "C" {
    pub fn mswx_start(argc: c_int, argv: *const *const c_char) -> c_int;
    pub fn mswx_register_thread();
    pub fn mswx_trust_huge_pages();
    pub fn mswx_new(out: *mut *mut Raw, name: *const c_char, buffers: u32) -> c_int;
    pub fn mswx_struct(m: *mut Raw, name: *const c_char, fields: *const Field, n: u32) -> c_int;
    pub fn mswx_header(m: *mut Raw, name: *const c_char, of: *const c_char) -> c_int;
    pub fn mswx_metadata(m: *mut Raw, of: *const c_char) -> c_int;
    pub fn mswx_registers(m: *mut Raw, name: *const c_char, size: u32) -> c_int;
    pub fn mswx_meters(m: *mut Raw, name: *const c_char, size: u32) -> c_int;
    pub fn mswx_action(
        m: *mut Raw,
        name: *const c_char,
        arguments: *const c_char,
        instructions: *const *const c_char,
        n: u32,
    ) -> c_int;
    pub fn mswx_table(
        m: *mut Raw,
        name: *const c_char,
        keys: *const Key,
        n_keys: u32,
        actions: *const TableAction,
        n_actions: u32,
        by_default: *const c_char,
        constant: c_int,
        size: u32,
    ) -> c_int;
    pub fn mswx_apply(m: *mut Raw, instructions: *const *const c_char, n: u32) -> c_int;
    pub fn mswx_ring_ports(m: *mut Raw) -> c_int;
    pub fn mswx_memory_ports(m: *mut Raw, pcap: *const c_char, packets: u32) -> c_int;
    pub fn mswx_build(m: *mut Raw) -> c_int;
    pub fn mswx_load(
        m: *mut Raw,
        library: *const c_char,
        pcap: *const c_char,
        packets: u32,
    ) -> c_int;
    pub fn mswx_free(m: *mut Raw);
    pub fn mswx_table_number(m: *mut Raw, name: *const c_char) -> c_int;
    pub fn mswx_action_number(m: *mut Raw, name: *const c_char) -> c_int;
    pub fn mswx_commit(
        m: *mut Raw,
        changes: *const Change,
        n: u32,
        rebuilds: *const Rebuild,
        n_rebuilds: u32,
        failed: *mut u32,
    ) -> c_int;
    pub fn mswx_default(m: *mut Raw, table: u32, action: u32, arguments: *const u64) -> c_int;
    pub fn mswx_register_read(
        m: *mut Raw,
        name: *const c_char,
        index: u32,
        value: *mut u64,
    ) -> c_int;
    pub fn mswx_register_write(m: *mut Raw, name: *const c_char, index: u32, value: u64) -> c_int;
    pub fn mswx_meter_set(
        m: *mut Raw,
        name: *const c_char,
        index: u32,
        meter: *const Meter,
    ) -> c_int;
    pub fn mswx_inject(m: *mut Raw, port: u32, frame: *const u8, length: u32) -> c_int;
    pub fn mswx_queued(m: *mut Raw, port: u32) -> u32;
    pub fn mswx_collect(m: *mut Raw, port: u32, frame: *mut u8, size: u32) -> c_int;
    pub fn mswx_run(m: *mut Raw, instructions: u32);
    pub fn mswx_open_lane(m: *mut Raw, port: u32, ifindex: u32, queue: u32, bypass: c_int)
    -> c_int;
    pub fn mswx_live(
        m: *mut Raw,
        port: u32,
        program: c_int,
        area: c_int,
        interface: *const c_char,
    ) -> c_int;
    pub fn mswx_close_lanes(m: *mut Raw, port: u32);
    pub fn mswx_set_liveness(m: *mut Raw, at: *mut u64);
    pub fn mswx_spin(m: *mut Raw, nanoseconds: u64);
    pub fn mswx_set_wakeup(m: *mut Raw, fd: c_int);
    pub fn mswx_attach(m: *mut Raw, port: u32, fd: c_int, bypass: c_int);
    pub fn mswx_loop(m: *mut Raw, wake: c_int);
    pub fn mswx_end(m: *mut Raw);
    pub fn mswx_pause(m: *mut Raw);
    pub fn mswx_paused(m: *mut Raw);
    pub fn mswx_resume(m: *mut Raw);
    pub fn mswx_release(m: *mut Raw);
    pub fn mswx_measure(m: *mut Raw, nanoseconds: u64) -> u64;
    pub fn mswx_port_counters(m: *mut Raw, port: u32, counters: *mut PortCounters);
    pub fn mswx_absences(m: *mut Raw, times: *mut u64, longest: *mut u64);
    pub fn mswx_sink_packets(m: *mut Raw, port: u32, packets: *mut u64, bytes: *mut u64) -> c_int;
    pub fn mswx_version() -> *const c_char;
    #[cfg(test)]
    pub fn mswx_exact_new(key_size: u32, size: u32) -> *mut c_void;
    #[cfg(test)]
    pub fn mswx_exact_add(table: *mut c_void, key: u64, value: u64) -> c_int;
    #[cfg(test)]
    pub fn mswx_exact_del(table: *mut c_void, key: u64) -> c_int;
    #[cfg(test)]
    pub fn mswx_exact_find(table: *mut c_void, key: u64, value: *mut u64) -> c_int;
    #[cfg(test)]
    pub fn mswx_exact_free(table: *mut c_void);
}

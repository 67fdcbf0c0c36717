//! Telemetry of the programs (`bpf/telemetry.h`).
use crate::loader::Programs;
use crate::loader::error::table_error;
use crate::loader::table::Table;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBuffer, RingBufferBuilder};
use std::mem::offset_of;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

/// The tables of it.
pub(crate) struct TelemetryTables {
    pub lanes: MapHandle,
    pub session_drops: MapHandle,
    pub unmarked_peers: MapHandle,
    pub traces: MapHandle,
    pub captures: MapHandle,
    pub trace: Table<types::trace>,
}

/// Filter of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRequest {
    /// Also packets that are forwarded.
    pub forwarded: bool,
    /// Reasons of drops: bit n for the n-th.
    pub reasons: u32,
}

/// Packets of a session that were dropped for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionDrops {
    /// Index of the session, and its number among the sessions with this index.
    pub session: (u32, u32),
    /// Reason, as `enum drop` numbers them.
    pub reason: u32,
    /// How many.
    pub packets: u64,
}

/// The sampling rate of packet timing as a mask: one of `one_in` packets, rounded to a power of
/// two; 0 for none.
pub(crate) fn sample_mask(one_in: u32) -> u64 {
    if one_in == 0 { u64::MAX } else { u64::from(one_in).next_power_of_two() - 1 }
}

impl Programs {
    /// The sum of all CPUs' counters of packets and their time.
    ///
    /// # Errors
    /// If the kernel cannot read them.
    pub fn lanes(&self) -> Result<types::lane, XdpError> {
        const WORDS: usize = size_of::<types::lane>() / 8;
        let each = self.telemetry.lanes.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let each = each.map_err(|error| table_error("lanes", error))?.unwrap_or_default();
        let mut words = [0u64; WORDS];
        for cpu in each {
            for (sum, word) in words.iter_mut().zip(cpu.as_chunks::<8>().0) {
                *sum += u64::from_ne_bytes(*word);
            }
        }
        // SAFETY: the struct consists of 64-bit integers, as many as there are words.
        Ok(unsafe { std::mem::transmute::<[u64; WORDS], types::lane>(words) })
    }

    /// The drops of all sessions, of which the table holds the latest.
    pub fn session_drops(&self) -> Vec<SessionDrops> {
        let map = &self.telemetry.session_drops;
        let word = |bytes: &[u8], n: usize| {
            bytes.get(n * 4..n * 4 + 4).and_then(|o| <[u8; 4]>::try_from(o).ok())
        };
        let read = |key: Vec<u8>| {
            let value = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
            let word = |n| word(&key, n).map(u32::from_ne_bytes);
            let packets = u64::from_ne_bytes(value.get(..8)?.try_into().ok()?);
            Some(SessionDrops { session: (word(0)?, word(1)?), reason: word(2)?, packets })
        };
        map.keys().filter_map(read).collect()
    }

    /// Senders of packets without a QFI, and how many of these matched; the latest senders.
    pub fn unmarked_peers(&self) -> Vec<(IpAddr, u64)> {
        let map = &self.telemetry.unmarked_peers;
        let read = |key: Vec<u8>| {
            let value = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
            let peer = match <[u8; 16]>::try_from(key).ok()? {
                [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] => IpAddr::from([a, b, c, d]),
                address => IpAddr::from(address),
            };
            Some((peer, u64::from_ne_bytes(value.get(..8)?.try_into().ok()?)))
        };
        map.keys().filter_map(read).collect()
    }

    /// Starts or stops tracing.
    pub fn trace(&self, request: Option<TraceRequest>) {
        let set =
            |offset, value| self.telemetry.trace.u32(0, offset).store(value, Ordering::Relaxed);
        set(offset_of!(types::trace, reasons), request.map_or(0, |request| request.reasons));
        set(
            offset_of!(types::trace, wanted),
            request.map_or(0, |request| if request.forwarded { 2 } else { 1 }),
        );
    }

    /// Makes the programs capture this number of bytes of each N6 packet, or none.
    pub fn capture(&self, bytes: Option<u32>) {
        let place = self.telemetry.trace.u32(0, offset_of!(types::trace, capture));
        place.store(bytes.unwrap_or(0), Ordering::Relaxed);
    }

    /// A reader of the ring buffer of captured packets. `take` gets the time in nanoseconds since
    /// boot, the captured bytes, and the packet's length.
    ///
    /// # Errors
    /// If the kernel does not allow reading.
    pub fn captured(
        &self,
        mut take: impl FnMut(u64, &[u8], u32) + Send + 'static,
    ) -> Result<RingBuffer<'static>, XdpError> {
        let mut builder = RingBufferBuilder::new();
        let callback = move |bytes: &[u8]| {
            if let Some((head, packet)) = bytes.split_first_chunk::<16>() {
                let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *head;
                take(
                    u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                    packet,
                    u32::from_ne_bytes([i, j, k, l]),
                );
            }
            0
        };
        builder
            .add(&self.telemetry.captures, callback)
            .map_err(|error| table_error("captures", error))?;
        builder.build().map_err(|error| table_error("captures", error))
    }

    /// A reader of the ring buffer of traced packets. `take` gets the bytes of one `struct traced`.
    ///
    /// # Errors
    /// If the kernel does not allow reading.
    pub fn traces(
        &self,
        mut take: impl FnMut(types::traced) + Send + 'static,
    ) -> Result<RingBuffer<'static>, XdpError> {
        let mut builder = RingBufferBuilder::new();
        let callback = move |bytes: &[u8]| {
            if bytes.len() >= size_of::<types::traced>() {
                // SAFETY: the bytes have the length of the struct, which consists of integers, so
                // any bytes are valid. It may be unaligned.
                take(unsafe { bytes.as_ptr().cast::<types::traced>().read_unaligned() });
            }
            0
        };
        builder
            .add(&self.telemetry.traces, callback)
            .map_err(|error| table_error("traces", error))?;
        builder.build().map_err(|error| table_error("traces", error))
    }
}

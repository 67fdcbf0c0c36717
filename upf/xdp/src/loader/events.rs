//! Counters, events and clock of the programs, and invalidation of next hops.
use crate::loader::clock::tick;
use crate::loader::error::table_error;
use crate::loader::{Program, Programs};
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, RingBuffer, RingBufferBuilder};
use martlet_bpf::Run;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

impl Programs {
    /// Invalidates the cached next hops.
    pub fn forget_hops(&self) {
        self.generation().fetch_add(1, Ordering::Relaxed);
    }

    /// The sum of all CPUs' counters.
    ///
    /// # Errors
    /// If the kernel cannot read them.
    pub fn stats(&self) -> Result<types::stats, XdpError> {
        let each = self.stats.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let each = each.map_err(|error| table_error("stats", error))?.unwrap_or_default();
        let mut words = [0u64; size_of::<types::stats>() / 8];
        for cpu in each {
            for (sum, word) in words.iter_mut().zip(cpu.as_chunks::<8>().0) {
                *sum += u64::from_ne_bytes(*word);
            }
        }
        // SAFETY: the struct consists of 64-bit integers, as many as there are words.
        Ok(unsafe {
            std::mem::transmute::<[u64; size_of::<types::stats>() / 8], types::stats>(words)
        })
    }

    /// A reader of the ring buffer. `take` gets the bytes of an event: a `struct event` and its
    /// data.
    ///
    /// # Errors
    /// If the kernel does not allow reading.
    pub fn ring(
        &self,
        mut take: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<RingBuffer<'static>, XdpError> {
        let mut builder = RingBufferBuilder::new();
        let callback = move |bytes: &[u8]| {
            take(bytes);
            0
        };
        builder.add(&self.events, callback).map_err(|error| table_error("events", error))?;
        builder.build().map_err(|error| table_error("events", error))
    }

    /// The programs' time, in ticks, and how long one of them is in nanoseconds.
    ///
    /// # Errors
    /// If the kernel cannot read them.
    pub fn clock(&self) -> Result<(u64, u32), XdpError> {
        self.test_run(Program::Clock, Run { frame: &[0; 14], ifindex: 0 }, 1, &mut [0; 64])?;
        Ok((self.globals.u64(0, offset_of!(types::globals, ticks)).load(Ordering::Relaxed), tick()))
    }

    fn generation(&self) -> &std::sync::atomic::AtomicU32 {
        self.globals.u32(0, offset_of!(types::globals, generation))
    }
}

//! The control memory of the programs: `struct control` of `bpf/pipeline.h`.
use crate::error::XdpError;
use crate::ports::PORTS;
use martlet_bpf::Memory;
use std::sync::atomic::AtomicU32;

/// Its size in bytes, and the offset of its last words.
const BYTES: usize = WORK + 8;
const WORK: usize = 8 + 8 * PORTS as usize;

/// How the program treats frames of BPF_PROG_TEST_RUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Work {
    /// Replaced by frames from shared memory.
    Inject = 1,
    /// Replaced by held frames.
    Drain = 2,
}

/// The words.
#[derive(Debug)]
pub(crate) struct Control {
    words: Memory,
}

impl Control {
    pub fn new(map: impl Fn(&str, usize) -> Result<Memory, XdpError>) -> Result<Control, XdpError> {
        let control = Control { words: map(".data.control", BYTES)? };
        for port in 0..PORTS {
            control.bypass(port).store(PORTS, std::sync::atomic::Ordering::Release);
        }
        Ok(control)
    }

    /// The copy of the tables that packets use.
    pub fn active(&self) -> &AtomicU32 {
        self.words.u32(0)
    }

    /// The next frame to inject.
    pub fn next(&self) -> &AtomicU32 {
        self.words.u32(4)
    }

    /// Sets the treatment of such frames; one thread at a time uses it.
    pub fn work(&self, work: Work) {
        self.words.u32(WORK).store(work as u32, std::sync::atomic::Ordering::Release);
    }

    /// The interface index of a port; 0 is none.
    pub fn ifindex(&self, port: u32) -> &AtomicU32 {
        self.words.u32(8 + 8 * port as usize)
    }

    /// The bypass port of a port.
    pub fn bypass(&self, port: u32) -> &AtomicU32 {
        self.words.u32(12 + 8 * port as usize)
    }
}

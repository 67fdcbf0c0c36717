//! What user space says to the programs: `struct control` of `bpf/pipeline.h`.
use crate::error::XdpError;
use crate::switch::PORTS;
use martlet_bpf::Memory;
use std::sync::atomic::AtomicU32;

/// Octets of it, and of what is in front of its last words.
const OCTETS: usize = WORK + 8;
const WORK: usize = 8 + 8 * PORTS as usize;

/// What is done with frames that the kernel runs the program on for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Work {
    /// They are taken out of memory: frames of ours.
    Again = 1,
    /// They become those that wait.
    Drain = 2,
}

/// The words.
#[derive(Debug)]
pub(crate) struct Control {
    words: Memory,
}

impl Control {
    pub fn new(map: impl Fn(&str, usize) -> Result<Memory, XdpError>) -> Result<Control, XdpError> {
        let control = Control { words: map(".data.control", OCTETS)? };
        for port in 0..PORTS {
            control.bypass(port).store(PORTS, std::sync::atomic::Ordering::Release);
        }
        Ok(control)
    }

    /// Which copy of the tables packets meet.
    pub fn active(&self) -> &AtomicU32 {
        self.words.u32(0)
    }

    /// The next frame of ours.
    pub fn next(&self) -> &AtomicU32 {
        self.words.u32(4)
    }

    /// Has the program do this with such frames from here on; one thread has them at a time.
    pub fn work(&self, work: Work) {
        self.words.u32(WORK).store(work as u32, std::sync::atomic::Ordering::Release);
    }

    /// The interface of a port; 0 is none.
    pub fn ifindex(&self, port: u32) -> &AtomicU32 {
        self.words.u32(8 + 8 * port as usize)
    }

    /// Where frames of a port go that the pipeline must not see.
    pub fn bypass(&self, port: u32) -> &AtomicU32 {
        self.words.u32(12 + 8 * port as usize)
    }
}

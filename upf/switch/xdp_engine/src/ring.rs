//! Frames from programs to user space: a BPF ring buffer (Linux, Documentation/bpf/ringbuf.rst).
use libbpf_rs::MapHandle;
use martlet_bpf::{Access, Memory};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

const PAGE: usize = 4096;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Size of a record header in bytes: length and page offset.
const HEADER: usize = 8;

/// Our end of the ring.
#[derive(Debug)]
pub(crate) struct Ring {
    map: MapHandle,
    consumer: Memory,
    /// The producer position, followed by the data, mapped twice so that records are contiguous.
    rest: Memory,
    bytes: usize,
}

impl Ring {
    /// Maps a ring of a size in bytes.
    pub fn map(map: MapHandle, bytes: usize) -> io::Result<Ring> {
        let consumer = Memory::map(map.as_fd(), 0, PAGE, Access::ReadWrite)?;
        let rest = Memory::map(map.as_fd(), PAGE, PAGE + 2 * bytes, Access::Read)?;
        Ok(Ring { map, consumer, rest, bytes })
    }

    /// Passes each available frame to `each`, in order, and returns their number.
    pub fn take(&mut self, mut each: impl FnMut(Vec<u8>)) -> u64 {
        let mut at = self.consumer.u64(0).load(Ordering::Relaxed);
        let mut n = 0;
        while at < self.rest.u64(0).load(Ordering::Acquire) {
            let offset = PAGE + (at as usize & (self.bytes - 1));
            let length = self.rest.u32(offset).load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 {
                // `struct record` of bpf/ports.h: length, a gap, and the frame.
                let frame = self.rest.u32(offset + HEADER).load(Ordering::Relaxed) as usize;
                let mut taken = vec![0; frame.min(bytes.saturating_sub(8))];
                self.rest.read(offset + HEADER + 8, &mut taken);
                each(taken);
                n += 1;
            }
            at += (bytes + HEADER).next_multiple_of(8) as u64;
            self.consumer.u64(0).store(at, Ordering::Release);
        }
        n
    }
}

impl AsFd for Ring {
    /// Readable while a frame is available.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

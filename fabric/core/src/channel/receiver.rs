//! The receiving side of a channel: assembles frames from descriptors and buffers. Everything that
//! the peer wrote is copied once and checked before use.
use super::descriptor::{Descriptor, FrameHeader, Payload};
use super::violation::Violation;
use crate::memory::copy;
use crate::memory::layout::Layout;
use crate::memory::mapping::{Buffers, DirectionMemory, SharedRing};
use crate::memory::ring::{Consumer, Producer};

/// A whole frame in private memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The header.
    pub head: FrameHeader,
    /// The payload.
    pub bytes: Vec<u8>,
}

struct Partial {
    head: FrameHeader,
    total: usize,
    bytes: Vec<u8>,
}

/// The receiving side.
pub struct Receiver {
    ring: Consumer<SharedRing<8>, 8>,
    returns: Producer<SharedRing<1>, 1>,
    buffers: Buffers,
    max_frame_bytes: usize,
    /// The frame whose pieces are being received. Pieces of different frames never interleave.
    partial: Option<Partial>,
}

impl Receiver {
    pub(super) fn new(memory: DirectionMemory, layout: &Layout) -> Self {
        Receiver {
            ring: Consumer::new(memory.ring),
            returns: Producer::new(memory.returns),
            buffers: memory.buffers,
            max_frame_bytes: layout.sizes().frame as usize,
            partial: None,
        }
    }

    /// Whether the peer has published descriptors.
    pub fn has_frames(&mut self) -> Result<bool, Violation> {
        Ok(self.ring.filled()? > 0)
    }

    /// The next whole frame, if one is complete.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Violation> {
        while let Some(words) = self.ring.pop()? {
            let descriptor = Descriptor::from_words(&words).ok_or(Violation::Descriptor)?;
            if let Some(frame) = self.append(descriptor)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Returns the consumed slots to the peer. Returns whether there were any.
    pub fn publish(&mut self) -> bool {
        self.ring.publish()
    }

    fn append(&mut self, descriptor: Descriptor) -> Result<Option<Frame>, Violation> {
        let Descriptor { head, first, last, total, payload } = descriptor;
        let total = total as usize;
        let mut partial = match self.partial.take() {
            None if first && total <= self.max_frame_bytes => {
                // Reserve memory only for a frame of one piece: the announced total is untrusted.
                let now = if last { total } else { 0 };
                Partial { head, total, bytes: Vec::with_capacity(now) }
            }
            Some(partial) if !first && partial.head == head && partial.total == total => partial,
            _ => return Err(Violation::Frame),
        };
        match payload {
            Payload::Inline(length, bytes) => {
                // Only a whole frame lies in its descriptor. Empty pieces without end would keep
                // this thread here.
                if !(first && last) {
                    return Err(Violation::Frame);
                }
                partial.bytes.extend_from_slice(&bytes[..usize::from(length)])
            }
            Payload::Buffer(id, length) => {
                let words = self.buffers.get(id).ok_or(Violation::Buffer)?;
                let (length, size) = (length as usize, words.len() * 8);
                // All pieces but the last one fill their buffers, which bounds their number.
                if length > size || length == 0 || !last && length < size {
                    return Err(Violation::Buffer);
                }
                copy::from_shared(words, length, &mut partial.bytes);
                // The ring has a slot for each buffer: if it is full, the peer sent a buffer
                // twice.
                if !self.returns.push(&[u64::from(id.0)])? {
                    return Err(Violation::Return);
                }
            }
        }
        match (last, partial.bytes.len().cmp(&partial.total)) {
            (true, std::cmp::Ordering::Equal) => {
                Ok(Some(Frame { head: partial.head, bytes: partial.bytes }))
            }
            (false, std::cmp::Ordering::Less) => {
                self.partial = Some(partial);
                Ok(None)
            }
            _ => Err(Violation::Frame),
        }
    }
}

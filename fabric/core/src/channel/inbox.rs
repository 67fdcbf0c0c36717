//! The receiving side of a channel: descriptors and buffers become frames. Whatever the peer wrote
//! is copied once and checked before it is used.
use super::descriptor::{Descriptor, Head, Place};
use super::violation::Violation;
use crate::memory::layout::Layout;
use crate::memory::mapping::{Buffers, DirectionMemory, SharedRing};
use crate::memory::octets;
use crate::memory::ring::{Consumer, Producer};

/// A whole frame, in private memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is about.
    pub head: Head,
    /// Its octets.
    pub octets: Vec<u8>,
}

struct Partial {
    head: Head,
    total: usize,
    octets: Vec<u8>,
}

/// The receiving side.
pub struct Inbox {
    ring: Consumer<SharedRing<8>, 8>,
    returns: Producer<SharedRing<1>, 1>,
    buffers: Buffers,
    longest: usize,
    /// The frame whose pieces are coming. There is never more than one: pieces of different frames
    /// do not mix.
    partial: Option<Partial>,
}

impl Inbox {
    pub(super) fn new(memory: DirectionMemory, layout: &Layout) -> Self {
        Inbox {
            ring: Consumer::new(memory.ring),
            returns: Producer::new(memory.returns),
            buffers: memory.buffers,
            longest: layout.sizes().frame as usize,
            partial: None,
        }
    }

    /// Whether the peer has published something.
    pub fn has_some(&mut self) -> Result<bool, Violation> {
        Ok(self.ring.filled()? > 0)
    }

    /// The next whole frame, if it is there.
    pub fn take_next(&mut self) -> Result<Option<Frame>, Violation> {
        while let Some(words) = self.ring.pop()? {
            let descriptor = Descriptor::from_words(&words).ok_or(Violation::Descriptor)?;
            if let Some(frame) = self.take(descriptor)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Gives the slots of the frames taken back to the peer; whether there were any.
    pub fn publish(&mut self) -> bool {
        self.ring.publish()
    }

    fn take(&mut self, descriptor: Descriptor) -> Result<Option<Frame>, Violation> {
        let Descriptor { head, first, last, total, place } = descriptor;
        let total = total as usize;
        let mut partial = match self.partial.take() {
            None if first && total <= self.longest => {
                // Room is made for what is announced only as far as it comes in one piece.
                let now = if last { total } else { 0 };
                Partial { head, total, octets: Vec::with_capacity(now) }
            }
            Some(partial) if !first && partial.head == head && partial.total == total => partial,
            _ => return Err(Violation::Frame),
        };
        match place {
            Place::Inline(length, octets) => {
                partial.octets.extend_from_slice(&octets[..usize::from(length)])
            }
            Place::Buffer(id, length) => {
                let words = self.buffers.get(id).ok_or(Violation::Buffer)?;
                let length = length as usize;
                if length > words.len() * 8 || length == 0 {
                    return Err(Violation::Buffer);
                }
                octets::read(words, length, &mut partial.octets);
                // There is a slot for each buffer that exists: a full ring means that one came
                // twice.
                if !self.returns.push(&[u64::from(id.0)])? {
                    return Err(Violation::Return);
                }
            }
        }
        match (last, partial.octets.len().cmp(&partial.total)) {
            (true, std::cmp::Ordering::Equal) => {
                Ok(Some(Frame { head: partial.head, octets: partial.octets }))
            }
            (false, std::cmp::Ordering::Less) => {
                self.partial = Some(partial);
                Ok(None)
            }
            _ => Err(Violation::Frame),
        }
    }
}

//! The sending side of a channel: frames become descriptors and buffers, and wait where there is
//! neither.
use super::descriptor::{Descriptor, Head, INLINE, Place};
use super::violation::Violation;
use crate::memory::layout::Layout;
use crate::memory::mapping::{Buffers, DirectionMemory, SharedRing};
use crate::memory::octets;
use crate::memory::pool::{BufferId, Pool};
use crate::memory::ring::{Consumer, Producer};
use std::collections::VecDeque;

struct Waiting {
    head: Head,
    octets: Vec<u8>,
    sent: usize,
}

impl Waiting {
    /// Octets of memory, about: a frame without octets has some too.
    fn weight(&self) -> usize {
        self.octets.len() + size_of::<Waiting>()
    }
}

/// The sending side. Its account of buffers and what waits are in private memory.
pub struct Outbox {
    ring: Producer<SharedRing<8>, 8>,
    returns: Consumer<SharedRing<1>, 1>,
    buffers: Buffers,
    pool: Pool,
    waiting: VecDeque<Waiting>,
    waiting_weight: usize,
    published: bool,
}

impl Outbox {
    pub(super) fn new(memory: DirectionMemory, layout: &Layout) -> Self {
        Outbox {
            ring: Producer::new(memory.ring),
            returns: Consumer::new(memory.returns),
            buffers: memory.buffers,
            pool: Pool::new(&layout.sizes().classes),
            waiting: VecDeque::new(),
            waiting_weight: 0,
            published: false,
        }
    }

    /// Octets of memory of the frames that wait for slots or buffers, the part that is on its way
    /// included.
    pub fn backlog(&self) -> usize {
        self.waiting_weight
    }

    /// Whether frames wait for slots or buffers.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Buffers that the peer has.
    pub fn lent(&self) -> u32 {
        self.pool.lent()
    }

    /// Whether descriptors were published since the last call.
    pub fn take_published(&mut self) -> bool {
        std::mem::take(&mut self.published)
    }

    /// Sends a frame: at once where there is room, else when [`Outbox::flush`] finds some. Frames
    /// stay in order.
    pub fn send(&mut self, head: Head, octets: &[u8]) -> Result<(), Violation> {
        let stuck = if self.waiting.is_empty() { self.place(head, octets, 0)? } else { Some(0) };
        if let Some(sent) = stuck {
            let waiting = Waiting { head, octets: octets.to_vec(), sent };
            self.waiting_weight += waiting.weight();
            self.waiting.push_back(waiting);
        }
        Ok(())
    }

    /// Sends what there is room for, as a frame of its own, and says how much that was; nothing
    /// where frames wait.
    pub fn send_some(&mut self, head: Head, octets: &[u8]) -> Result<usize, Violation> {
        if !self.waiting.is_empty() || self.ring.room(1)? == 0 {
            return Ok(0);
        }
        if octets.len() <= INLINE {
            self.push_inline(head, octets)?;
            return Ok(octets.len());
        }
        let Some((id, size)) = self.take_buffer(octets.len())? else { return Ok(0) };
        let piece = &octets[..octets.len().min(size as usize)];
        self.push_buffer(head, id, piece, true, true, piece.len())?;
        Ok(piece.len())
    }

    /// Sends what waits, as far as there is room.
    pub fn flush(&mut self) -> Result<(), Violation> {
        while let Some(waiting) = self.waiting.pop_front() {
            if let Some(sent) = self.place(waiting.head, &waiting.octets, waiting.sent)? {
                self.waiting.push_front(Waiting { sent, ..waiting });
                break;
            }
            self.waiting_weight -= waiting.weight();
        }
        Ok(())
    }

    /// Takes back the buffers that the peer has returned.
    pub fn reclaim(&mut self) -> Result<(), Violation> {
        while let Some([number]) = self.returns.pop()? {
            let id = u32::try_from(number).map_err(|_| Violation::Return)?;
            self.pool.put(BufferId(id))?;
        }
        self.returns.publish();
        Ok(())
    }

    /// Places the pieces of a frame from octet `at` on. Returns how far it got, or `None` where
    /// that is to the end.
    fn place(
        &mut self,
        head: Head,
        octets: &[u8],
        mut at: usize,
    ) -> Result<Option<usize>, Violation> {
        loop {
            if self.ring.room(1)? == 0 {
                return Ok(Some(at));
            }
            if octets.len() <= INLINE {
                self.push_inline(head, octets)?;
                return Ok(None);
            }
            let rest = octets.get(at..).unwrap_or_default();
            let Some((id, size)) = self.take_buffer(rest.len())? else { return Ok(Some(at)) };
            let piece = &rest[..rest.len().min(size as usize)];
            let last = piece.len() == rest.len();
            self.push_buffer(head, id, piece, at == 0, last, octets.len())?;
            if last {
                return Ok(None);
            }
            at += piece.len();
        }
    }

    /// A buffer for as many of `octets` as it holds. One that was in use before is preferred to one
    /// whose memory was never touched: so a channel has no more pages than it needed at one
    /// time.
    fn take_buffer(&mut self, octets: usize) -> Result<Option<(BufferId, u32)>, Violation> {
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        if !self.pool.has_warm(octets) {
            self.reclaim()?;
        }
        Ok(self.pool.get(octets))
    }

    fn push_inline(&mut self, head: Head, octets: &[u8]) -> Result<(), Violation> {
        let mut inline = [0; INLINE];
        inline[..octets.len()].copy_from_slice(octets);
        let place = Place::Inline(octets.len() as u8, inline);
        self.push(Descriptor { head, first: true, last: true, total: octets.len() as u32, place })
    }

    fn push_buffer(
        &mut self,
        head: Head,
        id: BufferId,
        piece: &[u8],
        first: bool,
        last: bool,
        total: usize,
    ) -> Result<(), Violation> {
        octets::write(self.buffers.get(id).ok_or(Violation::Buffer)?, piece);
        let place = Place::Buffer(id, piece.len() as u32);
        self.push(Descriptor { head, first, last, total: total as u32, place })
    }

    fn push(&mut self, descriptor: Descriptor) -> Result<(), Violation> {
        self.published = true;
        // The callers have seen a free slot, and only this side fills slots.
        if self.ring.push(&descriptor.to_words())? { Ok(()) } else { Err(Violation::Index) }
    }
}

//! The sending side of a channel: splits frames into descriptors and buffers, and queues what finds
//! no room.
use super::descriptor::{Descriptor, FrameHeader, INLINE_BYTES, Payload};
use super::violation::Violation;
use crate::memory::copy;
use crate::memory::layout::Layout;
use crate::memory::mapping::{Buffers, DirectionMemory, SharedRing};
use crate::memory::pool::{BufferId, Pool};
use crate::memory::ring::{Consumer, Producer};
use std::collections::VecDeque;

struct QueuedFrame {
    head: FrameHeader,
    bytes: Vec<u8>,
    sent: usize,
}

impl QueuedFrame {
    /// Approximate memory in bytes, so that empty frames count too.
    fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of::<QueuedFrame>()
    }
}

/// The sending side. Its free lists and its queue lie in private memory.
pub struct Sender {
    ring: Producer<SharedRing<8>, 8>,
    returns: Consumer<SharedRing<1>, 1>,
    buffers: Buffers,
    pool: Pool,
    queue: VecDeque<QueuedFrame>,
    queued_bytes: usize,
    published: bool,
}

impl Sender {
    pub(super) fn new(memory: DirectionMemory, layout: &Layout) -> Self {
        Sender {
            ring: Producer::new(memory.ring),
            returns: Consumer::new(memory.returns),
            buffers: memory.buffers,
            pool: Pool::new(&layout.sizes().classes),
            queue: VecDeque::new(),
            queued_bytes: 0,
            published: false,
        }
    }

    /// Memory in bytes of the queued frames. A partly sent frame counts as a whole.
    pub fn backlog(&self) -> usize {
        self.queued_bytes
    }

    /// Whether frames wait for slots or buffers.
    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Number of buffers that the peer holds.
    pub fn lent(&self) -> u32 {
        self.pool.lent()
    }

    /// Whether descriptors were published since the last call.
    pub fn take_published(&mut self) -> bool {
        std::mem::take(&mut self.published)
    }

    /// Sends a frame if there is room, else queues it for [`Sender::flush`]. Frames stay in order.
    pub fn send(&mut self, head: FrameHeader, bytes: &[u8]) -> Result<(), Violation> {
        let unsent_from =
            if self.queue.is_empty() { self.send_from(head, bytes, 0)? } else { Some(0) };
        if let Some(sent) = unsent_from {
            let frame = QueuedFrame { head, bytes: bytes.to_vec(), sent };
            self.queued_bytes += frame.memory_bytes();
            self.queue.push_back(frame);
        }
        Ok(())
    }

    /// Sends the part of `bytes` that there is room for as one frame, and returns its length; 0 if
    /// frames are queued.
    pub fn send_some(&mut self, head: FrameHeader, bytes: &[u8]) -> Result<usize, Violation> {
        if !self.queue.is_empty() || self.ring.room(1)? == 0 {
            return Ok(0);
        }
        if bytes.len() <= INLINE_BYTES {
            self.push_inline(head, bytes)?;
            return Ok(bytes.len());
        }
        let Some((id, size)) = self.take_buffer(bytes.len())? else { return Ok(0) };
        let piece = &bytes[..bytes.len().min(size as usize)];
        self.push_buffer(head, id, piece, true, true, piece.len())?;
        Ok(piece.len())
    }

    /// Sends queued frames as far as there is room.
    pub fn flush(&mut self) -> Result<(), Violation> {
        while let Some(frame) = self.queue.pop_front() {
            if let Some(sent) = self.send_from(frame.head, &frame.bytes, frame.sent)? {
                self.queue.push_front(QueuedFrame { sent, ..frame });
                break;
            }
            self.queued_bytes -= frame.memory_bytes();
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

    /// Sends the pieces of a frame from byte `at` on. Returns the first unsent byte, or `None` if
    /// the whole frame was sent.
    fn send_from(
        &mut self,
        head: FrameHeader,
        bytes: &[u8],
        mut at: usize,
    ) -> Result<Option<usize>, Violation> {
        loop {
            if self.ring.room(1)? == 0 {
                return Ok(Some(at));
            }
            if bytes.len() <= INLINE_BYTES {
                self.push_inline(head, bytes)?;
                return Ok(None);
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let Some((id, size)) = self.take_buffer(rest.len())? else { return Ok(Some(at)) };
            let piece = &rest[..rest.len().min(size as usize)];
            let last = piece.len() == rest.len();
            self.push_buffer(head, id, piece, at == 0, last, bytes.len())?;
            if last {
                return Ok(None);
            }
            at += piece.len();
        }
    }

    /// Takes a buffer for up to `bytes` bytes. Reuses buffers before it takes one that was never
    /// used, so a channel occupies no more pages than its peak use needed.
    fn take_buffer(&mut self, bytes: usize) -> Result<Option<(BufferId, u32)>, Violation> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if !self.pool.has_warm(bytes) {
            self.reclaim()?;
        }
        Ok(self.pool.get(bytes))
    }

    fn push_inline(&mut self, head: FrameHeader, bytes: &[u8]) -> Result<(), Violation> {
        let mut inline = [0; INLINE_BYTES];
        inline[..bytes.len()].copy_from_slice(bytes);
        let payload = Payload::Inline(bytes.len() as u8, inline);
        self.push(Descriptor { head, first: true, last: true, total: bytes.len() as u32, payload })
    }

    fn push_buffer(
        &mut self,
        head: FrameHeader,
        id: BufferId,
        piece: &[u8],
        first: bool,
        last: bool,
        total: usize,
    ) -> Result<(), Violation> {
        copy::to_shared(self.buffers.get(id).ok_or(Violation::Buffer)?, piece);
        let payload = Payload::Buffer(id, piece.len() as u32);
        self.push(Descriptor { head, first, last, total: total as u32, payload })
    }

    fn push(&mut self, descriptor: Descriptor) -> Result<(), Violation> {
        self.published = true;
        // The callers checked for a free slot, and only this side fills slots.
        if self.ring.push(&descriptor.to_words())? { Ok(()) } else { Err(Violation::Index) }
    }
}

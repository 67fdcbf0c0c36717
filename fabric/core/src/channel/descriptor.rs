//! The encoding of one slot of the descriptor ring: a whole short frame, or one piece of a frame
//! and the buffer that holds it.
use crate::memory::pool::BufferId;

/// Maximum length in bytes of a frame that is stored in its descriptor.
pub const INLINE_BYTES: usize = 40;

/// The type of a frame. The discriminant is the encoded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// A request.
    Request = 1,
    /// The response to a request of the receiver.
    Response = 2,
    /// The sender cancels its request.
    Cancel = 3,
    /// The receiver's request was refused without being processed; it may be retried.
    Refused = 4,
    /// The sender opens a connection.
    Connect = 8,
    /// The connection is accepted.
    Accept = 9,
    /// Data of a connection.
    Data = 10,
    /// The sender grants credit for more data of a connection.
    Credit = 11,
    /// The sender sends no more data on a connection.
    Finish = 12,
    /// The connection is aborted.
    Reset = 13,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<FrameKind> {
        use FrameKind::*;
        let all =
            [Request, Response, Cancel, Refused, Connect, Accept, Data, Credit, Finish, Reset];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The type of a frame, and the call or connection that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The type.
    pub kind: FrameKind,
    /// Whether the sender allocated the number; otherwise the receiver did.
    pub own: bool,
    /// Number of the call or connection.
    pub stream: u32,
}

/// The bytes that a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The given number of bytes, stored in the descriptor.
    Inline(u8, [u8; INLINE_BYTES]),
    /// The given number of bytes from the start of a buffer.
    Buffer(BufferId, u32),
}

/// One slot of the descriptor ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The frame's header.
    pub head: FrameHeader,
    /// Whether this is the first piece of the frame.
    pub first: bool,
    /// Whether this is the last piece of the frame.
    pub last: bool,
    /// Length of the whole frame in bytes.
    pub total: u32,
    /// The bytes of this piece.
    pub payload: Payload,
}

const FIRST: u8 = 1;
const LAST: u8 = 2;
const OWN: u8 = 4;
const BUFFER: u8 = 8;

impl Descriptor {
    /// Encodes the descriptor in native byte order; both ends are on one machine.
    ///
    /// | word | content, from the least significant bit |
    /// | --- | --- |
    /// | 0 | kind, flags and inline length (8 bits each), 8 unused bits, buffer number (32 bits) |
    /// | 1 | stream, total length (32 bits each) |
    /// | 2 | length of the piece in its buffer |
    /// | 3 to 7 | inline bytes |
    pub fn to_words(&self) -> [u64; 8] {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let mut flags = flag(self.first, FIRST) | flag(self.last, LAST) | flag(self.head.own, OWN);
        let mut words = [0; 8];
        let (mut inline, mut buffer) = (0, 0);
        match &self.payload {
            Payload::Inline(length, bytes) => {
                inline = *length;
                for (word, chunk) in words[3..].iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*chunk);
                }
            }
            Payload::Buffer(id, length) => {
                (buffer, flags) = (id.0, flags | BUFFER);
                words[2] = u64::from(*length);
            }
        }
        words[0] = u64::from(self.head.kind as u8)
            | u64::from(flags) << 8
            | u64::from(inline) << 16
            | u64::from(buffer) << 32;
        words[1] = u64::from(self.head.stream) | u64::from(self.total) << 32;
        words
    }

    /// Decodes words that a peer wrote. `None` if they are invalid. The caller checks the buffer
    /// number.
    pub fn from_words(words: &[u64; 8]) -> Option<Descriptor> {
        let byte = |n: u32| (words[0] >> (8 * n)) as u8;
        let (flags, inline) = (byte(1), byte(2));
        let head = FrameHeader {
            kind: FrameKind::from_byte(byte(0))?,
            own: flags & OWN != 0,
            stream: words[1] as u32,
        };
        let payload = if flags & BUFFER != 0 {
            Payload::Buffer(BufferId((words[0] >> 32) as u32), u32::try_from(words[2]).ok()?)
        } else {
            let mut bytes = [0; INLINE_BYTES];
            for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&words[3..]) {
                *chunk = word.to_ne_bytes();
            }
            Payload::Inline((usize::from(inline) <= INLINE_BYTES).then_some(inline)?, bytes)
        };
        let total = (words[1] >> 32) as u32;
        Some(Descriptor {
            head,
            first: flags & FIRST != 0,
            last: flags & LAST != 0,
            total,
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_words_decode_to_an_equal_descriptor_or_none(words: [u64; 8]) {
            if let Some(descriptor) = Descriptor::from_words(&words) {
                prop_assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }

        #[test]
        fn descriptors_survive_a_round_trip(
            stream: u32,
            total: u32,
            first: bool,
            last: bool,
            own: bool,
            id: u32,
            length: u32,
            short in 0..=INLINE_BYTES as u8,
        ) {
            let head = FrameHeader { kind: FrameKind::Data, own, stream };
            let inline = Payload::Inline(short, [0x5a; INLINE_BYTES]);
            for payload in [Payload::Buffer(BufferId(id), length), inline] {
                let descriptor = Descriptor { head, first, last, total, payload };
                prop_assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }
    }
}

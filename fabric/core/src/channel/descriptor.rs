//! What one slot of the ring says: a whole short frame, or a piece of a frame and the buffer that
//! it lies in.
use crate::memory::pool::BufferId;

/// Octets of a frame that need no buffer.
pub const INLINE: usize = 40;

/// What a frame is about. The number is what travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A service request.
    Request = 1,
    /// The answer to a request of the receiver.
    Response = 2,
    /// The sender no longer waits for the answer to its request.
    Cancel = 3,
    /// The request of the receiver was not looked at; it may be sent again.
    Refused = 4,
    /// The sender asks for a connection.
    Connect = 8,
    /// The connection is taken.
    Accept = 9,
    /// Octets of a connection.
    Data = 10,
    /// The sender has room for more octets of a connection.
    Credit = 11,
    /// No more octets will come on a connection.
    Finish = 12,
    /// A connection is no more.
    Reset = 13,
}

impl Kind {
    fn from_octet(octet: u8) -> Option<Kind> {
        use Kind::*;
        let all =
            [Request, Response, Cancel, Refused, Connect, Accept, Data, Credit, Finish, Reset];
        all.into_iter().find(|kind| *kind as u8 == octet)
    }
}

/// What a frame is about, and which call or connection it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What it is.
    pub kind: Kind,
    /// Whether the number is one that the sender gave out; else the receiver did.
    pub own: bool,
    /// Number of the call or connection.
    pub stream: u32,
}

/// Where the octets of a descriptor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the descriptor: the first so many.
    Inline(u8, [u8; INLINE]),
    /// In a buffer, from its start.
    Buffer(BufferId, u32),
}

/// One slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The frame.
    pub head: Head,
    /// Whether the frame begins here.
    pub first: bool,
    /// Whether the frame ends here.
    pub last: bool,
    /// Octets of the whole frame.
    pub total: u32,
    /// This piece of it.
    pub place: Place,
}

const FIRST: u8 = 1;
const LAST: u8 = 2;
const OWN: u8 = 4;
const BUFFER: u8 = 8;

impl Descriptor {
    /// As words: kind, flags, inline length (one octet each) and buffer in the first; stream and
    /// total in the second; length in the third; the inline octets in the others. Native byte
    /// order: both ends are on one machine.
    pub fn to_words(&self) -> [u64; 8] {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let mut flags = flag(self.first, FIRST) | flag(self.last, LAST) | flag(self.head.own, OWN);
        let mut words = [0; 8];
        let (mut inline, mut buffer) = (0, 0);
        match &self.place {
            Place::Inline(length, octets) => {
                inline = *length;
                for (word, chunk) in words[3..].iter_mut().zip(octets.as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*chunk);
                }
            }
            Place::Buffer(id, length) => {
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

    /// From words that a peer wrote; `None` where they make no sense. Whether the buffer exists is
    /// for the caller.
    pub fn from_words(words: &[u64; 8]) -> Option<Descriptor> {
        let octet = |n: u32| (words[0] >> (8 * n)) as u8;
        let (flags, inline) = (octet(1), octet(2));
        let head = Head {
            kind: Kind::from_octet(octet(0))?,
            own: flags & OWN != 0,
            stream: words[1] as u32,
        };
        let place = if flags & BUFFER != 0 {
            Place::Buffer(BufferId((words[0] >> 32) as u32), u32::try_from(words[2]).ok()?)
        } else {
            let mut octets = [0; INLINE];
            for (chunk, word) in octets.as_chunks_mut::<8>().0.iter_mut().zip(&words[3..]) {
                *chunk = word.to_ne_bytes();
            }
            Place::Inline((usize::from(inline) <= INLINE).then_some(inline)?, octets)
        };
        let total = (words[1] >> 32) as u32;
        Some(Descriptor { head, first: flags & FIRST != 0, last: flags & LAST != 0, total, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_words_are_a_descriptor_or_nothing(words: [u64; 8]) {
            if let Some(descriptor) = Descriptor::from_words(&words) {
                prop_assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }

        #[test]
        fn what_is_written_comes_back(
            stream: u32, total: u32, first: bool, last: bool, own: bool, id: u32, length: u32, short in 0..=INLINE as u8,
        ) {
            let head = Head { kind: Kind::Data, own, stream };
            for place in [Place::Buffer(BufferId(id), length), Place::Inline(short, [0x5a; INLINE])] {
                let descriptor = Descriptor { head, first, last, total, place };
                prop_assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }
    }
}

//! The messages in a stream of bytes.

use crate::{DecodeError, Message};

/// Collects received bytes and returns the messages in them. A message has no outer length, so
/// decoding it finds its end; TLS records and segments may end anywhere.
///
/// It buffers at most one incomplete message and the bytes pushed after it: push received bytes,
/// then take messages until there are none.
#[derive(Debug, Default)]
pub struct Framer {
    bytes: Vec<u8>,
    /// Where the next message starts.
    start: usize,
    failed: Option<DecodeError>,
}

impl Framer {
    /// A framer without input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The buffer that received bytes may be appended to, without the copy of [`Framer::push`].
    pub fn input(&mut self) -> &mut Vec<u8> {
        self.push(&[]);
        if self.failed.is_some() {
            self.bytes.clear();
            self.start = 0;
        }
        &mut self.bytes
    }

    /// A buffer for at least `max` received bytes. The caller fills it and calls
    /// [`Framer::filled`] with the count. It saves the copy of [`Framer::push`].
    pub fn room(&mut self, max: usize) -> &mut [u8] {
        self.push(&[]);
        let have = self.bytes.len();
        self.bytes.resize(have + max, 0);
        &mut self.bytes[have..]
    }

    /// States that `used` bytes were received into the last [`Framer::room`] of `max` bytes.
    ///
    /// # Panics
    /// If `used` exceeds `max`, or there was no such room.
    pub fn filled(&mut self, max: usize, used: usize) {
        assert!(used <= max && max <= self.bytes.len(), "{used} bytes in a room of {max}");
        self.bytes.truncate(self.bytes.len() - (max - used));
        if self.failed.is_some() {
            self.bytes.clear();
            self.start = 0;
        }
    }

    /// The next message; `None` while it is incomplete.
    ///
    /// # Errors
    /// The bytes are not a message, and on every later call: the start of the next message is
    /// unknown.
    #[expect(clippy::should_implement_trait, reason = "the message borrows from the framer")]
    pub fn next(&mut self) -> Result<Option<Message<'_>>, DecodeError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match Message::decode(&self.bytes[self.start..]) {
            Ok((message, used)) => {
                self.start += used;
                Ok(Some(message))
            }
            Err(DecodeError::Truncated) => Ok(None),
            Err(error) => {
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    /// The number of buffered bytes of an incomplete message.
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.start
    }
}

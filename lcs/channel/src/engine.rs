//! A TLS session without I/O.

use crate::{ChannelError, Description, Resumption};
use std::sync::Arc;

/// Makes the engine of each connection.
pub type Engines = Arc<dyn Fn() -> Result<Box<dyn Engine>, ChannelError> + Send + Sync>;

/// A TLS session: received wire bytes go in, wire bytes to send come out.
pub trait Engine: Send {
    /// Processes wire bytes and appends their plaintext to `plain`. Then send [`Engine::pending`],
    /// also after an error.
    ///
    /// # Errors
    /// TLS rejected them, and the session is over.
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Encrypts bytes and appends the records to `wire`. Only after [`Engine::may_send`].
    ///
    /// # Errors
    /// The session is over.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Appends the session's own messages, such as the handshake's, to `wire`.
    ///
    /// # Errors
    /// The session is over.
    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Whether the handshake is done.
    fn is_ready(&self) -> bool;

    /// Whether the peer sent close_notify.
    fn is_closed(&self) -> bool;

    /// Appends close_notify to `wire`.
    fn close(&mut self, wire: &mut Vec<u8>);

    /// The protection.
    fn describe(&self) -> Description;

    /// Adds 0-RTT data before the handshake; returns how many bytes are sent so. Anybody who
    /// records 0-RTT data can replay it: send only what may safely be repeated.
    fn early(&mut self, _plain: &[u8]) -> usize {
        0
    }

    /// Whether data may be sent: after the handshake, or with a server's first flight after 0-RTT
    /// data.
    fn may_send(&self) -> bool {
        self.is_ready()
    }

    /// How it was established.
    fn resumption(&self) -> Resumption {
        Resumption::Full
    }
}

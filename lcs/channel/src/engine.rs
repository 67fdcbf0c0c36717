//! A TLS session without I/O.

use crate::{ChannelError, Description, Resumption};
use std::sync::Arc;

/// Makes the engine of each connection.
pub type Engines = Arc<dyn Fn() -> Result<Box<dyn Engine>, ChannelError> + Send + Sync>;

/// A TLS session that turns received wire bytes into plaintext, and plaintext into wire bytes to
/// send.
pub trait Engine: Send {
    /// Processes wire bytes and appends their plaintext to `plain`. Then send [`Engine::pending`],
    /// also after an error.
    ///
    /// # Errors
    /// TLS rejected them, and the session has failed.
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Encrypts bytes and appends the records to `wire`. Only after [`Engine::may_send`].
    ///
    /// # Errors
    /// The session has failed.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Appends the session's own messages, such as the handshake's, to `wire`.
    ///
    /// # Errors
    /// The session has failed.
    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Whether the handshake is complete.
    fn is_ready(&self) -> bool;

    /// Whether the peer sent close_notify.
    fn is_closed(&self) -> bool;

    /// Appends close_notify to `wire`.
    fn close(&mut self, wire: &mut Vec<u8>);

    /// The protection.
    fn describe(&self) -> Description;

    /// Adds 0-RTT data before the handshake; returns the number of bytes that are sent as such. It
    /// can be recorded and replayed by an attacker: send only data that may safely be repeated.
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

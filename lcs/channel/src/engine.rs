//! A TLS session without I/O.

use crate::{ChannelError, Description, Resumption};
use std::sync::Arc;

/// Makes the engine of each connection.
pub type Engines = Arc<dyn Fn() -> Result<Box<dyn Engine>, ChannelError> + Send + Sync>;

/// A TLS session: what came over the wire goes in, what is to go over it comes out.
pub trait Engine: Send {
    /// Octets came over the wire: what they say is added to `plain`. What is to be answered, also
    /// where this fails, is then in [`Engine::pending`].
    ///
    /// # Errors
    /// TLS refuses them; the session is over.
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Protect octets: what is to go over the wire is added to `wire`. Only once the session is
    /// ready.
    ///
    /// # Errors
    /// The session is over.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// What the session itself has to say, such as its handshake, is added to `wire`.
    ///
    /// # Errors
    /// The session is over.
    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError>;

    /// Whether the handshake is done.
    fn is_ready(&self) -> bool;

    /// Whether the peer said that nothing more comes.
    fn is_closed(&self) -> bool;

    /// Say that nothing more comes: it is added to `wire`.
    fn close(&mut self, wire: &mut Vec<u8>);

    /// What protects it.
    fn describe(&self) -> Description;

    /// Octets to go with the first flight, before the handshake is done; how many of them do.
    /// Whoever sees that flight can send it again: nothing goes in it that may not be done
    /// twice.
    fn early(&mut self, _plain: &[u8]) -> usize {
        0
    }

    /// Whether octets may be sent by now: with the first answer of the handshake already, or when
    /// it is done.
    fn may_send(&self) -> bool {
        self.is_ready()
    }

    /// How it came up.
    fn resumption(&self) -> Resumption {
        Resumption::Full
    }
}

//! TLS over TCP on tokio: many connections on one thread.

use crate::tcp::FLIGHT;
use crate::{ChannelError, Description, Engine, Resumption};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Octets read at once.
const READ: usize = 65_536;

/// One end of a connection.
pub struct AsyncChannel {
    stream: TcpStream,
    engine: Box<dyn Engine>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// What came and was not asked for yet: kept here, so that nothing is lost where a wait is given up.
    came: Vec<u8>,
}

impl AsyncChannel {
    /// Bring it up: both sides say what their handshake has to say until it is done, within `limit`.
    ///
    /// # Errors
    /// The peer is not who it has to be, says what is no TLS, or says nothing.
    pub async fn handshake(stream: TcpStream, engine: Box<dyn Engine>, limit: Duration) -> Result<Self, ChannelError> {
        stream.set_nodelay(true)?;
        let mut channel = AsyncChannel { stream, engine, input: vec![0; 2048], output: Vec::new(), came: Vec::new() };
        let done = tokio::time::timeout(limit, async {
            channel.flush().await?;
            while !channel.engine.may_send() {
                if !channel.read().await? {
                    return Err(ChannelError::Cut);
                }
            }
            Ok(())
        });
        done.await.unwrap_or(Err(ChannelError::Timeout))?;
        Ok(channel)
    }

    async fn flush(&mut self) -> Result<(), ChannelError> {
        self.engine.pending(&mut self.output)?;
        if !self.output.is_empty() {
            self.stream.write_all(&self.output).await?;
            self.output.clear();
        }
        Ok(())
    }

    /// Read once; false at the end of the wire.
    async fn read(&mut self) -> Result<bool, ChannelError> {
        let count = loop {
            // Nothing is lost where this is dropped: what is waited for is that there is something to read.
            self.stream.readable().await?;
            match self.stream.try_read(&mut self.input) {
                Ok(count) => break count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        };
        if count == 0 {
            return Ok(false);
        }
        let opened = self.engine.open(&self.input[..count], &mut self.came);
        // A connection that is used for much gets room for much.
        if count == self.input.len() && count < READ {
            self.input.resize(READ, 0);
        }
        // Also an alert that says what was wrong.
        let flushed = self.flush().await;
        opened.and(flushed).map(|()| true)
    }

    /// Wait for octets, and add them to `out`; false where the peer closed the connection. Nothing is lost where the wait
    /// is given up.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        loop {
            if !self.came.is_empty() {
                out.append(&mut self.came);
                return Ok(true);
            }
            if self.engine.is_closed() {
                return Ok(false);
            }
            if !self.read().await? {
                return if self.engine.is_closed() { Ok(false) } else { Err(ChannelError::Cut) };
            }
        }
    }

    /// Send octets.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn send(&mut self, octets: &[u8]) -> Result<(), ChannelError> {
        for piece in octets.chunks(FLIGHT) {
            self.engine.seal(piece, &mut self.output)?;
            self.stream.write_all(&self.output).await?;
            self.output.clear();
        }
        Ok(())
    }

    /// Close the connection, so that the peer sees that nothing is missing.
    pub async fn close(mut self) {
        self.engine.close(&mut self.output);
        // The peer may have gone already.
        let _ = self.stream.write_all(&self.output).await;
        let _ = self.stream.shutdown().await;
    }

    /// How it came up.
    pub fn resumption(&self) -> Resumption {
        self.engine.resumption()
    }

    /// What protects it.
    pub fn describe(&self) -> Description {
        self.engine.describe()
    }
}

//! Connections and listeners with blocking calls.
use super::{BlockingFabric, wait, wait_until};
use crate::link::sockets::{Connection, Listener};
use std::io::{Read, Result, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

/// A connection with blocking calls. Dropping it closes the connection.
pub struct BlockingStream {
    connection: Arc<Connection>,
    deadlines: Mutex<[Option<Instant>; 2]>,
    _fabric: BlockingFabric,
}

impl BlockingStream {
    pub(super) fn new(connection: Arc<Connection>, fabric: BlockingFabric) -> Self {
        BlockingStream { connection, deadlines: Mutex::default(), _fabric: fabric }
    }

    /// The connection's non-blocking interface.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Closes the connection. Written data still arrives; waiting calls fail.
    pub fn close(&self) {
        self.connection.close();
    }

    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection.local_addr()
    }
    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection.peer_addr()
    }
    /// Sets the deadline of reads, including those that wait now. `None` removes it.
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(0, deadline);
    }
    /// Sets the deadline of writes, including those that wait now. `None` removes it.
    pub fn set_write_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(1, deadline);
    }
    fn set_deadline(&self, direction: usize, deadline: Option<Instant>) {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[direction] = deadline;
        self.connection.wake_waiters();
    }
    fn deadline(&self, direction: usize) -> Option<Instant> {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[direction]
    }

    /// Closes one or both directions. After `Write` the peer reads the end of the stream; after
    /// `Read` this side does, and discards received data.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        match how {
            Shutdown::Write => self.connection.shutdown_write(),
            Shutdown::Read => {
                self.connection.stop_reading();
                Ok(())
            }
            Shutdown::Both => {
                self.connection.stop_reading();
                self.connection.shutdown_write()
            }
        }
    }
}

impl Drop for BlockingStream {
    fn drop(&mut self) {
        self.connection.close();
    }
}

impl Read for &BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        wait_until(|| self.deadline(0), |context| self.connection.poll_read(context, buffer))?
    }
}

impl Write for &BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        wait_until(|| self.deadline(1), |context| self.connection.poll_write(context, bytes))?
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        (&*self).write(bytes)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A listener with blocking calls. Dropping it closes the listener.
pub struct BlockingListener {
    listener: Arc<Listener>,
    fabric: BlockingFabric,
}

impl BlockingListener {
    pub(super) fn new(listener: Arc<Listener>, fabric: BlockingFabric) -> Self {
        BlockingListener { listener, fabric }
    }

    /// The next connection, without blocking.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<Result<BlockingStream>> {
        self.listener
            .poll_accept(context)
            .map_ok(|connection| BlockingStream::new(connection, self.fabric.clone()))
    }

    /// The listener's address, with the selected port.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// `TimedOut` at the deadline; `NotConnected` once the listener is closed.
    pub fn accept(&self, deadline: Option<Instant>) -> Result<BlockingStream> {
        wait(deadline, |context| self.poll_accept(context))?
    }

    /// Closes the listener. Waiting calls fail with `NotConnected`.
    pub fn close(&self) {
        self.fabric.membership().unlisten(&self.listener);
    }
}

impl Drop for BlockingListener {
    fn drop(&mut self) {
        self.close();
    }
}

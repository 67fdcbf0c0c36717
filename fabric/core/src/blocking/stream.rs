//! Connections and listeners whose calls block.
use super::{BlockingFabric, wait, wait_until};
use crate::sockets::{Connection, Listener};
use std::io::{Read, Result, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

/// A connection whose calls block.
pub struct BlockingStream {
    connection: Arc<Connection>,
    deadlines: Mutex<[Option<Instant>; 2]>,
    _fabric: BlockingFabric,
}

impl BlockingStream {
    pub(super) fn new(connection: Arc<Connection>, fabric: BlockingFabric) -> Self {
        BlockingStream { connection, deadlines: Mutex::default(), _fabric: fabric }
    }

    /// The connection, for who does not want to block.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Lets go of the connection: what was written arrives, and calls that wait end with an error.
    pub fn close(&self) {
        self.connection.close();
    }

    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection.local_addr()
    }
    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection.peer_addr()
    }
    /// When calls that read give up, those included that wait at the moment.
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(0, deadline);
    }
    /// When calls that write give up, those included that wait at the moment.
    pub fn set_write_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(1, deadline);
    }
    fn set_deadline(&self, of: usize, deadline: Option<Instant>) {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[of] = deadline;
        self.connection.nudge();
    }
    fn deadline(&self, of: usize) -> Option<Instant> {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[of]
    }

    /// Ends a direction: to write, the other side reads the end of the stream; to read, this one
    /// does, and lets go of what comes.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        match how {
            Shutdown::Write => self.connection.shut_down(),
            Shutdown::Read => {
                self.connection.stop_reading();
                Ok(())
            }
            Shutdown::Both => {
                self.connection.stop_reading();
                self.connection.shut_down()
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
    fn write(&mut self, octets: &[u8]) -> Result<usize> {
        wait_until(|| self.deadline(1), |context| self.connection.poll_write(context, octets))?
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
    fn write(&mut self, octets: &[u8]) -> Result<usize> {
        (&*self).write(octets)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Takes connections, and blocks until there is one.
pub struct BlockingListener {
    listener: Arc<Listener>,
    fabric: BlockingFabric,
}

impl BlockingListener {
    pub(super) fn new(listener: Arc<Listener>, fabric: BlockingFabric) -> Self {
        BlockingListener { listener, fabric }
    }

    /// The next connection, for who does not want to block.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<Result<BlockingStream>> {
        self.listener
            .poll_accept(context)
            .map_ok(|connection| BlockingStream::new(connection, self.fabric.clone()))
    }

    /// Its address, with the port that port 0 became.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The next connection.
    pub fn accept(&self, deadline: Option<Instant>) -> Result<BlockingStream> {
        wait(deadline, |context| self.poll_accept(context))?
    }

    /// Takes no more connections: calls that wait for one end with an error.
    pub fn close(&self) {
        self.fabric.process().unlisten(&self.listener);
    }
}

impl Drop for BlockingListener {
    fn drop(&mut self) {
        self.close();
    }
}

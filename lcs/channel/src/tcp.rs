//! TLS over TCP: the I/O around an [`Engine`].

use crate::wait::until_done;
use crate::{Channel, ChannelError, Description, Engine, Engines, Listener, Options, Resumption};
use nix::poll::PollFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

/// Maximum bytes per read: the records of one of the largest messages.
const READ: usize = 81_920;
/// Plaintext bytes per write to the socket: more than the largest message. Writing record by record
/// costs more in wakeups than the parallel decryption gains: AES-GCM encrypts a record in a
/// microsecond (`cargo bench --bench aes`).
pub(crate) const FLIGHT: usize = 262_144;
/// Maximum plaintext of a record (RFC 8446, 5.1), bytes.
const RECORD: usize = 16_384;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// A non-blocking TCP connection with the waits of [`crate::wait`].
pub struct Wire {
    stream: TcpStream,
    options: Options,
}

impl Wire {
    /// Creates a wire from a connected stream.
    ///
    /// # Errors
    /// The socket's options cannot be set.
    pub fn new(stream: TcpStream, options: &Options) -> Result<Self, ChannelError> {
        stream.set_nodelay(options.no_delay)?;
        stream.set_nonblocking(true)?;
        Ok(Wire { stream, options: options.clone() })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// No peer listens at the address.
    pub fn connect(to: SocketAddr, options: &Options) -> Result<Self, ChannelError> {
        Self::new(TcpStream::connect_timeout(&to, options.timeout)?, options)
    }

    /// Writes everything.
    ///
    /// # Errors
    /// The connection broke, or took nothing within [`Options::timeout`].
    pub fn write(&self, mut bytes: &[u8]) -> Result<(), ChannelError> {
        while !bytes.is_empty() {
            let wrote = until_done(
                &self.stream,
                PollFlags::POLLOUT,
                self.options.spin,
                self.options.timeout,
                || (&self.stream).write(bytes),
            )?;
            bytes = &bytes[wrote..];
        }
        Ok(())
    }

    /// Reads once. 0: the peer shut down its sending direction.
    ///
    /// # Errors
    /// The connection broke, or nothing arrived within [`Options::timeout`].
    pub fn read(&self, into: &mut [u8]) -> Result<usize, ChannelError> {
        until_done(&self.stream, PollFlags::POLLIN, self.options.spin, self.options.timeout, || {
            (&self.stream).read(into)
        })
    }

    /// Reads exactly as many bytes as fit into `into`.
    pub(crate) fn read_exact(&self, mut into: &mut [u8]) -> Result<(), ChannelError> {
        while !into.is_empty() {
            match self.read(into)? {
                0 => return Err(ChannelError::Cut),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Shuts down the sending direction.
    pub fn end(&self) {
        // The peer may have disconnected.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// TLS over TCP.
pub struct TlsChannel {
    wire: Wire,
    engine: Box<dyn Engine>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Data received with the handshake.
    early: Vec<u8>,
}

impl TlsChannel {
    /// Opens a connection, over which [`TlsChannel::handshake`] is done.
    ///
    /// # Errors
    /// As for [`Wire::connect`] and [`TlsChannel::handshake`].
    pub fn connect(
        to: SocketAddr,
        engines: &Engines,
        options: &Options,
        first: &[u8],
    ) -> Result<Self, ChannelError> {
        Self::handshake(Wire::connect(to, options)?, engines()?, first)
    }

    /// Performs the handshake. `first` is sent as 0-RTT data if the session permits, else after the
    /// handshake.
    ///
    /// # Errors
    /// The connection broke, or TLS rejected the peer.
    pub fn handshake(
        wire: Wire,
        engine: Box<dyn Engine>,
        first: &[u8],
    ) -> Result<Self, ChannelError> {
        let mut channel = TlsChannel {
            wire,
            engine,
            input: vec![0; READ],
            output: Vec::new(),
            early: Vec::new(),
        };
        let mut early = Vec::new();
        if !first.is_empty() {
            channel.engine.early(first);
        }
        channel.flush()?;
        while !channel.engine.may_send() {
            if !channel.read(&mut early)? {
                return Err(ChannelError::Cut);
            }
        }
        channel.early = early;
        if !first.is_empty() && channel.engine.resumption() != Resumption::Early {
            channel.send(first)?;
        }
        Ok(channel)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.engine.pending(&mut self.output)?;
        if !self.output.is_empty() {
            self.wire.write(&self.output)?;
            self.output.clear();
        }
        Ok(())
    }

    /// Reads once. False at the end of the stream.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let count = self.wire.read(&mut self.input)?;
        if count == 0 {
            return Ok(false);
        }
        let opened = self.engine.open(&self.input[..count], out);
        // Sends the alert too if `open` failed.
        let flushed = self.flush();
        opened.and(flushed).map(|()| true)
    }
}

impl Channel for TlsChannel {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        // Without TCP_NODELAY, as libraries do it themselves: a write per record.
        let at_once = if self.wire.options.no_delay { FLIGHT } else { RECORD };
        for piece in bytes.chunks(at_once) {
            self.engine.seal(piece, &mut self.output)?;
            self.wire.write(&self.output)?;
            self.output.clear();
        }
        Ok(())
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let before = out.len();
        out.append(&mut self.early);
        loop {
            if out.len() > before {
                return Ok(true);
            }
            if self.engine.is_closed() {
                return Ok(false);
            }
            if !self.read(out)? {
                return if self.engine.is_closed() { Ok(false) } else { Err(ChannelError::Cut) };
            }
        }
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        self.engine.close(&mut self.output);
        let wrote = self.wire.write(&self.output);
        self.output.clear();
        self.wire.end();
        wrote
    }

    fn describe(&self) -> Description {
        self.engine.describe()
    }

    fn resumption(&self) -> Resumption {
        self.engine.resumption()
    }
}

/// Listens for TLS over TCP.
pub struct TlsListener {
    listener: TcpListener,
    engines: Engines,
    options: Options,
}

impl TlsListener {
    /// Makes an engine for each accepted connection.
    pub fn new(listener: TcpListener, engines: Engines, options: &Options) -> Self {
        TlsListener { listener, engines, options: options.clone() }
    }
}

impl Listener for TlsListener {
    fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let (stream, _) = self.listener.accept()?;
        let wire = Wire::new(stream, &self.options)?;
        Ok(Box::new(TlsChannel::handshake(wire, (self.engines)()?, &[])?))
    }
}

/// A nonblocking listener, also at an address that no interface has yet.
///
/// # Errors
/// The address is in use.
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    crate::udp::freebind(&socket, at)?;
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

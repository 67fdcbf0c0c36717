//! Channels on tokio: many connections on one thread.

use crate::quic::{AsyncQuic, Incoming, client_config};
use crate::tcp::FLIGHT;
use crate::udp;
use crate::wait::PEER_TIMEOUT;
use crate::{
    ChannelError, Description, Engine, Engines, Kind, Options, Resumption, Trust, client_engines,
};
use nix::sys::socket::{setsockopt, sockopt::TcpUserTimeout};
use quinn_proto::ClientConfig;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Maximum bytes per read.
const READ: usize = 65_536;

/// One end of a connection: TLS over TCP, or QUIC.
pub struct AsyncChannel(Inner);

enum Inner {
    Tls(AsyncTls),
    Quic(Box<AsyncQuic>),
}

impl From<AsyncQuic> for AsyncChannel {
    fn from(quic: AsyncQuic) -> Self {
        AsyncChannel(Inner::Quic(quic.into()))
    }
}

impl Incoming {
    /// Establishes the connection within `limit`.
    ///
    /// # Errors
    /// The UE rejects the certificate, violates the protocol, or does not answer in time.
    pub async fn accept(self, limit: Duration) -> Result<AsyncChannel, ChannelError> {
        Ok(self.handshake(limit).await?.into())
    }
}

impl AsyncChannel {
    /// Performs the TLS handshake on a TCP connection within `limit`.
    ///
    /// # Errors
    /// The handshake failed or timed out.
    pub async fn handshake(
        stream: TcpStream,
        engine: Box<dyn Engine>,
        limit: Duration,
    ) -> Result<Self, ChannelError> {
        AsyncTls::handshake(stream, engine, limit).await.map(|tls| AsyncChannel(Inner::Tls(tls)))
    }

    /// Waits for bytes and appends them to `out`. False if the peer closed the connection.
    ///
    /// # Cancel safety
    /// No data is lost.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        match &mut self.0 {
            Inner::Tls(it) => it.receive(out).await,
            Inner::Quic(it) => it.receive(out).await,
        }
    }

    /// Sends bytes.
    ///
    /// # Cancel safety
    /// Not cancel safe: a part of the bytes may have been sent.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        match &mut self.0 {
            Inner::Tls(it) => it.send(bytes).await,
            Inner::Quic(it) => it.send(bytes).await,
        }
    }

    /// Closes the connection gracefully.
    pub async fn close(self) {
        match self.0 {
            Inner::Tls(it) => it.close().await,
            Inner::Quic(it) => it.close().await,
        }
    }

    /// How it was established.
    pub fn resumption(&self) -> Resumption {
        match &self.0 {
            Inner::Tls(it) => it.engine.resumption(),
            Inner::Quic(it) => it.resumption(),
        }
    }

    /// The protection.
    pub fn describe(&self) -> Description {
        match &self.0 {
            Inner::Tls(it) => it.engine.describe(),
            Inner::Quic(it) => it.describe(),
        }
    }
}

struct AsyncTls {
    stream: TcpStream,
    engine: Box<dyn Engine>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of `output` that were written.
    written: usize,
    /// Received plaintext that was not read yet. It survives a cancelled `receive`.
    received: Vec<u8>,
}

impl AsyncTls {
    async fn handshake(
        stream: TcpStream,
        engine: Box<dyn Engine>,
        limit: Duration,
    ) -> Result<Self, ChannelError> {
        stream.set_nodelay(true)?;
        let give_up = PEER_TIMEOUT.as_millis() as u32;
        setsockopt(&stream, TcpUserTimeout, &give_up).map_err(std::io::Error::from)?;
        let input = vec![0; 2048];
        let mut channel = AsyncTls {
            stream,
            engine,
            input,
            output: Vec::new(),
            written: 0,
            received: Vec::new(),
        };
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

    /// Writes the pending output. Continues after a cancellation.
    async fn flush(&mut self) -> Result<(), ChannelError> {
        self.engine.pending(&mut self.output)?;
        self.write().await
    }

    async fn write(&mut self) -> Result<(), ChannelError> {
        while self.written < self.output.len() {
            self.written += self.stream.write(&self.output[self.written..]).await?;
        }
        self.output.clear();
        self.written = 0;
        Ok(())
    }

    /// Reads once. False at the end of the TCP stream.
    async fn read(&mut self) -> Result<bool, ChannelError> {
        let count = loop {
            // Cancel safe: it waits for readiness only.
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
        let opened = self.engine.open(&self.input[..count], &mut self.received);
        // A busy connection gets a larger buffer.
        if count == self.input.len() && count < READ {
            self.input.resize(READ, 0);
        }
        // Sends the alert too if `open` failed.
        let flushed = self.flush().await;
        opened.and(flushed).map(|()| true)
    }

    async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        loop {
            if !self.received.is_empty() {
                out.append(&mut self.received);
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

    async fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        for piece in bytes.chunks(FLIGHT) {
            self.engine.seal(piece, &mut self.output)?;
            self.write().await?;
        }
        Ok(())
    }

    async fn close(mut self) {
        self.engine.close(&mut self.output);
        // The peer may have disconnected, or not read.
        let _ = tokio::time::timeout(PEER_TIMEOUT, self.write()).await;
        let _ = self.stream.shutdown().await;
    }
}

/// Opens connections of a UE, each of which resumes the session of the previous one.
#[derive(Clone)]
pub struct AsyncConnector {
    kind: Kind,
    client: Client,
    options: Options,
}

#[derive(Clone)]
enum Client {
    Tls(Engines),
    Quic(Box<ClientConfig>, String),
}

/// A socket that is connected to an LMF.
pub enum ConnectedSocket {
    /// For TLS.
    Tcp(std::net::TcpStream),
    /// For QUIC.
    Udp(std::net::UdpSocket),
}

impl AsyncConnector {
    /// Creates a connector for a kind of channel ([`Kind::is_async`]) and the certificates that the
    /// UE trusts.
    ///
    /// # Errors
    /// The trusted root certificates are invalid, or the kind is not asynchronous.
    pub fn new(kind: Kind, trust: &Trust, options: &Options) -> Result<Self, ChannelError> {
        let client = match kind {
            Kind::Quinn => Client::Quic(client_config(trust, options)?.into(), trust.name.clone()),
            _ => {
                let none = || {
                    ChannelError::Identity(format!("{} has no asynchronous channel", kind.name()))
                };
                Client::Tls(client_engines(kind, trust)?.ok_or_else(none)?)
            }
        };
        Ok(AsyncConnector { kind, client, options: options.clone() })
    }

    /// The kind of channel.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Opens a socket to the LMF. It blocks: call it on a blocking thread.
    ///
    /// # Errors
    /// No LMF listens at the address.
    pub fn open_socket(&self, to: SocketAddr) -> std::io::Result<ConnectedSocket> {
        match self.client {
            Client::Tls(_) => std::net::TcpStream::connect_timeout(&to, self.options.timeout)
                .map(ConnectedSocket::Tcp),
            Client::Quic(..) => {
                let socket = udp::bind(udp::any_for(to)).map_err(std::io::Error::other)?;
                socket.connect(to)?;
                Ok(ConnectedSocket::Udp(socket))
            }
        }
    }

    /// Performs the handshake on a socket from [`AsyncConnector::open_socket`].
    ///
    /// # Errors
    /// The handshake failed or timed out.
    pub async fn connect(&self, socket: ConnectedSocket) -> Result<AsyncChannel, ChannelError> {
        match (&self.client, socket) {
            (Client::Tls(engines), ConnectedSocket::Tcp(stream)) => {
                stream.set_nonblocking(true)?;
                AsyncChannel::handshake(
                    TcpStream::from_std(stream)?,
                    engines()?,
                    self.options.timeout,
                )
                .await
            }
            (Client::Quic(config, name), ConnectedSocket::Udp(socket)) => {
                let quic =
                    AsyncQuic::connect(socket, (**config).clone(), name, &self.options).await?;
                Ok(quic.into())
            }
            _ => {
                Err(ChannelError::Identity("the socket does not match the kind of channel".into()))
            }
        }
    }
}

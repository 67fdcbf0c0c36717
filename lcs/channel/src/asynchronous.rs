//! Channels on tokio: many connections on one thread.

use crate::quic::{AsyncQuic, client_config};
use crate::tcp::FLIGHT;
use crate::udp;
use crate::{
    ChannelError, Description, Engine, Engines, Kind, Options, Resumption, Trust, client_engines,
};
use nix::sys::socket::{setsockopt, sockopt::TcpUserTimeout};
use quinn_proto::ClientConfig;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Octets read at once.
const READ: usize = 65_536;
/// How long a peer may acknowledge nothing of what was sent before it is gone.
pub(crate) const GIVE_UP: Duration = Duration::from_secs(30);

/// One end of a connection: TLS over TCP, or QUIC.
pub struct AsyncChannel(Way);

enum Way {
    Tls(AsyncTls),
    Quic(Box<AsyncQuic>),
}

impl From<AsyncQuic> for AsyncChannel {
    fn from(quic: AsyncQuic) -> Self {
        AsyncChannel(Way::Quic(quic.into()))
    }
}

impl AsyncChannel {
    /// Bring up TLS over TCP: both sides say what their handshake has to say until it is done,
    /// within `limit`.
    ///
    /// # Errors
    /// The peer is not who it has to be, says what is no TLS, or says nothing.
    pub async fn handshake(
        stream: TcpStream,
        engine: Box<dyn Engine>,
        limit: Duration,
    ) -> Result<Self, ChannelError> {
        AsyncTls::handshake(stream, engine, limit).await.map(|tls| AsyncChannel(Way::Tls(tls)))
    }

    /// Wait for octets, and add them to `out`; false where the peer closed the connection. Nothing
    /// is lost where the wait is given up.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        match &mut self.0 {
            Way::Tls(it) => it.receive(out).await,
            Way::Quic(it) => it.receive(out).await,
        }
    }

    /// Send octets. It is not to be given up: what was sent by then has no end.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn send(&mut self, octets: &[u8]) -> Result<(), ChannelError> {
        match &mut self.0 {
            Way::Tls(it) => it.send(octets).await,
            Way::Quic(it) => it.send(octets).await,
        }
    }

    /// Close the connection, so that the peer sees that nothing is missing.
    pub async fn close(self) {
        match self.0 {
            Way::Tls(it) => it.close().await,
            Way::Quic(it) => it.close().await,
        }
    }

    /// How it came up.
    pub fn resumption(&self) -> Resumption {
        match &self.0 {
            Way::Tls(it) => it.engine.resumption(),
            Way::Quic(it) => it.resumption(),
        }
    }

    /// What protects it.
    pub fn describe(&self) -> Description {
        match &self.0 {
            Way::Tls(it) => it.engine.describe(),
            Way::Quic(it) => it.describe(),
        }
    }
}

struct AsyncTls {
    stream: TcpStream,
    engine: Box<dyn Engine>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Octets of `output` that were written.
    written: usize,
    /// What came and was not asked for yet: kept here, so that nothing is lost where a wait is
    /// given up.
    came: Vec<u8>,
}

impl AsyncTls {
    async fn handshake(
        stream: TcpStream,
        engine: Box<dyn Engine>,
        limit: Duration,
    ) -> Result<Self, ChannelError> {
        stream.set_nodelay(true)?;
        let give_up = GIVE_UP.as_millis() as u32;
        setsockopt(&stream, TcpUserTimeout, &give_up).map_err(std::io::Error::from)?;
        let input = vec![0; 2048];
        let mut channel =
            AsyncTls { stream, engine, input, output: Vec::new(), written: 0, came: Vec::new() };
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

    /// Write what there is to write. Where this is dropped, it goes on where it was the next time.
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

    /// Read once; false at the end of the wire.
    async fn read(&mut self) -> Result<bool, ChannelError> {
        let count = loop {
            // Nothing is lost where this is dropped: what is waited for is that there is something
            // to read.
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

    async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
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

    async fn send(&mut self, octets: &[u8]) -> Result<(), ChannelError> {
        for piece in octets.chunks(FLIGHT) {
            self.engine.seal(piece, &mut self.output)?;
            self.write().await?;
        }
        Ok(())
    }

    async fn close(mut self) {
        self.engine.close(&mut self.output);
        // The peer may have gone already, or not read.
        let _ = tokio::time::timeout(GIVE_UP, self.write()).await;
        let _ = self.stream.shutdown().await;
    }
}

/// Brings up connections of a UE, each of which goes on with what those before were given.
#[derive(Clone)]
pub struct AsyncConnector {
    kind: Kind,
    how: How,
    options: Options,
}

#[derive(Clone)]
enum How {
    Tls(Engines),
    Quic(Box<ClientConfig>, String),
}

/// A socket that is connected to an LMF.
pub enum Reached {
    /// For TLS.
    Tcp(std::net::TcpStream),
    /// For QUIC.
    Udp(std::net::UdpSocket),
}

impl AsyncConnector {
    /// For a kind of channel ([`Kind::is_async`]), with what the UE accepts.
    ///
    /// # Errors
    /// The trust cannot be used, or this is no such kind.
    pub fn new(kind: Kind, trust: &Trust, options: &Options) -> Result<Self, ChannelError> {
        let how = match kind {
            Kind::Quinn => How::Quic(client_config(trust, options)?.into(), trust.name.clone()),
            _ => {
                let none = || {
                    ChannelError::Identity(format!("{} is not for a UE among many", kind.name()))
                };
                How::Tls(client_engines(kind, trust)?.ok_or_else(none)?)
            }
        };
        Ok(AsyncConnector { kind, how, options: options.clone() })
    }

    /// Its kind of channel.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A socket that is connected to the LMF. It may wait: for a thread where that may be.
    ///
    /// # Errors
    /// Nobody is there.
    pub fn reach(&self, to: SocketAddr) -> std::io::Result<Reached> {
        match self.how {
            How::Tls(_) => {
                std::net::TcpStream::connect_timeout(&to, self.options.timeout).map(Reached::Tcp)
            }
            How::Quic(..) => {
                let socket = udp::bind(udp::any_for(to)).map_err(std::io::Error::other)?;
                socket.connect(to)?;
                Ok(Reached::Udp(socket))
            }
        }
    }

    /// Bring up a connection over what [`AsyncConnector::reach`] gave.
    ///
    /// # Errors
    /// The LMF is not who it has to be, or says nothing.
    pub async fn bring_up(&self, over: Reached) -> Result<AsyncChannel, ChannelError> {
        match (&self.how, over) {
            (How::Tls(engines), Reached::Tcp(stream)) => {
                stream.set_nonblocking(true)?;
                AsyncChannel::handshake(
                    TcpStream::from_std(stream)?,
                    engines()?,
                    self.options.timeout,
                )
                .await
            }
            (How::Quic(config, name), Reached::Udp(socket)) => {
                let quic =
                    AsyncQuic::connect(socket, (**config).clone(), name, &self.options).await?;
                Ok(quic.into())
            }
            _ => {
                Err(ChannelError::Identity("the socket is of another kind than the channel".into()))
            }
        }
    }
}

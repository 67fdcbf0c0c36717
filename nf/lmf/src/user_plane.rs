//! Where UEs' channels come in: TLS over TCP and QUIC over UDP, on the same number of a port.
use crate::config::UserPlaneConfig;
use crate::metrics;
use crate::owner::{Command, ToChannel};
use martlet_lcs_channel::{
    AsyncChannel, AsyncListener, ChannelError, Engines, Identity, Incoming, Kind, Options,
    server_engines,
};
use martlet_lcs_protocol::ChannelId;
use martlet_nf::{Shutdown, StartError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// How long a UE may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Messages that may wait for a UE to read.
const WAITING: usize = 32;
/// How long a UE may take to take a message.
const SENT: Duration = Duration::from_secs(30);

/// What is open of it, and what its connections need.
pub(crate) struct Door {
    tls: Option<(Kind, TcpListener, Engines)>,
    quic: Option<(Kind, AsyncListener)>,
    connections: Arc<Semaphore>,
}

/// Somebody who is there, and has not been let in.
enum Visitor {
    Tls(Kind, TcpStream, Engines),
    Quic(Kind, Box<Incoming>),
}

impl Visitor {
    fn kind(&self) -> Kind {
        match self {
            Visitor::Tls(kind, ..) | Visitor::Quic(kind, _) => *kind,
        }
    }

    async fn let_in(self) -> Result<AsyncChannel, ChannelError> {
        match self {
            Visitor::Tls(_, stream, engines) => {
                AsyncChannel::handshake(stream, engines()?, HANDSHAKE).await
            }
            Visitor::Quic(_, incoming) => incoming.accept(HANDSHAKE).await,
        }
    }

    fn refuse(self) {
        match self {
            Visitor::Tls(..) => {}
            Visitor::Quic(_, incoming) => incoming.refuse(),
        }
    }
}

/// The LMF's identity: from files, or made here.
fn identity(config: &UserPlaneConfig) -> Result<Identity, StartError> {
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path)
            .map_err(|error| StartError(format!("lmf.user_plane: {}: {error}", path.display())))
    };
    if let (Some(certificate), Some(key)) = (&config.certificate, &config.key) {
        return Ok(Identity { certificates: read(certificate)?, key: read(key)? });
    }
    let address = config.address.to_string();
    let identity = Identity::self_signed(&[&address, "localhost"]);
    let identity = identity.map_err(|error| StartError(format!("lmf.user_plane: {error}")))?;
    if let Some(path) = &config.write_certificate {
        std::fs::write(path, &identity.certificates).map_err(|error| {
            StartError(format!("lmf.user_plane.write_certificate: {}: {error}", path.display()))
        })?;
    }
    Ok(identity)
}

impl Door {
    /// Opens it.
    pub(crate) async fn open(config: &UserPlaneConfig) -> Result<Self, StartError> {
        let wrong =
            |error: ChannelError| StartError(format!("lmf.user_plane.certificate: {error}"));
        let taken = |transport: &str, at: SocketAddr, error: &dyn std::fmt::Display| {
            StartError(format!(
                "cannot listen on {transport} {at} for UEs: {error}; change lmf.user_plane.bind"
            ))
        };
        let kinds = config.kinds().ok_or_else(|| {
            StartError("lmf.user_plane.channel: there is none of this name".into())
        })?;
        let identity = identity(config)?;
        let (mut tls, mut quic, mut at) = (None, None, config.bind);
        for kind in kinds.iter().copied() {
            if let Some(engines) = server_engines(kind, &identity).map_err(wrong)? {
                let listener =
                    TcpListener::bind(at).await.map_err(|error| taken("TCP", at, &error))?;
                // Where any port is good, both have the same number.
                at = listener.local_addr().unwrap_or(at);
                tls = Some((kind, listener, engines));
            } else {
                let options = Options { mtu: config.mtu, ..Options::default() };
                let listener =
                    AsyncListener::bind(at, &identity, &options).map_err(|error| match error {
                        ChannelError::Io(error) => taken("UDP", at, &error),
                        other => wrong(other),
                    })?;
                quic = Some((kind, listener));
            }
        }
        let channels: Vec<_> =
            kinds.iter().map(|kind| format!("{} ({})", kind.name(), transport(*kind))).collect();
        tracing::info!(bind = %at, address = %config.address, channels = channels.join(", "), why = config.why(), "UEs are positioned over the user plane");
        Ok(Door { tls, quic, connections: Arc::new(Semaphore::new(config.max_connections)) })
    }

    /// Who is there next.
    async fn next(&mut self) -> Result<Visitor, ChannelError> {
        let Door { tls, quic, .. } = self;
        let tls = async {
            match tls {
                Some((kind, listener, engines)) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| Visitor::Tls(*kind, stream, engines.clone())),
                None => std::future::pending().await,
            }
        };
        let quic = async {
            match quic {
                Some((kind, listener)) => {
                    listener.accept().await.map(|incoming| Visitor::Quic(*kind, incoming.into()))
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            visitor = tls => Ok(visitor?),
            visitor = quic => visitor,
        }
    }

    /// Takes connections until the shutdown.
    pub(crate) async fn run(mut self, owner: mpsc::Sender<Command>, shutdown: Shutdown) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        loop {
            let visitor = tokio::select! {
                () = shutdown.wait() => return,
                visitor = self.next() => visitor,
            };
            let visitor = match visitor {
                Ok(visitor) => visitor,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let Ok(permit) = self.connections.clone().try_acquire_owned() else {
                metrics::refused("no room for another channel");
                visitor.refuse();
                continue;
            };
            let (owner, channel) = (owner.clone(), ChannelId(NEXT.fetch_add(1, Ordering::Relaxed)));
            tokio::spawn(async move {
                let kind = visitor.kind().name();
                if let Err(error) = serve(channel, visitor, &owner).await {
                    metrics::refused("tls");
                    tracing::info!(channel = channel.0, kind, %error, "a channel ended");
                }
                let _ = owner.send(Command::ChannelClosed { channel }).await;
                drop(permit);
            });
        }
    }
}

pub(crate) fn transport(kind: Kind) -> &'static str {
    if kind.is_quic() { "QUIC over UDP" } else { "TLS over TCP" }
}

async fn serve(
    id: ChannelId,
    visitor: Visitor,
    owner: &mpsc::Sender<Command>,
) -> Result<(), ChannelError> {
    let kind = visitor.kind();
    let mut channel = visitor.let_in().await?;
    metrics::channel(kind.name());
    tracing::debug!(channel = id.0, kind = kind.name(), resumption = ?channel.resumption(), "a channel is up");
    let (sender, mut orders) = mpsc::channel(WAITING);
    if owner.send(Command::ChannelOpened { channel: id, kind, sender }).await.is_err() {
        return Ok(());
    }
    let mut octets = Vec::new();
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(ToChannel::Send(octets)) => {
                    // A UE that reads nothing keeps nobody waiting for ever.
                    tokio::time::timeout(SENT, channel.send(&octets)).await.unwrap_or(Err(ChannelError::Timeout))?;
                }
                Some(ToChannel::Close) | None => {
                    channel.close().await;
                    return Ok(());
                }
            },
            received = channel.receive(&mut octets) => {
                let open = received?;
                if !octets.is_empty() {
                    let octets = std::mem::take(&mut octets);
                    if owner.send(Command::ChannelReceived { channel: id, octets }).await.is_err() {
                        return Ok(());
                    }
                }
                if !open {
                    channel.close().await;
                    return Ok(());
                }
            }
        }
    }
}

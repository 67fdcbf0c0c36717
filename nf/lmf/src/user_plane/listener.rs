//! The listener for UEs' channels: TLS over TCP and QUIC over UDP, on the same port number.
use super::channel_limits::ChannelLimits;
use super::command::{ChannelCommand, Command};
use super::transport;
use crate::config::UserPlaneConfig;
use crate::metrics;
use martlet_lcs_channel::{
    AsyncChannel, AsyncListener, ChannelError, Engines, Identity, IdentityRenewal, Incoming, Kind,
    Options, server_engines,
};
use martlet_lcs_protocol::ChannelId;
use martlet_nf::certificates::{self, CertificateFiles, InUse, ReloadError};
use martlet_nf::{Shutdown, StartError};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Time limit of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Capacity of a channel's send queue, messages.
const SEND_QUEUE: usize = 32;
/// Time limit of sending a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The engines of new connections over TLS, which a renewed certificate replaces.
type CurrentEngines = Arc<RwLock<Engines>>;

/// The open sockets.
pub(crate) struct Listener {
    tls: Option<(Kind, TcpListener, CurrentEngines)>,
    quic: Option<(Kind, AsyncListener)>,
    limits: ChannelLimits,
}

/// A connection before its handshake.
enum PendingConnection {
    Tls(Kind, TcpStream, Engines),
    Quic(Kind, Box<Incoming>),
}

impl PendingConnection {
    fn kind(&self) -> Kind {
        match self {
            PendingConnection::Tls(kind, ..) | PendingConnection::Quic(kind, _) => *kind,
        }
    }

    async fn accept(self) -> Result<AsyncChannel, ChannelError> {
        match self {
            PendingConnection::Tls(_, stream, engines) => {
                AsyncChannel::handshake(stream, engines()?, HANDSHAKE_TIMEOUT).await
            }
            PendingConnection::Quic(_, incoming) => incoming.accept(HANDSHAKE_TIMEOUT).await,
        }
    }

    fn reject(self) {
        match self {
            PendingConnection::Tls(..) => {}
            PendingConnection::Quic(_, incoming) => incoming.refuse(),
        }
    }
}

/// The configured channel is not one of those that are built in.
#[derive(Debug, thiserror::Error)]
#[error("no such channel: write auto, quinn or rustls")]
struct UnknownChannel;

/// The LMF's certificate and key: from files, or self-signed.
fn identity(config: &UserPlaneConfig) -> Result<Identity, StartError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| StartError::File {
            key: "lmf.user_plane",
            path: path.into(),
            source,
        })
    };
    if let (Some(certificate), Some(key)) = (&config.certificate, &config.key) {
        return Ok(Identity { certificates: read(certificate)?, key: read(key)? });
    }
    let address = config.address.to_string();
    let identity = Identity::self_signed(&[&address, "localhost"]);
    let identity = identity.map_err(|error| StartError::config("lmf.user_plane", error))?;
    if let Some(path) = &config.write_certificate {
        std::fs::write(path, &identity.certificates).map_err(|source| StartError::File {
            key: "lmf.user_plane.write_certificate",
            path: path.into(),
            source,
        })?;
    }
    Ok(identity)
}

/// What a renewed certificate is passed to.
struct Renewal {
    config: UserPlaneConfig,
    tls: Option<(Kind, CurrentEngines)>,
    quic: Option<IdentityRenewal>,
    /// The certificate in use, DER.
    in_use: Mutex<Option<Vec<u8>>>,
}

impl Renewal {
    /// Reads the files again, for new connections. An error leaves the former ones in use.
    fn reload(&self) -> Result<(), ReloadError> {
        let identity = identity(&self.config)?;
        let made = match &self.tls {
            Some((kind, _)) => server_engines(*kind, &identity)?,
            None => None,
        };
        if let Some(quic) = &self.quic {
            quic.replace(&identity)?;
        }
        if let (Some((_, engines)), Some(made)) = (&self.tls, made) {
            *engines.write().unwrap_or_else(PoisonError::into_inner) = made;
        }
        *self.in_use.lock().unwrap_or_else(PoisonError::into_inner) = first(&identity);
        Ok(())
    }

    /// Watches the files, if they are configured.
    fn watch(self) {
        let (Some(certificate), Some(key)) = (&self.config.certificate, &self.config.key) else {
            return;
        };
        let (files, file) = (vec![certificate.clone(), key.clone()], certificate.clone());
        let (own, shown) = (Arc::new(self), NAME.to_string());
        let of_list = own.clone();
        certificates::watch(CertificateFiles {
            name: NAME.into(),
            files,
            reload: Box::new(move || own.reload()),
            in_use: Box::new(move || {
                let der = of_list.in_use.lock().unwrap_or_else(PoisonError::into_inner).clone();
                der.map(|der| InUse { name: shown.clone(), file: file.clone(), der })
                    .into_iter()
                    .collect()
            }),
        });
    }
}

/// The name of the certificate in metrics and in the log.
const NAME: &str = "lmf.user_plane";

/// The LMF's own certificate, DER.
fn first(identity: &Identity) -> Option<Vec<u8>> {
    identity.chain().ok()?.first().map(|own| own.to_vec())
}

impl Listener {
    /// Opens the sockets.
    pub(crate) async fn open(config: &UserPlaneConfig) -> Result<Self, StartError> {
        let invalid = |error: ChannelError| StartError::config("lmf.user_plane.certificate", error);
        let bind_error = |transport: &str, at: SocketAddr, error: std::io::Error| {
            StartError::listen(format!("{transport} {at} for UEs"), "lmf.user_plane.bind", error)
        };
        let kinds = config
            .kinds()
            .ok_or_else(|| StartError::config("lmf.user_plane.channel", UnknownChannel))?;
        let identity = identity(config)?;
        let options = Options { mtu: config.mtu, ..Options::default() };
        let (mut tls, mut quic, mut at) = (None, None, config.listener());
        for kind in kinds.iter().copied() {
            if let Some(engines) = server_engines(kind, &identity).map_err(invalid)? {
                let listener = martlet_lcs_channel::tcp::listen(at)
                    .and_then(TcpListener::from_std)
                    .map_err(|error| bind_error("TCP", at, error))?;
                // With port 0, UDP uses the number that TCP got.
                at = listener.local_addr().unwrap_or(at);
                tls = Some((kind, listener, CurrentEngines::new(RwLock::new(engines))));
            } else {
                let listener =
                    AsyncListener::bind(at, &identity, &options).map_err(|error| match error {
                        ChannelError::Io(error) => bind_error("UDP", at, error),
                        other => invalid(other),
                    })?;
                quic = Some((kind, listener));
            }
        }
        let channels: Vec<_> =
            kinds.iter().map(|kind| format!("{} ({})", kind.name(), transport(*kind))).collect();
        tracing::info!(
            bind = %at,
            address = %config.address,
            channels = channels.join(", "),
            reason = config.channel_reason(),
            "listening for UEs"
        );
        let renewal = Renewal {
            config: config.clone(),
            tls: tls.as_ref().map(|(kind, _, engines)| (*kind, engines.clone())),
            quic: quic.as_ref().map(|(_, listener)| listener.renewal(&options)),
            in_use: Mutex::new(first(&identity)),
        };
        renewal.watch();
        let limits = ChannelLimits::new(config.max_connections, config.max_connections_per_address);
        Ok(Listener { tls, quic, limits })
    }

    /// The next connection, and its source address.
    async fn next(&mut self) -> Result<(SocketAddr, PendingConnection), ChannelError> {
        let Listener { tls, quic, .. } = self;
        let tls = async {
            match tls {
                Some((kind, listener, engines)) => listener.accept().await.map(|(stream, peer)| {
                    let engines = engines.read().unwrap_or_else(PoisonError::into_inner).clone();
                    (peer, PendingConnection::Tls(*kind, stream, engines))
                }),
                None => std::future::pending().await,
            }
        };
        let quic = async {
            match quic {
                Some((kind, listener)) => listener.accept().await.map(|incoming| {
                    (incoming.peer(), PendingConnection::Quic(*kind, incoming.into()))
                }),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            pending = tls => Ok(pending?),
            pending = quic => pending,
        }
    }

    /// Accepts connections until the shutdown.
    pub(crate) async fn run(mut self, connections: mpsc::Sender<Command>, shutdown: Shutdown) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        loop {
            let pending = tokio::select! {
                () = shutdown.wait() => return,
                pending = self.next() => pending,
            };
            let (peer, pending) = match pending {
                Ok(pending) => pending,
                Err(error) => {
                    if let Some(suppressed) = martlet_log_limit::line("lcs_accept", 0) {
                        tracing::warn!(
                            %error, suppressed,
                            "accept failed"
                        );
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let admitted = match self.limits.admit(peer.ip()) {
                Ok(admitted) => admitted,
                Err(limit) => {
                    metrics::rejected(limit.reason());
                    pending.reject();
                    continue;
                }
            };
            let (connections, channel) =
                (connections.clone(), ChannelId(NEXT.fetch_add(1, Ordering::Relaxed)));
            martlet_nf::spawn(async move {
                let kind = pending.kind().name();
                if let Err(error) = serve(channel, pending, &connections).await {
                    metrics::rejected("channel_error");
                    if let Some(suppressed) = martlet_log_limit::line("channel_error", kind) {
                        tracing::info!(
                            channel = channel.0, kind, %error, suppressed,
                            "channel closed"
                        );
                    }
                }
                let _ = connections.send(Command::ChannelClosed { channel }).await;
                drop(admitted);
            });
        }
    }
}

async fn serve(
    id: ChannelId,
    pending: PendingConnection,
    connections: &mpsc::Sender<Command>,
) -> Result<(), ChannelError> {
    let kind = pending.kind();
    let mut channel = pending.accept().await?;
    metrics::channel(kind.name());
    tracing::debug!(
        channel = id.0,
        kind = kind.name(),
        resumption = ?channel.resumption(),
        "channel established"
    );
    let (sender, mut commands) = mpsc::channel(SEND_QUEUE);
    if connections.send(Command::ChannelOpened { channel: id, kind, sender }).await.is_err() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            biased;
            command = commands.recv() => match command {
                Some(ChannelCommand::Send(bytes)) => {
                    tokio::time::timeout(SEND_TIMEOUT,
                        channel.send(&bytes)).await.unwrap_or(Err(ChannelError::Timeout))?;
                }
                Some(ChannelCommand::Close) | None => {
                    channel.close().await;
                    return Ok(());
                }
            },
            received = channel.receive(&mut bytes) => {
                let open = received?;
                if !bytes.is_empty() {
                    let bytes = std::mem::take(&mut bytes);
                    if connections.send(Command::ChannelReceived { channel: id,
                        bytes }).await.is_err() {
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

//! Where UEs' channels come in.
use crate::config::UserPlaneConfig;
use crate::metrics;
use crate::owner::{Command, ToChannel};
use martlet_lcs_channel::{AsyncChannel, ChannelError, Engines, Identity, server_engines};
use martlet_lcs_protocol::ChannelId;
use martlet_nf::{Shutdown, StartError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// How long a UE may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Messages that may wait for a UE to read.
const WAITING: usize = 32;

/// The bound listener with what its connections need.
pub(crate) struct Door {
    listener: TcpListener,
    engines: Engines,
    connections: Arc<Semaphore>,
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
        std::fs::write(path, &identity.certificates)
            .map_err(|error| StartError(format!("lmf.user_plane.write_certificate: {}: {error}", path.display())))?;
    }
    Ok(identity)
}

impl Door {
    /// Opens it.
    pub(crate) async fn open(config: &UserPlaneConfig) -> Result<Self, StartError> {
        let wrong = |error: ChannelError| StartError(format!("lmf.user_plane.certificate: {error}"));
        let kind =
            config.kind().ok_or_else(|| StartError("lmf.user_plane.channel: there is none of this name".into()))?;
        let engines = server_engines(kind, &identity(config)?).map_err(wrong)?;
        let engines = engines.ok_or_else(|| StartError("lmf.user_plane.channel: not one for many UEs".into()))?;
        let listener = TcpListener::bind(config.bind).await.map_err(|error| {
            StartError(format!("cannot listen on {} for UEs: {error}; change lmf.user_plane.bind", config.bind))
        })?;
        tracing::info!(bind = %config.bind, address = %config.address, channel = kind.name(), "UEs are positioned over the user plane");
        Ok(Door { listener, engines, connections: Arc::new(Semaphore::new(config.max_connections)) })
    }

    /// Takes connections until the shutdown.
    pub(crate) async fn run(self, owner: mpsc::Sender<Command>, shutdown: Shutdown) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        loop {
            let accepted = tokio::select! {
                () = shutdown.wait() => return,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let Ok(permit) = self.connections.clone().try_acquire_owned() else {
                metrics::refused("no room for another channel");
                continue;
            };
            let (engines, owner) = (self.engines.clone(), owner.clone());
            let channel = ChannelId(NEXT.fetch_add(1, Ordering::Relaxed));
            tokio::spawn(async move {
                if let Err(error) = serve(channel, stream, engines, &owner).await {
                    metrics::refused("tls");
                    tracing::info!(channel = channel.0, %error, "a channel ended");
                }
                let _ = owner.send(Command::ChannelClosed { channel }).await;
                drop(permit);
            });
        }
    }
}

async fn serve(
    id: ChannelId,
    stream: TcpStream,
    engines: Engines,
    owner: &mpsc::Sender<Command>,
) -> Result<(), ChannelError> {
    let mut channel = AsyncChannel::handshake(stream, engines()?, HANDSHAKE).await?;
    tracing::debug!(channel = id.0, resumption = ?channel.resumption(), "a channel is up");
    let (sender, mut orders) = mpsc::channel(WAITING);
    if owner.send(Command::ChannelOpened { channel: id, sender }).await.is_err() {
        return Ok(());
    }
    let mut octets = Vec::new();
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(ToChannel::Send(octets)) => channel.send(&octets).await?,
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

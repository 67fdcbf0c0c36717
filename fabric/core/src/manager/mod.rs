//! The manager of a machine's fabric: it admits processes and creates channels between processes of
//! one security domain. It creates the memory of a channel and sends it to both processes; it takes
//! no part in their communication, and may restart at any time.
mod domain;
mod registry;

pub use domain::Domain;
pub use registry::ManagerLimits;
#[doc(hidden)]
pub use registry::{Action, Registry};

use crate::channel::ChannelFds;
use crate::fd::Watched;
use crate::manager_socket::default_socket;
use crate::memory::layout::{Layout, Sizes};
use crate::messages::{self, FromManager, Peer, ToManager};
use crate::{fd, metrics};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen,
    socket, sockopt,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::io::Interest;
use tokio::task::JoinSet;

/// Configuration of a manager.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ManagerConfig {
    /// Path of the socket that processes connect to.
    pub socket: PathBuf,
    /// The security domains. A process that belongs to none is refused.
    pub domains: Vec<Domain>,
    /// Sizes of each channel.
    pub sizes: Sizes,
    /// Limits.
    pub limits: ManagerLimits,
    /// Whether channels use huge pages if the machine has reserved some. Each channel then
    /// occupies at least 2 MiB.
    pub huge_pages: bool,
}

impl Default for ManagerConfig {
    /// One domain, for the processes of the manager's user.
    fn default() -> Self {
        let own = Domain {
            name: "core".into(),
            uids: vec![nix::unistd::geteuid().as_raw()],
            gids: Vec::new(),
        };
        ManagerConfig {
            socket: default_socket(),
            domains: vec![own],
            sizes: Sizes::default(),
            limits: ManagerLimits::default(),
            huge_pages: false,
        }
    }
}

/// A bound manager.
pub struct Manager {
    listener: Watched,
    config: Arc<ManagerConfig>,
    state: Arc<State>,
}

struct State {
    registry: Mutex<Registry>,
    sockets: Mutex<HashMap<u64, Arc<Watched>>>,
    layout: Layout,
    huge_pages: bool,
}

impl Manager {
    /// Checks the configuration and binds the socket.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid configuration; `AddrInUse` if another manager is running.
    pub fn bind(config: ManagerConfig) -> std::io::Result<Manager> {
        let wrong = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
        let layout = Layout::of(&config.sizes).map_err(|e| wrong(format!("fabric sizes: {e}")))?;
        if config.domains.is_empty() {
            return Err(wrong("no security domain is configured: add one to `domains`".into()));
        }
        let path = &config.socket;
        let listener = open(path).map_err(|e| {
            std::io::Error::new(e.kind(), format!("cannot listen at {}: {e}", path.display()))
        })?;
        // Start above the numbers that an earlier manager allocated.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let state = State {
            registry: Mutex::new(Registry::new(
                config.limits.clone(),
                (since.as_micros() as u64) << 8,
            )),
            sockets: Mutex::default(),
            layout,
            huge_pages: config.huge_pages,
        };
        let listener = fd::watch(Arc::new(listener), Interest::READABLE)?;
        Ok(Manager { listener, config: Arc::new(config), state: Arc::new(state) })
    }

    /// Runs until the future is dropped. Processes keep their channels afterwards.
    pub async fn run(self) {
        let mut members = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.async_io(Interest::READABLE, |fd| fd::accept(fd)) => {
                    accepted
                }
                Some(_) = members.join_next() => continue,
            };
            match accepted {
                Ok(socket) => {
                    if let Some((number, uid, socket)) = self.admit(socket) {
                        let state = self.state.clone();
                        members.spawn(async move { state.serve_member(number, uid, socket).await });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "fabric connection not accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    fn admit(&self, socket: OwnedFd) -> Option<(u64, u32, Arc<Watched>)> {
        let refuse = |reason: &str| {
            metrics::REFUSED.with_label_values(&["join"]).inc();
            let _ = fd::send(
                &socket,
                &messages::encode(&FromManager::Refused { reason: reason.into() }),
                &[],
            );
        };
        let credentials = getsockopt(&socket, sockopt::PeerCredentials).ok()?;
        let (uid, gid, pid) = (credentials.uid(), credentials.gid(), credentials.pid());
        let Some(domain) = domain::of(&self.config.domains, uid, gid) else {
            if let Some(suppressed) = martlet_log_limit::line("fabric_domain", uid) {
                tracing::warn!(
                    uid,
                    gid,
                    pid,
                    suppressed,
                    "fabric process refused: no security domain matches"
                );
            }
            refuse(&format!(
                "no security domain contains user {uid} or group {gid}: add one of them to \
                 fabric.domains"
            ));
            return None;
        };
        // The manager's own user may be that of all functions.
        let is_own = uid == 0 || uid == nix::unistd::geteuid().as_raw();
        let admitted = {
            let mut registry = lock(&self.state.registry);
            match is_own || !registry.has_share(&domain.name, uid) {
                true => registry.admit(&domain.name),
                false => None,
            }
        };
        let Some(number) = admitted else {
            if let Some(suppressed) = martlet_log_limit::line("fabric_full", uid) {
                tracing::warn!(
                    uid,
                    pid,
                    suppressed,
                    "fabric process refused: security domain full"
                );
            }
            refuse(
                "the security domain is full, or this user has a quarter of its processes: raise \
                 fabric.manager.members",
            );
            return None;
        };
        lock(&self.state.registry).set_user(number, uid);
        tracing::debug!(number, uid, gid, pid, domain = domain.name, "fabric process connected");
        let Ok(socket) = fd::watch(Arc::new(socket), Interest::READABLE) else {
            lock(&self.state.registry).remove(number);
            return None;
        };
        let socket = Arc::new(socket);
        lock(&self.state.sockets).insert(number, socket.clone());
        metrics::MEMBERS.set(lock(&self.state.registry).members() as i64);
        Some((number, uid, socket))
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.config.socket);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Opens the socket. Any user may connect; admission depends on the credentials.
fn open(path: &Path) -> std::io::Result<OwnedFd> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let new = || socket(AddressFamily::Unix, SockType::SeqPacket, flags, None);
    let address = UnixAddr::new(path)?;
    let listener = new()?;
    // A process sends none. A descriptor whose closing waits would stop the manager.
    if let Err(error) = fd::refuse_descriptors(&listener) {
        tracing::debug!(%error, "fabric manager receives descriptors: Linux is older than 6.16");
    }
    match bind(listener.as_raw_fd(), &address) {
        Err(nix::Error::EADDRINUSE) => {
            // A killed manager leaves its socket behind; a running one accepts connections.
            if connect(new()?.as_raw_fd(), &address) != Err(nix::Error::ECONNREFUSED) {
                return Err(std::io::Error::new(
                    std::io::ErrorKind::AddrInUse,
                    "another manager is running: stop it or configure another fabric.socket",
                ));
            }
            std::fs::remove_file(path)?;
            bind(listener.as_raw_fd(), &address)?;
        }
        other => other?,
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
    listen(&listener, Backlog::new(128)?)?;
    Ok(listener)
}

impl State {
    async fn serve_member(&self, number: u64, uid: u32, socket: Arc<Watched>) {
        let mut buffer = vec![0; messages::MAX_MESSAGE_BYTES];
        loop {
            let got = socket.async_io(Interest::READABLE, |fd| fd::receive(fd, &mut buffer)).await;
            let length = match got {
                Ok((0, _)) => break,
                Ok((length, _)) => length,
                Err(error) => {
                    tracing::debug!(number, %error, "fabric process disconnected with an error");
                    break;
                }
            };
            match messages::decode::<ToManager>(&buffer[..length]) {
                Ok(message) => {
                    tracing::debug!(number, ?message, "fabric message received");
                    let actions = lock(&self.registry).handle(number, message);
                    actions.into_iter().for_each(|action| self.act(action));
                }
                Err(error) => {
                    if let Some(suppressed) = martlet_log_limit::line("fabric_message", uid) {
                        tracing::warn!(
                            uid,
                            number,
                            suppressed,
                            %error,
                            "fabric process sent an invalid message"
                        );
                    }
                    metrics::REFUSED.with_label_values(&["message"]).inc();
                    break;
                }
            }
        }
        lock(&self.sockets).remove(&number);
        let mut registry = lock(&self.registry);
        registry.remove(number);
        metrics::MEMBERS.set(registry.members() as i64);
        tracing::debug!(number, "fabric process disconnected");
    }

    fn act(&self, action: Action) {
        match action {
            Action::Send(to, message) => self.send(to, &message, None),
            Action::Disconnect(number) => {
                metrics::REFUSED.with_label_values(&["message"]).inc();
                self.disconnect(number);
            }
            Action::CreateChannel { channels: [here, there], first, second } => {
                match ChannelFds::pair(&self.layout, self.huge_pages) {
                    Ok([a, b]) => {
                        self.send_channel(here, 0, first, &a);
                        self.send_channel(there, 1, second, &b);
                    }
                    Err(error) => {
                        tracing::error!(%error, "fabric channel not created");
                        lock(&self.registry)
                            .handle(first.0, ToManager::ChannelClosed { channel: here });
                        lock(&self.registry)
                            .handle(second.0, ToManager::ChannelClosed { channel: there });
                    }
                }
            }
        }
    }

    fn send_channel(&self, channel: u64, end: usize, (to, peer): (u64, Peer), fds: &ChannelFds) {
        let message =
            FromManager::Channel { channel, end, sizes: self.layout.sizes().clone(), peer };
        self.send(to, &message, Some(fds));
    }

    /// Sends a message. Disconnects a process that does not read its messages.
    fn send(&self, to: u64, message: &FromManager, fds: Option<&ChannelFds>) {
        let Some(socket) = lock(&self.sockets).get(&to).cloned() else { return };
        let sent = match fds {
            Some(fds) => fd::send(socket.get_ref(), &messages::encode(message), &fds.as_fds()),
            None => fd::send(socket.get_ref(), &messages::encode(message), &[]),
        };
        if let Err(error) = sent {
            tracing::warn!(to, %error, "fabric message not sent");
            self.disconnect(to);
        }
    }

    fn disconnect(&self, number: u64) {
        if let Some(socket) = lock(&self.sockets).remove(&number) {
            let _ =
                nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager_socket;
    use std::os::fd::AsFd;

    #[tokio::test]
    async fn the_manager_receives_no_descriptors_of_processes() {
        let (keep, give) = fd::liveness_pair().unwrap();
        if fd::refuse_descriptors(&keep).is_err() {
            println!("SKIPPED: Linux is older than 6.16, without SO_PASSRIGHTS");
            return;
        }
        let name = format!("martlet-fabric-descriptors-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let socket = folder.join("fabric.sock");
        let config = ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() };
        let manager = Manager::bind(config).unwrap();
        let member = manager_socket::open(&socket).unwrap();
        let join = ToManager::Join { version: messages::VERSION, name: "p".into(), schema: 0 };
        let join = messages::encode(&join);
        let refused = fd::send(&member, &join, &[give.as_fd()]).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        // Messages without descriptors pass.
        fd::send(&member, &join, &[]).unwrap();
        drop(manager);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

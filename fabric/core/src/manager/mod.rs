//! The manager of a machine's fabric: admits processes, and brings those of one security domain
//! together. It makes a channel's memory and hands it to the two processes that use it; afterwards
//! it has no part in what they say to each other, and may end and start again without them.
mod domain;
mod registry;

pub use domain::Domain;
pub use registry::ManagerLimits;
#[doc(hidden)]
pub use registry::{Action, Registry};

use crate::channel::Parts;
use crate::fd::Watched;
use crate::memory::layout::{Layout, Sizes};
use crate::messages::{self, FromMember, Peer, ToMember};
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

/// How a manager is set up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ManagerConfig {
    /// Where processes find it.
    pub socket: PathBuf,
    /// Who may take part. A process that belongs to none of them is refused.
    pub domains: Vec<Domain>,
    /// Sizes of the channels.
    pub sizes: Sizes,
    /// What the manager takes on.
    pub limits: ManagerLimits,
    /// Whether channels use huge pages if the machine has set some aside. Each takes 2 MiB at
    /// least then.
    pub huge_pages: bool,
}

impl Default for ManagerConfig {
    /// One domain, for the processes of the user who runs the manager.
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

/// Where the manager is looked for if nothing else is configured: `/run/martlet/sbi.sock` for root,
/// the user's own runtime folder for others.
pub fn default_socket() -> PathBuf {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !nix::unistd::geteuid().is_root() => PathBuf::from(folder),
        _ => PathBuf::from("/run"),
    };
    folder.join("martlet/sbi.sock")
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
    /// Checks the configuration and binds the socket; the error says what to do.
    pub fn bind(config: ManagerConfig) -> std::io::Result<Manager> {
        let wrong = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
        let layout = Layout::of(&config.sizes).map_err(|e| wrong(format!("fabric sizes: {e}")))?;
        if config.domains.is_empty() {
            return Err(wrong("the fabric needs a security domain, or nobody may use it".into()));
        }
        let path = &config.socket;
        let listener = open(path).map_err(|e| {
            std::io::Error::new(
                e.kind(),
                format!("cannot manage the fabric at {}: {e}", path.display()),
            )
        })?;
        // Numbers that another manager gave out before do not come again.
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

    /// Manages until the future is dropped. The processes keep the channels that they have.
    pub async fn run(self) {
        let mut members = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.async_io(Interest::READABLE, |fd| fd::accept(fd)) => accepted,
                Some(_) = members.join_next() => continue,
            };
            match accepted {
                Ok(socket) => {
                    if let Some((number, socket)) = self.admit(socket) {
                        let state = self.state.clone();
                        members.spawn(async move { state.attend(number, socket).await });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a process could not join the fabric");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    fn admit(&self, socket: OwnedFd) -> Option<(u64, Arc<Watched>)> {
        let refuse = |reason: &str| {
            metrics::REFUSED.with_label_values(&["join"]).inc();
            let _ = fd::send(
                &socket,
                &messages::encode(&ToMember::Refused { reason: reason.into() }),
                &[],
            );
        };
        let credentials = getsockopt(&socket, sockopt::PeerCredentials).ok()?;
        let (uid, gid, pid) = (credentials.uid(), credentials.gid(), credentials.pid());
        let Some(domain) = domain::of(&self.config.domains, uid, gid) else {
            tracing::warn!(uid, gid, pid, "a process of no security domain was refused");
            refuse(&format!(
                "user {uid} and group {gid} belong to no security domain of this fabric"
            ));
            return None;
        };
        let Some(number) = lock(&self.state.registry).admit(&domain.name) else {
            tracing::warn!(uid, pid, "a process was refused: there are too many");
            refuse(
                "the fabric has as many processes of this security domain as it takes \
                 (limits.members)",
            );
            return None;
        };
        tracing::debug!(number, uid, gid, pid, domain = domain.name, "a process joins the fabric");
        let socket = Arc::new(fd::watch(Arc::new(socket), Interest::READABLE).ok()?);
        lock(&self.state.sockets).insert(number, socket.clone());
        metrics::MEMBERS.set(lock(&self.state.registry).members() as i64);
        Some((number, socket))
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

/// Opens the socket that processes join through. Anybody may connect to it; who is admitted is
/// decided by credentials.
fn open(path: &Path) -> std::io::Result<OwnedFd> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let new = || socket(AddressFamily::Unix, SockType::SeqPacket, flags, None);
    let address = UnixAddr::new(path)?;
    let listener = new()?;
    match bind(listener.as_raw_fd(), &address) {
        Err(nix::Error::EADDRINUSE) => {
            // A manager that was killed leaves its socket behind; one that lives answers.
            if connect(new()?.as_raw_fd(), &address) != Err(nix::Error::ECONNREFUSED) {
                return Err(std::io::Error::new(
                    std::io::ErrorKind::AddrInUse,
                    "another manager is at work there",
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
    async fn attend(&self, number: u64, socket: Arc<Watched>) {
        let mut buffer = vec![0; messages::LONGEST];
        loop {
            let got = socket.async_io(Interest::READABLE, |fd| fd::receive(fd, &mut buffer)).await;
            let length = match got {
                Ok((0, _)) => break,
                Ok((length, _)) => length,
                Err(error) => {
                    tracing::debug!(number, %error, "a process's messages broke off");
                    break;
                }
            };
            match messages::decode::<FromMember>(&buffer[..length]) {
                Ok(message) => {
                    tracing::debug!(number, ?message, "from a process of the fabric");
                    let actions = lock(&self.registry).told(number, message);
                    actions.into_iter().for_each(|action| self.act(action));
                }
                Err(error) => {
                    tracing::warn!(number, %error, "a process of the fabric sent what is no message");
                    metrics::REFUSED.with_label_values(&["message"]).inc();
                    break;
                }
            }
        }
        lock(&self.sockets).remove(&number);
        let mut registry = lock(&self.registry);
        registry.remove(number);
        metrics::MEMBERS.set(registry.members() as i64);
        tracing::debug!(number, "a process has left the fabric");
    }

    fn act(&self, action: Action) {
        match action {
            Action::Send(to, message) => self.send(to, &message, None),
            Action::Dismiss(number) => {
                metrics::REFUSED.with_label_values(&["message"]).inc();
                self.dismiss(number);
            }
            Action::Introduce { channels: [here, there], first, second } => {
                match Parts::pair(&self.layout, self.huge_pages) {
                    Ok([a, b]) => {
                        self.hand_over(here, 0, first, &a);
                        self.hand_over(there, 1, second, &b);
                    }
                    Err(error) => {
                        tracing::error!(%error, "no memory or no descriptors for a channel of the fabric");
                        lock(&self.registry).told(first.0, FromMember::Gone { channel: here });
                        lock(&self.registry).told(second.0, FromMember::Gone { channel: there });
                    }
                }
            }
        }
    }

    fn hand_over(&self, channel: u64, end: usize, (to, peer): (u64, Peer), parts: &Parts) {
        let message = ToMember::Channel { channel, end, sizes: self.layout.sizes().clone(), peer };
        self.send(to, &message, Some(parts));
    }

    /// Sends a message, or ends the connection to a process that does not read its messages.
    fn send(&self, to: u64, message: &ToMember, parts: Option<&Parts>) {
        let Some(socket) = lock(&self.sockets).get(&to).cloned() else { return };
        let sent = match parts {
            Some(parts) => fd::send(socket.get_ref(), &messages::encode(message), &parts.as_fds()),
            None => fd::send(socket.get_ref(), &messages::encode(message), &[]),
        };
        if let Err(error) = sent {
            tracing::warn!(to, %error, "a process of the fabric does not take its messages");
            self.dismiss(to);
        }
    }

    fn dismiss(&self, number: u64) {
        if let Some(socket) = lock(&self.sockets).remove(&number) {
            let _ =
                nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        }
    }
}

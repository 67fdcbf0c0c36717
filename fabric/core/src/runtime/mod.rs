//! The fabric in a tokio runtime: one task for the manager and one for each link.
mod cpu_affinity;
mod link_task;
mod manager_session;
mod spin;
mod stream;

pub use spin::Spin;
pub use stream::{FabricListener, FabricStream};

use crate::channel::Violation;
use crate::limits::ProcessLimits;
use crate::link::sockets::Listener;
use crate::link::{Host, Link};
use crate::manager_socket::default_socket;
use crate::membership::{Membership, MembershipState};
use crate::messages::Service;
use crate::wakeup;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::AbortHandle;

/// How a process takes part in the fabric.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct FabricConfig {
    /// Path of the manager's socket.
    pub socket: PathBuf,
    /// Display name of the process, such as `server`.
    pub name: String,
    /// Whether the process polls for a while before it sleeps.
    pub spin: Spin,
    /// Whether the thread shares one CPU with the other processes that set this, as long as one
    /// CPU is enough for all. It suits processes that answer one another in turn. Applies to
    /// current-thread runtimes only.
    pub share_cpu: bool,
    /// Application-defined number of the encoding that the process understands. Peers see it as
    /// [`Peer::schema`](crate::messages::Peer::schema). 0 stands for none.
    #[serde(skip)]
    pub schema: u64,
    /// Limits of the process.
    pub limits: ProcessLimits,
    /// Timeout in milliseconds for finding a route and for opening a connection.
    pub connect_ms: u64,
}

impl Default for FabricConfig {
    fn default() -> Self {
        FabricConfig {
            socket: default_socket(),
            name: "process".into(),
            spin: Spin::default(),
            share_cpu: false,
            schema: 0,
            limits: ProcessLimits::default(),
            connect_ms: 1000,
        }
    }
}

/// Processes the requests that peers send over the fabric.
pub trait RequestHandler: Send + Sync {
    /// Handles a request. The handler answers it with [`Link::respond`] or [`Link::refuse`], now or
    /// later.
    ///
    /// # Errors
    /// The request does not decode. The link is closed.
    fn request(&self, link: &Arc<Link>, stream: u32, bytes: Vec<u8>) -> Result<(), Violation>;
}

struct Shared {
    config: FabricConfig,
    membership: Arc<Membership>,
    handler: RwLock<Option<Weak<dyn RequestHandler>>>,
    manager_task: OnceLock<AbortHandle>,
    /// The task that flushes deferred wakeups, if the CPU is shared.
    flush_task: Option<AbortHandle>,
}

/// A process's membership in the fabric of its machine, in a tokio runtime. Clones share the
/// membership; it ends with the last clone, stream and listener.
#[derive(Clone)]
pub struct Fabric(Arc<Shared>);

impl Fabric {
    /// Starts to take part, in the current tokio runtime. It is not an error if the manager is not
    /// running: the process joins as soon as it is, and rejoins after the manager restarted.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: FabricConfig) -> Fabric {
        let mut flush_task = None;
        let flavor = Handle::current().runtime_flavor();
        if config.share_cpu && flavor == RuntimeFlavor::CurrentThread {
            cpu_affinity::move_to_shared_cpu();
            flush_task = Some(tokio::spawn(wakeup::flush_deferred()).abort_handle());
        }
        let membership =
            Arc::new(Membership::new(&config.name, config.schema, config.limits.clone()));
        let shared = Arc::new(Shared {
            config,
            membership: membership.clone(),
            handler: RwLock::default(),
            manager_task: OnceLock::new(),
            flush_task,
        });
        let host = Arc::downgrade(&shared) as Weak<dyn Host>;
        let (socket, spin) = (shared.config.socket.clone(), shared.config.spin.clone());
        let task = tokio::spawn(manager_session::maintain(membership, socket, spin, host));
        let _ = shared.manager_task.set(task.abort_handle());
        Fabric(shared)
    }

    /// The current state towards the manager.
    pub fn state(&self) -> MembershipState {
        self.0.membership.state()
    }

    /// Waits until the process has joined or was refused.
    pub async fn joined(&self) -> MembershipState {
        std::future::poll_fn(|context| self.0.membership.poll_joined(context)).await
    }

    /// The configuration.
    pub fn config(&self) -> &FabricConfig {
        &self.0.config
    }

    fn membership(&self) -> &Arc<Membership> {
        &self.0.membership
    }

    /// Sets the handler of the peers' requests. It replaces an earlier handler. Requests are
    /// refused while there is none, and after the handler was dropped.
    pub fn set_request_handler(&self, handler: Weak<dyn RequestHandler>) {
        *self.0.handler.write().unwrap_or_else(|e| e.into_inner()) = Some(handler);
    }

    /// Announces that this process serves requests for an authority, such as `127.0.0.1:80`.
    pub fn announce(&self, authority: &str) {
        self.0.membership.serve(Service::Calls, authority);
    }

    /// Withdraws an announcement.
    pub fn withdraw(&self, authority: &str) {
        self.0.membership.withdraw(Service::Calls, authority);
    }

    /// The link to the process that serves requests for an authority. `None` if no process of the
    /// fabric does, or if the manager does not answer within `connect_ms`.
    pub async fn route(&self, authority: &str) -> Option<Arc<Link>> {
        let route = std::future::poll_fn(|context| {
            self.0.membership.poll_route(Service::Calls, authority, Instant::now(), context)
        });
        let timeout = Duration::from_millis(self.0.config.connect_ms);
        tokio::time::timeout(timeout, route).await.unwrap_or(None)
    }

    /// Drops a cached route because the peer no longer serves the authority.
    pub fn invalidate_route(&self, authority: &str, link: &Arc<Link>) {
        self.0.membership.invalidate_route(Service::Calls, authority, link);
    }

    /// Number of this process's buffers that peers hold. 0 while nothing is in transit.
    pub fn buffers_lent(&self) -> u32 {
        self.0.membership.links().iter().filter_map(|link| link.channel().lent().ok()).sum()
    }

    /// Display names of the processes to which there are channels.
    pub fn peers(&self) -> Vec<String> {
        self.0.membership.links().iter().map(|link| link.peer.name.clone()).collect()
    }
}

impl Host for Shared {
    fn request(&self, link: &Arc<Link>, stream: u32, bytes: Vec<u8>) -> Result<(), Violation> {
        let handler = self.handler.read().unwrap_or_else(|e| e.into_inner()).clone();
        match handler.and_then(|handler| handler.upgrade()) {
            Some(handler) => handler.request(link, stream, bytes),
            None => {
                link.refuse(stream);
                Ok(())
            }
        }
    }

    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        self.membership.listener(address)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.manager_task.get().into_iter().chain(&self.flush_task).for_each(|task| task.abort());
        self.membership.close();
    }
}

//! The fabric in a tokio runtime: a task for the manager, one for each link, and one for each
//! request served.
mod binding;
mod driver;
mod place;
mod server;
mod spin;
mod stream;
mod talk;

pub use binding::FabricBinding;
pub use server::FabricServer;
pub use spin::Spin;
pub(crate) use stream::some_port;
pub use stream::{FabricListener, FabricStream};

use crate::bells;
use crate::link::Link;
use crate::manager::default_socket;
use crate::process::{Process, ProcessLimits, Standing};
use martlet_sbi::Router;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock, Weak};

/// How a process takes part in the fabric.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct FabricConfig {
    /// Where the manager is.
    pub socket: PathBuf,
    /// What people call this process, such as `amf`.
    pub name: String,
    /// Whether it looks for answers a little while before it sleeps.
    pub spin: Spin,
    /// Whether the thread of a runtime with one thread shares a processor with the others of the
    /// fabric as long as one is enough for all: for functions that answer in turns.
    pub together: bool,
    /// Whether bodies go in compact form to peers that understand it; else always as JSON.
    pub compact: bool,
    /// A number that is equal where compact bodies are, such as `martlet_sbi_api::MODEL`; 0 where
    /// they never are.
    #[serde(skip)]
    pub model: u64,
    /// What it takes on.
    pub limits: ProcessLimits,
    /// Repetitions of a request that is safe to repeat.
    pub retries: u32,
    /// Milliseconds to find out where an authority is served, after which a request takes another
    /// way.
    pub connect_ms: u64,
    /// Longest time in milliseconds that a request may take where its consumer names none.
    pub longest_ms: u64,
}

impl Default for FabricConfig {
    fn default() -> Self {
        FabricConfig {
            socket: default_socket(),
            name: "nf".into(),
            spin: Spin::default(),
            together: false,
            compact: true,
            model: 0,
            limits: ProcessLimits::default(),
            retries: 2,
            connect_ms: 1000,
            longest_ms: 60_000,
        }
    }
}

struct Shared {
    config: FabricConfig,
    process: Arc<Process>,
    servers: RwLock<HashMap<String, Arc<Router>>>,
    membership: std::sync::OnceLock<tokio::task::AbortHandle>,
    /// Rings bells at the end of each turn, where a processor is shared.
    ringer: Option<tokio::task::AbortHandle>,
}

/// A process's part in the fabric of its machine. Clones are the same part; it ends with the last
/// of them.
#[derive(Clone)]
pub struct Fabric(Arc<Shared>);

impl Fabric {
    /// Takes part from now on, in the runtime of this task. It is no error if there is no manager
    /// yet, or none any more: the process joins as soon as there is one, and goes other ways as
    /// long as there is none.
    pub fn start(config: FabricConfig) -> Fabric {
        let model = if config.compact { config.model } else { 0 };
        let alone = tokio::runtime::Handle::current().runtime_flavor()
            == tokio::runtime::RuntimeFlavor::CurrentThread;
        let mut ringer = None;
        if config.together && alone {
            place::come_together();
            ringer = Some(tokio::spawn(bells::ring_for_ever()).abort_handle());
        }
        let process = Arc::new(Process::new(&config.name, model, config.limits.clone()));
        let shared = Arc::new(Shared {
            config,
            process: process.clone(),
            servers: RwLock::default(),
            membership: std::sync::OnceLock::new(),
            ringer,
        });
        let host = Arc::downgrade(&shared) as Weak<dyn crate::link::Host>;
        let (socket, spin) = (shared.config.socket.clone(), shared.config.spin.clone());
        let task = tokio::spawn(talk::keep(process, socket, spin, host));
        let _ = shared.membership.set(task.abort_handle());
        Fabric(shared)
    }

    /// How things stand with the manager.
    pub fn standing(&self) -> Standing {
        self.0.process.standing()
    }

    /// Waits until the process has joined, or was refused.
    pub async fn joined(&self) -> Standing {
        std::future::poll_fn(|context| self.0.process.poll_joined(context)).await
    }

    /// The configuration.
    pub fn config(&self) -> &FabricConfig {
        &self.0.config
    }

    fn process(&self) -> &Arc<Process> {
        &self.0.process
    }

    fn router(&self, authority: &str) -> Option<Arc<Router>> {
        self.0.router(authority)
    }

    /// Buffers that other processes have of this one and have not given back: none, where nothing
    /// is on its way.
    pub fn buffers_lent(&self) -> u32 {
        self.0.process.links().iter().filter_map(|link| link.channel().lent().ok()).sum()
    }

    /// Names of the processes that there are channels to.
    pub fn peers(&self) -> Vec<String> {
        self.0.process.links().iter().map(|link| link.peer.name.clone()).collect()
    }
}

impl Shared {
    fn router(&self, authority: &str) -> Option<Arc<Router>> {
        self.servers.read().unwrap_or_else(|e| e.into_inner()).get(authority).cloned()
    }

    /// The form that a peer understands.
    fn form(&self, link: &Link) -> martlet_sbi::Form {
        match link.peer.model {
            model if model != 0 && model == self.process.model() => martlet_sbi::Form::Compact,
            _ => martlet_sbi::Form::Wire,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.membership.get().into_iter().chain(&self.ringer).for_each(|task| task.abort());
        self.process.close();
    }
}

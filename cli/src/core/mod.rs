//! A core in this process: its network functions are started in order and stopped together.
mod environment;
mod functions;

pub use environment::{FabricManager, environment, fabric_environment, secure_environment};
pub use functions::{RunningFunction, function_names, start_function};

use crate::config::{Config, database_name};
use anyhow::{Context, Result};
use martlet_nf::{AskSource, Environment, NotReady, Ready, Reload, ShutdownTrigger};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinSet;

/// The binding of the SBI between the functions of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sbi {
    /// Calls within one process
    Local,
    /// Shared memory between processes of this machine
    Fabric,
    /// HTTP/2
    Http,
}

/// The identity and status source of a function.
struct Listed {
    name: &'static str,
    instance_id: String,
    authority: String,
    status: Arc<dyn Fn() -> Value + Send + Sync>,
}

/// A running core.
pub struct Core {
    database: String,
    listed: Arc<Vec<Listed>>,
    ask: Vec<AskSource>,
    reloads: Vec<(&'static str, Reload)>,
    ready: Vec<Ready>,
    trigger: ShutdownTrigger,
    work: JoinSet<Result<(), martlet_nf::StartError>>,
    _manager: Option<FabricManager>,
}

impl Core {
    /// Starts every function in this process. `trigger` triggers the shutdown of the environment.
    /// With the fabric, each function is a member of its own, as in separate processes.
    ///
    /// # Errors
    /// A function failed to start. The error says what to do.
    pub async fn start(
        config: &Config,
        sbi: Sbi,
        environment: &Environment,
        trigger: ShutdownTrigger,
    ) -> Result<Core> {
        let manager = (sbi == Sbi::Fabric).then(|| FabricManager::start(config)).transpose()?;
        let (mut listed, mut asks, mut reloads, mut all_ready) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut work = JoinSet::new();
        for name in function_names(config) {
            let RunningFunction {
                name,
                instance_id,
                authority,
                status,
                ask,
                reload,
                ready,
                finished,
            } = start_function(name, config, environment).await?;
            asks.extend(ask);
            all_ready.push(ready);
            reloads.extend(reload.map(|reload| (name, reload)));
            listed.push(Listed { name, instance_id, authority, status });
            work.spawn(finished);
        }
        Ok(Core {
            database: database_name(&config.database()),
            listed: Arc::new(listed),
            ask: asks,
            reloads,
            ready: all_ready,
            trigger,
            work,
            _manager: manager,
        })
    }

    /// The source of the status of all functions.
    pub fn status_source(&self) -> Arc<dyn Fn() -> Value + Send + Sync> {
        let (listed, database) = (self.listed.clone(), self.database.clone());
        Arc::new(move || {
            let nfs: Vec<Value> = listed
                .iter()
                .map(|nf| status_entry(nf.name, &nf.instance_id, &nf.authority, (nf.status)()))
                .collect();
            let pid = std::process::id();
            json!({"mode": "one process", "pid": pid, "database": database, "nfs": nfs})
        })
    }

    /// The sources of answers to OAM queries.
    pub fn ask_sources(&self) -> Vec<AskSource> {
        self.ask.clone()
    }

    /// Passes a function its reloaded section of the configuration. Returns what was applied, in
    /// words, or `None` if the function has to be restarted for it.
    pub fn reload<C: 'static>(&self, name: &str, section: C) -> Option<String> {
        let (_, reload) = self.reloads.iter().find(|(of, _)| *of == name)?;
        reload(Box::new(section))
    }

    /// The source of the readiness of all functions.
    pub fn ready_source(&self) -> Ready {
        let all = self.ready.clone();
        Arc::new(move || {
            NotReady::unless_empty(all.iter().filter_map(|ready| ready().err()).collect())
        })
    }

    /// The functions that can reload their sections.
    pub fn reload_sources(&self) -> Vec<(&'static str, Reload)> {
        self.reloads.clone()
    }

    /// Triggers the shutdown of every function.
    pub fn shut_down(&self) {
        self.trigger.trigger();
    }

    /// Waits until all functions have ended. The first one that ends, by the shutdown or an error,
    /// triggers the shutdown of the others.
    ///
    /// # Errors
    /// The first error of a function.
    pub async fn finished(mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(ended) = self.work.join_next().await {
            self.trigger.trigger();
            let ended = ended.context("a network function panicked").and_then(|ended| Ok(ended?));
            outcome = outcome.and(ended);
        }
        outcome
    }
}

/// The entry of a function in the status of a process, with the peers that deviate from the
/// specifications.
pub fn status_entry(name: &str, instance_id: &str, authority: &str, mut status: Value) -> Value {
    let quirks = martlet_interop::status(name);
    if let (Some(members), false) = (status.as_object_mut(), quirks.is_empty()) {
        members.entry("quirks").or_insert_with(|| quirks.into());
    }
    json!({"name": name, "instanceId": instance_id, "authority": authority, "status": status})
}

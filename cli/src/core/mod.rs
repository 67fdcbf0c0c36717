//! A core in this process: its network functions are started in order and stopped together. A
//! function that ends by itself is started again.
mod environment;
mod functions;
#[cfg(debug_assertions)]
mod injection;
pub mod restarts;
mod supervised;

pub use environment::{FabricManager, environment, fabric_environment, secure_environment};
pub use functions::{function_names, start_function};

use crate::config::{Config, database_name};
use anyhow::{Context, Result};
use martlet_nf::{AskSource, Environment, NotReady, Ready, Reload, ShutdownTrigger};
use restarts::Restarts;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use supervised::Supervised;
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

/// A running core.
pub struct Core {
    database: String,
    functions: Arc<Vec<Arc<Supervised>>>,
    restarts: Restarts,
    trigger: ShutdownTrigger,
    work: JoinSet<Result<()>>,
    _manager: Option<FabricManager>,
}

impl Core {
    /// Starts every function in this process. `trigger` triggers the shutdown of the environment.
    /// With the fabric, each function is a member of its own, as in separate processes. A function
    /// that ends by itself later is started again.
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
        let (mut functions, mut work) = (Vec::new(), JoinSet::new());
        let (shared, restarts) = (Arc::new(Mutex::new(config.clone())), Restarts::default());
        for name in function_names(config) {
            let running = start_function(name, config, environment).await?;
            let (function, run) = Supervised::new(running, &shared, environment, &restarts);
            functions.push(function);
            work.spawn(run);
        }
        Ok(Core {
            database: database_name(&config.database()),
            functions: Arc::new(functions),
            restarts,
            trigger,
            work,
            _manager: manager,
        })
    }

    /// The source of the status of all functions.
    pub fn status_source(&self) -> Arc<dyn Fn() -> Value + Send + Sync> {
        let (functions, database) = (self.functions.clone(), self.database.clone());
        let restarts = self.restarts.clone();
        Arc::new(move || {
            let nfs: Vec<Value> = functions.iter().map(|function| function.status()).collect();
            let pid = std::process::id();
            json!({
                "mode": "one process",
                "pid": pid,
                "database": database,
                "processes": restarts.status(),
                "nfs": nfs,
            })
        })
    }

    /// The sources of answers to OAM queries.
    pub fn ask_sources(&self) -> Vec<AskSource> {
        let sources = self.functions.iter().map(Supervised::ask_source);
        #[cfg(debug_assertions)]
        let sources = sources.chain([injection::ask_source(self.functions.clone())]);
        sources.collect()
    }

    /// Passes a function its reloaded section of the configuration. Returns what was applied, in
    /// words, or `None` if the function has to be restarted for it.
    pub fn reload<C: 'static>(&self, name: &str, section: C) -> Option<String> {
        let function = self.functions.iter().find(|function| function.name() == name)?;
        (function.reload_source()?)(Box::new(section))
    }

    /// The source of the readiness of all functions.
    pub fn ready_source(&self) -> Ready {
        let all = self.functions.clone();
        Arc::new(move || {
            let missing = all.iter().filter_map(|function| function.ready().err());
            NotReady::unless_empty(missing.collect())
        })
    }

    /// The functions that can reload their sections.
    pub fn reload_sources(&self) -> Vec<(&'static str, Reload)> {
        let source =
            |function: &Arc<Supervised>| Some((function.name(), function.reload_source()?));
        self.functions.iter().filter_map(source).collect()
    }

    /// Injects a panic into a function. `false` while it restarts.
    #[cfg(debug_assertions)]
    pub fn inject(&self, name: &str, fault: martlet_tasks::Fault) -> bool {
        injection::inject(&self.functions, name, fault)
    }

    /// Triggers the shutdown of every function.
    pub fn shut_down(&self) {
        self.trigger.trigger();
    }

    /// Waits until all functions have ended. The first one that ends, by the shutdown or because it
    /// cannot be started again, triggers the shutdown of the others.
    ///
    /// # Errors
    /// The first error of a function.
    pub async fn finished(mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(ended) = self.work.join_next().await {
            self.trigger.trigger();
            let ended = ended.context("the supervision of a function panicked");
            outcome = outcome.and(ended.and_then(|ended| ended));
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

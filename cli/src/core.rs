//! A core in this process: its network functions, started in order and ended together.
use crate::config::Config;
use crate::functions::{Running, names, start_named};
use anyhow::{Context, Result};
use martlet_fabric::{Fabric, Manager};
use martlet_nf::{AskSource, Environment, Ready, Reload, Shutdown, ShutdownTrigger};
use martlet_sbi::{Bindings, LocalBinding};
use martlet_sbi_fabric::FabricBinding;
use martlet_sbi_http::{ClientLimits, HttpBinding, OverFabric, ServerLimits, Tcp};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::{JoinHandle, JoinSet};

/// How network functions of one machine talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sbi {
    /// Calls within one process
    Local,
    /// Shared memory between processes of this machine
    Fabric,
    /// HTTP/2
    Http,
}

/// The surroundings of functions that talk this way. With `listen`, each also serves HTTP/2 at its
/// own address.
///
/// # Errors
/// A file of `sbi.pki` is missing or wrong.
pub fn secure_environment(
    config: &Config,
    name: &str,
    sbi: Sbi,
    listen: bool,
    shutdown: Shutdown,
) -> Result<Environment> {
    let tls = config.sbi.tls(name)?;
    let mut environment = environment(sbi, listen, shutdown);
    environment.limits.requests = config.sbi.max_requests;
    if tls.is_some() {
        let binding = HttpBinding::new(ClientLimits::default()).with_tls(tls.clone());
        environment.bindings = environment.bindings.with_remote(Arc::new(binding));
        environment.limits.tls = tls;
    }
    Ok(environment)
}

/// The same without TLS.
pub fn environment(sbi: Sbi, listen: bool, shutdown: Shutdown) -> Environment {
    let bindings = Bindings::new().with_remote(Arc::new(HttpBinding::new(ClientLimits::default())));
    let bindings =
        if sbi == Sbi::Local { bindings.with_local(LocalBinding::new()) } else { bindings };
    Environment {
        bindings,
        fabric: None,
        listen: listen || sbi != Sbi::Local,
        limits: ServerLimits::default(),
        taps: Vec::new(),
        shutdown,
    }
}

/// The surroundings of one function that takes part in the machine's fabric. Functions that take no
/// frames are called over HTTP/2: over the fabric's sockets where they listen there, else over TCP.
pub fn in_fabric(environment: &Environment, config: &Config, name: &str) -> Environment {
    let fabric = Fabric::start(config.fabric.of_process(name));
    let sockets = OverFabric::new(fabric.clone()).with_next(Arc::new(Tcp));
    let http = HttpBinding::new(ClientLimits::default())
        .over(Arc::new(sockets))
        .with_tls(environment.limits.tls.clone());
    let binding = FabricBinding::new(fabric).with_next(Arc::new(http));
    let bindings = Bindings::new().with_remote(Arc::new(binding.clone()));
    Environment { bindings, fabric: Some(binding), ..environment.clone() }
}

/// The task of the fabric's manager, which ends with this value.
pub struct FabricManager(JoinHandle<()>);

impl FabricManager {
    /// Manages the machine's fabric from now on.
    ///
    /// # Errors
    /// Another manager is at work, or there is no right to be one.
    pub fn start(config: &Config) -> Result<FabricManager> {
        let manager = Manager::bind(config.fabric.of_manager())
            .context("change fabric.socket in the configuration")?;
        Ok(FabricManager(tokio::spawn(manager.run())))
    }
}

impl Drop for FabricManager {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A function's identity and where it tells its status.
struct Listed {
    name: &'static str,
    instance_id: String,
    authority: String,
    status: Arc<dyn Fn() -> Value + Send + Sync>,
}

/// A core at work.
pub struct Core {
    listed: Arc<Vec<Listed>>,
    asked: Vec<AskSource>,
    reloads: Vec<(&'static str, Reload)>,
    ready: Vec<Ready>,
    trigger: ShutdownTrigger,
    work: JoinSet<Result<(), martlet_nf::StartError>>,
    _manager: Option<FabricManager>,
}

impl Core {
    /// Starts every function in this process. `trigger` ends the environment's shutdown. With the
    /// fabric each function takes part by itself, as if it were alone.
    ///
    /// # Errors
    /// A function does not start; the error says what to do.
    pub async fn start(
        config: &Config,
        sbi: Sbi,
        environment: &Environment,
        trigger: ShutdownTrigger,
    ) -> Result<Core> {
        let manager = (sbi == Sbi::Fabric).then(|| FabricManager::start(config)).transpose()?;
        let (mut listed, mut asked, mut reloads, mut all_ready) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut work = JoinSet::new();
        for name in names(config) {
            let Running { name, instance_id, authority, status, ask, reload, ready, finished } =
                start_named(name, config, environment).await?;
            asked.extend(ask);
            all_ready.push(ready);
            reloads.extend(reload.map(|reload| (name, reload)));
            listed.push(Listed { name, instance_id, authority, status });
            work.spawn(finished);
        }
        Ok(Core {
            listed: Arc::new(listed),
            asked,
            reloads,
            ready: all_ready,
            trigger,
            work,
            _manager: manager,
        })
    }

    /// Gives what each function says of itself, whenever it is asked.
    pub fn status_source(&self) -> Arc<dyn Fn() -> Value + Send + Sync> {
        let listed = self.listed.clone();
        Arc::new(move || {
            let nfs: Vec<Value> = listed
                .iter()
                .map(|nf| entry(nf.name, &nf.instance_id, &nf.authority, (nf.status)()))
                .collect();
            json!({"mode": "one process", "pid": std::process::id(), "nfs": nfs})
        })
    }

    /// The means to ask functions something.
    pub fn ask_sources(&self) -> Vec<AskSource> {
        self.asked.clone()
    }

    /// Hands a function its section of the configuration anew; what it took of it, in words. `None`
    /// where it needs a new start for it.
    pub fn reload<C: 'static>(&self, name: &str, section: C) -> Option<String> {
        let (_, reload) = self.reloads.iter().find(|(of, _)| *of == name)?;
        reload(Box::new(section))
    }

    /// Says whether every function can do its work.
    pub fn ready_source(&self) -> Ready {
        let all = self.ready.clone();
        Arc::new(move || all.iter().try_for_each(|ready| ready()))
    }

    /// The means to hand functions their sections anew.
    pub fn reload_sources(&self) -> Vec<(&'static str, Reload)> {
        self.reloads.clone()
    }

    /// Ends every function.
    pub fn shut_down(&self) {
        self.trigger.trigger();
    }

    /// Waits for the end: the first function that ends, by the shutdown or by an error, ends the
    /// others.
    pub async fn finished(mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(ended) = self.work.join_next().await {
            self.trigger.trigger();
            let ended =
                ended.context("a network function ended abnormally").and_then(|ended| Ok(ended?));
            outcome = outcome.and(ended);
        }
        outcome
    }
}

/// A function in the status of a process.
pub fn entry(name: &str, instance_id: &str, authority: &str, status: Value) -> Value {
    json!({"name": name, "instanceId": instance_id, "authority": authority, "status": status})
}

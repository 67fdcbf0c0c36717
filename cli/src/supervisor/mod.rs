//! `martlet up --split`: starts one process for each network function, restarts those that crash,
//! and stops them in order.
//!
//! A function that cannot start at all, with exit code 1 at its first start, ends the start of the
//! core: its configuration or its machine is wrong. After that only the operator ends the core. A
//! function that crashes is restarted at once, and after further crashes with a [`back_off`]. The
//! others keep running.
mod fork_server;
mod process;

use crate::log::LogArgs;
use crate::oam_client::{self, Endpoint};
use crate::{northbound, runtime, trim};
use anyhow::{Context, Result, bail};
use fork_server::ForkServer;
pub use fork_server::{Role, start as start_fork_server};
use martlet::config::{API_FUNCTION, Config, database_name};
use martlet::core::restarts::{Restarts, STABLE, back_off};
use martlet::core::{FabricManager, Sbi, function_names};
use martlet_nf::oam::OamServer;
use martlet_nf::{NotReady, Shutdown};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use process::Process;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A process that does not end within this time of SIGTERM is killed, unless it is a UPF that
/// releases its associations gracefully.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Time within which a signal to all processes reaches each.
const SAME_SIGNAL: Duration = Duration::from_millis(200);

/// Runs the core with one process for each function.
pub fn run(config: Config, function: FunctionCommand) -> Result<()> {
    runtime::block_on(supervise(config, function))
}

async fn supervise(config: Config, command: FunctionCommand) -> Result<()> {
    let started = Instant::now();
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    runtime::extend_stop(&config, shutdown.clone());
    let answers = Arc::new(RwLock::new(Answers::default()));
    let shown = answers.clone();
    let running = Restarts::default();
    let processes = running.clone();
    let fork_server = command.fork_server.clone();
    let database = database_name(&config.database());
    let status = Arc::new(move || {
        let answers = shown.read().map(|answers| answers.clone()).unwrap_or_default();
        let (pid, rights) = (std::process::id(), martlet_sandbox::rights());
        let fork_server = fork_server.lock().unwrap_or_else(PoisonError::into_inner);
        // It was forked with the rights of this process.
        let fork_server = fork_server
            .as_ref()
            .map(|server| serde_json::json!({"pid": server.pid.as_raw(), "rights": rights}));
        let mut processes = processes.status();
        answers.complete(&mut processes);
        serde_json::json!({
            "mode": "one process each",
            "pid": pid,
            "rights": rights,
            "forkServer": fork_server,
            "database": database,
            "processes": processes,
            "nfs": answers.nfs,
        })
    });
    let readiness = Arc::new(RwLock::new(Err(NotReady::Waiting("the functions start"))));
    let shown = readiness.clone();
    let ready: martlet_nf::Ready =
        Arc::new(move || shown.read().unwrap_or_else(|e| e.into_inner()).clone());
    runtime::notify_readiness(ready.clone());
    trim::after_start();
    let oam = OamServer::bind(&config.oam_endpoint(None), status).await?.ready_when(ready);
    let oam = tokio::spawn(oam.run());
    let _manager =
        (command.sbi == Sbi::Fabric).then(|| FabricManager::start(&config)).transpose()?;

    forward_hangup(running.clone())?;
    tokio::spawn(command.clone().watch_fork_server(shutdown.clone()));
    let mut watchers = JoinSet::new();
    let api = config.oam.api.enabled.then_some(API_FUNCTION);
    for name in function_names(&config).chain(api) {
        let is_needed = name != API_FUNCTION || northbound::is_needed(&config);
        let (running, shutdown) = (running.clone(), shutdown.clone());
        let timeout = stop_timeout(&config, name);
        watchers.spawn(watch(name, is_needed, command.clone(), running, shutdown, timeout));
    }
    let poll = poll_status(config.clone(), running.clone(), answers, readiness, started);
    let poll = tokio::spawn(poll);
    let mut outcome = Ok(());
    while let Some(ended) = watchers.join_next().await {
        trigger.trigger();
        let ended = ended.context("a watcher task panicked").and_then(|ended| ended);
        outcome = outcome.and(ended);
    }
    poll.abort();
    oam.abort();
    outcome
}

/// How the processes of functions are started.
#[derive(Debug, Clone)]
pub struct FunctionCommand {
    /// Configuration file; `None` for the built-in defaults.
    pub file: Option<PathBuf>,
    /// Binding of the SBI.
    pub sbi: Sbi,
    /// Options of the log.
    pub log: LogArgs,
    /// Arguments of the capture.
    pub capture: Vec<OsString>,
    /// Forks the processes. Without it they are executed.
    pub fork_server: Arc<Mutex<Option<ForkServer>>>,
}

impl FunctionCommand {
    fn spawn(&self, name: &str) -> Result<Process> {
        let failed = || format!("the process of {name} cannot be started");
        let pid = match self.fork(name) {
            Some(pid) => pid,
            None => self.execute(name).with_context(failed)?,
        };
        // The end of a process without a descriptor is not noticed, and another one is started.
        Process::of(pid).inspect_err(|_| process::end(pid)).with_context(failed)
    }

    /// Forks the process; `None` without a fork server that answers.
    fn fork(&self, name: &str) -> Option<Pid> {
        let mut server = self.fork_server.lock().unwrap_or_else(PoisonError::into_inner);
        let held = server.as_ref()?;
        match held.spawn(name) {
            Ok(pid) => Some(pid),
            Err(error) => {
                // It may hang.
                let _ = nix::sys::signal::kill(held.pid, Signal::SIGKILL);
                *server = None;
                warn_of_lost_fork_server(&error);
                None
            }
        }
    }

    /// Waits for the end of the fork server, until the shutdown.
    async fn watch_fork_server(self, shutdown: Shutdown) {
        let lock = || self.fork_server.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pid) = lock().as_ref().map(|server| server.pid) else { return };
        let Ok(mut process) = Process::of(pid) else { return };
        tokio::select! {
            () = shutdown.wait() => {}
            ended = process.wait() => {
                let lost = lock().take();
                if let (Some(_), Ok(status)) = (lost, ended) {
                    warn_of_lost_fork_server(&status);
                }
            }
        }
    }

    fn execute(&self, name: &str) -> Result<Pid> {
        let mut command = Command::new(std::env::current_exe()?);
        let format = self.log.format.name();
        let sbi = if self.sbi == Sbi::Fabric { "fabric" } else { "http" };
        command.args(["--log", &self.log.filter, "--log-format", format, "nf", name, "--sbi", sbi]);
        command.args(["--supervisor", &std::process::id().to_string()]);
        if let Some(file) = &self.file {
            command.arg("-c").arg(file);
        }
        command.args(&self.capture);
        // In a process group of their own, functions do not get the terminal's SIGINT. The
        // supervisor alone decides when they end.
        let child = command.process_group(0).spawn()?;
        Ok(Pid::from_raw(child.id() as i32))
    }
}

fn warn_of_lost_fork_server(reason: &dyn std::fmt::Display) {
    tracing::warn!(%reason, "fork server lost: functions that are started from now on are executed \
        and need more memory, until the core is started again");
}

/// Forwards SIGHUP to the functions, which reload the configuration themselves.
fn forward_hangup(running: Restarts) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            for (_, pid) in running.pids() {
                let _ = nix::sys::signal::kill(Pid::from_raw(pid as i32), Signal::SIGHUP);
            }
        }
    });
    Ok(())
}

/// Runs a function until the shutdown, and restarts it after each crash.
///
/// # Errors
/// The function is needed and does not start.
async fn watch(
    name: &'static str,
    is_needed: bool,
    command: FunctionCommand,
    running: Restarts,
    shutdown: Shutdown,
    timeout: Duration,
) -> Result<()> {
    let mut child = command.spawn(name)?;
    let (mut crashes, mut is_first) = (0u32, true);
    loop {
        let started = Instant::now();
        running.started(name, Some(child.id()));
        let reason = tokio::select! {
            () = shutdown.wait() => {
                if name == "nrf" {
                    wait_for_others(&running, name).await;
                }
                let outcome = stop(child, name, timeout).await;
                running.ended(name, None);
                return outcome;
            }
            status = child.wait() => {
                let status = status?;
                if is_first && is_needed && status.code() == Some(1) {
                    running.ended(name, None);
                    bail!("{name} failed ({status}): see its log");
                }
                // One signal to all processes reaches this one a moment later.
                let stops = tokio::time::timeout(SAME_SIGNAL, shutdown.wait());
                if status.success() && stops.await.is_ok() {
                    running.ended(name, None);
                    return Ok(());
                }
                status.to_string()
            }
        };
        is_first = false;
        running.ended(name, Some(&reason));
        crashes = if started.elapsed() >= STABLE { 1 } else { crashes.saturating_add(1) };
        child = loop {
            let pause = back_off(crashes);
            tracing::error!(nf = name, %reason, crashes, ?pause, "function crashed, restarting");
            tokio::select! {
                () = shutdown.wait() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
            match command.spawn(name) {
                Ok(child) => break child,
                Err(error) => {
                    tracing::error!(nf = name, "{}", martlet::error_text(&error));
                    crashes = crashes.saturating_add(1);
                }
            }
        };
    }
}

/// Waits until all other functions have ended. The NRF ends last, since the others deregister with
/// it.
async fn wait_for_others(running: &Restarts, name: &str) {
    let others = || running.pids().iter().any(|(other, _)| *other != name);
    let deadline = Instant::now() + STOP_TIMEOUT;
    while others() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How long a function may take to stop: a UPF waits for SMFs that move its sessions away.
fn stop_timeout(config: &Config, name: &str) -> Duration {
    let waits = if name == "upf" { config.upf.n4.graceful_release_s } else { 0 };
    STOP_TIMEOUT + Duration::from_secs(waits)
}

async fn stop(mut child: Process, name: &str, timeout: Duration) -> Result<()> {
    let signalled = Instant::now();
    child.signal(Signal::SIGTERM);
    match tokio::time::timeout(timeout, child.wait()).await {
        Ok(_) => tracing::debug!(
            nf = name,
            ms = signalled.elapsed().as_millis() as u64,
            "function stopped"
        ),
        Err(_) => {
            tracing::warn!(nf = name, ?timeout, "function did not stop, killing it");
            child.signal(Signal::SIGKILL);
            child.wait().await?;
        }
    }
    Ok(())
}

/// What the processes answered.
#[derive(Debug, Clone, Default)]
struct Answers {
    /// The functions.
    nfs: Vec<Value>,
    /// The API: its process and rights, once for each process.
    api: Value,
    /// The names of functions whose processes do not answer in time.
    silent: Vec<&'static str>,
}

impl Answers {
    /// Adds what the processes themselves cannot tell: their state, if they do not answer, and the
    /// rights of the API, which is no network function.
    fn complete(&self, processes: &mut Value) {
        for process in processes.as_array_mut().into_iter().flatten() {
            let name = process["name"].as_str().unwrap_or_default();
            if process["state"] == "running" && self.silent.contains(&name) {
                process["state"] = "no_answer".into();
            }
            if process["name"] == API_FUNCTION && process["pid"] == self.api["pid"] {
                process["rights"] = self.api["rights"].clone();
            }
        }
    }

    /// Reads the rights of the API, unless those of its process are known.
    async fn read_api(&mut self, config: &Config, running: &Restarts) {
        let pids = running.pids();
        let Some((_, pid)) = pids.iter().find(|(name, _)| *name == API_FUNCTION) else { return };
        if self.api["pid"] == *pid {
            return;
        }
        let endpoint = Endpoint::Socket(config.oam_endpoint(Some(API_FUNCTION)).socket);
        if let Ok(mut status) = oam_client::status(&endpoint).await {
            self.api = status["nfs"][0]["process"].take();
        }
    }
}

/// Polls the status of each process once a second, and logs when all are ready for the first time.
async fn poll_status(
    config: Config,
    running: Restarts,
    answers: Arc<RwLock<Answers>>,
    readiness: Arc<RwLock<Result<(), NotReady>>>,
    started: Instant,
) {
    let mut was_ready = false;
    let mut known = Answers::default();
    let endpoints: Vec<_> = function_names(&config)
        .map(|name| (name, Endpoint::Socket(config.oam_endpoint(Some(name)).socket)))
        .collect();
    loop {
        let (mut nfs, mut missing) = (Vec::new(), Vec::new());
        known.silent.clear();
        for (name, endpoint) in &endpoints {
            let asked = Instant::now();
            match oam_client::status(endpoint).await {
                Ok(status) => {
                    nfs.extend(status["nfs"].as_array().cloned().unwrap_or_default());
                    let outcome = oam_client::ready(endpoint).await;
                    missing.extend(outcome.err().map(|e| NotReady::Process(e.to_string())));
                }
                Err(_) => {
                    missing.push(NotReady::NoAnswer((*name).to_string()));
                    // One that starts refuses at once.
                    if asked.elapsed() >= oam_client::STATUS_TIMEOUT {
                        known.silent.push(name);
                    }
                }
            }
        }
        if missing.is_empty() && !all_are_registered(&nfs) {
            missing.push(NotReady::Waiting("a function is not registered with the NRF"));
        }
        let is_ready = missing.is_empty();
        *readiness.write().unwrap_or_else(|e| e.into_inner()) = NotReady::unless_empty(missing);
        if !was_ready && is_ready {
            was_ready = true;
            tracing::info!(ms = started.elapsed().as_millis() as u64, "core ready");
        }
        known.nfs = nfs;
        // One that starts does not answer yet.
        if was_ready {
            known.read_api(&config, &running).await;
        }
        if let Ok(mut answers) = answers.write() {
            answers.clone_from(&known);
        }
        tokio::time::sleep(Duration::from_millis(if was_ready { 1000 } else { 20 })).await;
    }
}

/// Whether every function with SBI services is registered with the NRF of this core. With an NRF of
/// another machine, the readiness of each function has its registration.
fn all_are_registered(nfs: &[Value]) -> bool {
    let Some(nrf) = nfs.iter().find(|nf| nf["name"] == "nrf") else { return true };
    let registered = nrf["status"]["registered"].as_array().map_or(&[][..], Vec::as_slice);
    let with_services = nfs.iter().filter(|nf| nf["name"] != "nrf" && nf["name"] != "upf");
    with_services
        .into_iter()
        .all(|nf| registered.iter().any(|entry| entry["id"] == nf["instanceId"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_upf_may_stop_as_slowly_as_it_is_configured_to() {
        let mut config = Config::default();
        assert_eq!(stop_timeout(&config, "upf"), STOP_TIMEOUT);
        config.upf.n4.graceful_release_s = 20;
        assert_eq!(stop_timeout(&config, "upf"), STOP_TIMEOUT + Duration::from_secs(20));
        assert_eq!(stop_timeout(&config, "smf"), STOP_TIMEOUT);
    }

    #[test]
    fn functions_register_with_the_nrf_of_this_core_or_of_another_machine() {
        let (amf, upf) =
            (json!({"name": "amf", "instanceId": "a"}), json!({"name": "upf", "instanceId": "u"}));
        let nrf = |registered: Value| json!({"name": "nrf", "status": {"registered": registered}});
        assert!(!all_are_registered(&[nrf(json!([])), amf.clone(), upf.clone()]));
        assert!(all_are_registered(&[nrf(json!([{"id": "a"}])), amf.clone(), upf.clone()]));
        // `sbi.external: [nrf]`.
        assert!(all_are_registered(&[amf, upf]));
    }
}

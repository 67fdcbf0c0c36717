//! `martlet up --split`: starts one process for each network function, restarts those that crash,
//! and stops them in order.
use crate::log::{LogArgs, LogFormat};
use crate::{oam_client, runtime, trim};
use anyhow::{Context, Result, bail};
use martlet::config::Config;
use martlet::core::{FabricManager, Sbi, function_names};
use martlet_nf::Shutdown;
use martlet_nf::oam::OamServer;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// A function that crashes more often than this within [`RESTART_WINDOW`] is not restarted.
const MAX_RESTARTS: usize = 5;
const RESTART_WINDOW: Duration = Duration::from_secs(60);
/// A process that does not end within this time of SIGTERM is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs the core with one process for each function.
pub fn run(config: Config, function: FunctionCommand) -> Result<()> {
    runtime::block_on(supervise(config, function))
}

async fn supervise(config: Config, command: FunctionCommand) -> Result<()> {
    let started = Instant::now();
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    let statuses = Arc::new(RwLock::new(serde_json::json!([])));
    let shown = statuses.clone();
    let status = Arc::new(move || {
        let nfs = shown.read().map(|nfs| nfs.clone()).unwrap_or_default();
        serde_json::json!({"mode": "one process each", "pid": std::process::id(), "nfs": nfs})
    });
    let all_ready = Arc::new(AtomicBool::new(false));
    let is_ready = all_ready.clone();
    let ready: martlet_nf::Ready = Arc::new(move || match is_ready.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("a function is not ready".into()),
    });
    runtime::notify_readiness(ready.clone());
    trim::after_start();
    let oam = OamServer::bind(config.oam.bind, status).await?.ready_when(ready);
    let oam = tokio::spawn(oam.run());
    let _manager =
        (command.sbi == Sbi::Fabric).then(|| FabricManager::start(&config)).transpose()?;

    let running = Running::default();
    forward_hangup(running.clone())?;
    let mut watchers = JoinSet::new();
    for name in function_names(&config) {
        watchers.spawn(watch(name, command.clone(), running.clone(), shutdown.clone()));
    }
    let poll = tokio::spawn(poll_status(config.clone(), statuses, all_ready, started));
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
}

impl FunctionCommand {
    fn spawn(&self, name: &str) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        let format = if self.log.format == LogFormat::Json { "json" } else { "text" };
        let sbi = if self.sbi == Sbi::Fabric { "fabric" } else { "http" };
        command.args(["--log", &self.log.filter, "--log-format", format, "nf", name, "--sbi", sbi]);
        command.args(["--supervisor", &std::process::id().to_string()]);
        if let Some(file) = &self.file {
            command.arg("-c").arg(file);
        }
        command.args(&self.capture);
        // In a process group of their own, functions do not get the terminal's SIGINT. The
        // supervisor alone decides when they end.
        command.process_group(0).kill_on_drop(true);
        command.spawn().with_context(|| format!("the process of {name} cannot be started"))
    }
}

/// The process IDs of the functions.
type Running = Arc<Mutex<HashMap<&'static str, u32>>>;

/// Forwards SIGHUP to the functions, which reload the configuration themselves.
fn forward_hangup(running: Running) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let all: Vec<u32> = running
                .lock()
                .map(|running| running.values().copied().collect())
                .unwrap_or_default();
            for pid in all {
                let pid = nix::unistd::Pid::from_raw(pid as i32);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP);
            }
        }
    });
    Ok(())
}

/// Runs a function until the shutdown, and restarts it after a crash.
async fn watch(
    name: &'static str,
    command: FunctionCommand,
    running: Running,
    shutdown: Shutdown,
) -> Result<()> {
    let mut crashes: Vec<Instant> = Vec::new();
    loop {
        let mut child = command.spawn(name)?;
        if let (Some(pid), Ok(mut running)) = (child.id(), running.lock()) {
            running.insert(name, pid);
        }
        tokio::select! {
            () = shutdown.wait() => {
                if name == "nrf" {
                    wait_for_others(&running, name).await;
                }
                let outcome = stop(child, name).await;
                if let Ok(mut running) = running.lock() {
                    running.remove(name);
                }
                return outcome;
            }
            status = child.wait() => {
                if let Ok(mut running) = running.lock() {
                    running.remove(name);
                }
                crashes.retain(|at| at.elapsed() < RESTART_WINDOW);
                crashes.push(Instant::now());
                let status = status?;
                if crashes.len() > MAX_RESTARTS
                    || (crashes.len() == 1 && status.code() == Some(1)) {
                    bail!("{name} failed ({status}): see its log");
                }
                tracing::error!(nf = name, %status, "function crashed, restarting");
                tokio::time::sleep(Duration::from_millis(100) * crashes.len() as u32).await;
            }
        }
    }
}

/// Waits until all other functions have ended. The NRF ends last, since the others deregister with
/// it.
async fn wait_for_others(running: &Running, name: &str) {
    let others = || running.lock().is_ok_and(|running| running.keys().any(|other| *other != name));
    let deadline = Instant::now() + STOP_TIMEOUT;
    while others() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn stop(mut child: Child, name: &str) -> Result<()> {
    let signalled = Instant::now();
    if let Some(pid) = child.id() {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid as i32),
            nix::sys::signal::Signal::SIGTERM,
        );
    }
    match tokio::time::timeout(STOP_TIMEOUT, child.wait()).await {
        Ok(_) => tracing::debug!(
            nf = name,
            ms = signalled.elapsed().as_millis() as u64,
            "function stopped"
        ),
        Err(_) => {
            tracing::warn!(nf = name, timeout = ?STOP_TIMEOUT, "function did not stop, killing it");
            child.kill().await?;
        }
    }
    Ok(())
}

/// Polls the status of each process once a second, and logs when all are ready for the first time.
async fn poll_status(
    config: Config,
    statuses: Arc<RwLock<serde_json::Value>>,
    ready: Arc<AtomicBool>,
    started: Instant,
) {
    let mut was_ready = false;
    loop {
        let mut nfs = Vec::new();
        for name in function_names(&config) {
            if let Ok(status) = oam_client::status(config.oam.of(name)).await {
                nfs.extend(status["nfs"].as_array().cloned().unwrap_or_default());
            }
        }
        let is_ready = nfs.len() == function_names(&config).count() && all_are_registered(&nfs);
        ready.store(is_ready, Ordering::Relaxed);
        if !was_ready && is_ready {
            was_ready = true;
            tracing::info!(ms = started.elapsed().as_millis() as u64, "core ready");
        }
        if let Ok(mut statuses) = statuses.write() {
            *statuses = serde_json::Value::Array(nfs);
        }
        tokio::time::sleep(Duration::from_millis(if was_ready { 1000 } else { 20 })).await;
    }
}

/// Whether every function with SBI services is registered with the NRF.
fn all_are_registered(nfs: &[serde_json::Value]) -> bool {
    let nrf = nfs.iter().find(|nf| nf["name"] == "nrf");
    let registered =
        nrf.and_then(|nrf| nrf["status"]["registered"].as_array()).map_or(&[][..], Vec::as_slice);
    let with_services = nfs.iter().filter(|nf| nf["name"] != "nrf" && nf["name"] != "upf");
    with_services
        .into_iter()
        .all(|nf| registered.iter().any(|entry| entry["id"] == nf["instanceId"]))
}

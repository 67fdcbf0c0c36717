//! `martlet up --split`: one process for each network function, watched by this one.
use crate::log::LogFormat;
use crate::{oam_client, runtime, trim};
use anyhow::{Context, Result, bail};
use martlet::config::Config;
use martlet::core::{FabricManager, Sbi};
use martlet::functions::names;
use martlet_nf::Shutdown;
use martlet_nf::oam::OamServer;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// A process that ends this often within [`WINDOW`] is not started again.
const MOST_RESTARTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How long a process may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs the core with one process for each function.
pub fn run(
    config: Config,
    file: Option<PathBuf>,
    sbi: Sbi,
    log: &str,
    format: LogFormat,
    capture: Vec<OsString>,
) -> Result<()> {
    let launch = Launch { name: "", file, sbi, log: log.to_string(), format, capture };
    runtime::block_on(supervise(config, launch))
}

async fn supervise(config: Config, launch: Launch) -> Result<()> {
    let started = Instant::now();
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    let seen = Arc::new(RwLock::new(serde_json::json!([])));
    let shown = seen.clone();
    let status = Arc::new(move || {
        let nfs = shown.read().map(|nfs| nfs.clone()).unwrap_or_default();
        serde_json::json!({"mode": "one process each", "pid": std::process::id(), "nfs": nfs})
    });
    let up = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_up = up.clone();
    let ready: martlet_nf::Ready =
        Arc::new(move || match is_up.load(std::sync::atomic::Ordering::Relaxed) {
            true => Ok(()),
            false => Err("not every function is ready".into()),
        });
    runtime::watch_readiness(ready.clone());
    trim::once_settled();
    let oam = OamServer::bind(config.oam.bind, status).await?.ready_when(ready);
    let oam = tokio::spawn(oam.run());
    let _manager =
        (launch.sbi == Sbi::Fabric).then(|| FabricManager::start(&config)).transpose()?;

    let running = Running::default();
    pass_on_hangup(running.clone())?;
    let mut watched = JoinSet::new();
    for name in names(&config) {
        watched.spawn(watch(Launch { name, ..launch.clone() }, running.clone(), shutdown.clone()));
    }
    let gather = tokio::spawn(gather_status(config.clone(), seen, up, started));
    let mut outcome = Ok(());
    while let Some(ended) = watched.join_next().await {
        trigger.trigger();
        let ended = ended.context("a watcher ended abnormally").and_then(|ended| ended);
        outcome = outcome.and(ended);
    }
    gather.abort();
    oam.abort();
    outcome
}

/// How a function's process is started.
#[derive(Clone)]
struct Launch {
    name: &'static str,
    file: Option<PathBuf>,
    sbi: Sbi,
    log: String,
    format: LogFormat,
    /// What is captured, as arguments.
    capture: Vec<OsString>,
}

impl Launch {
    fn spawn(&self) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        let format = if self.format == LogFormat::Json { "json" } else { "text" };
        let sbi = if self.sbi == Sbi::Fabric { "fabric" } else { "http" };
        command.args(["--log", &self.log, "--log-format", format, "nf", self.name, "--sbi", sbi]);
        command.args(["--watched-by", &std::process::id().to_string()]);
        if let Some(file) = &self.file {
            command.arg("-c").arg(file);
        }
        command.args(&self.capture);
        // A terminal's Ctrl-C would reach the children too: only this process decides when they
        // end.
        command.process_group(0).kill_on_drop(true);
        command.spawn().with_context(|| format!("cannot start the process of {}", self.name))
    }
}

/// The functions' processes by their names.
type Running = Arc<std::sync::Mutex<std::collections::HashMap<&'static str, u32>>>;

/// Each function reads the configuration anew by itself.
fn pass_on_hangup(running: Running) -> Result<()> {
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

/// Keeps a function's process up until the shutdown.
async fn watch(launch: Launch, running: Running, shutdown: Shutdown) -> Result<()> {
    let mut ends: Vec<Instant> = Vec::new();
    loop {
        let mut child = launch.spawn()?;
        if let (Some(pid), Ok(mut running)) = (child.id(), running.lock()) {
            running.insert(launch.name, pid);
        }
        tokio::select! {
            () = shutdown.wait() => {
                if launch.name == "nrf" {
                    until_alone(&running, launch.name).await;
                }
                let outcome = stop(child, launch.name).await;
                if let Ok(mut running) = running.lock() {
                    running.remove(launch.name);
                }
                return outcome;
            }
            status = child.wait() => {
                if let Ok(mut running) = running.lock() {
                    running.remove(launch.name);
                }
                ends.retain(|at| at.elapsed() < WINDOW);
                ends.push(Instant::now());
                let status = status?;
                if ends.len() > MOST_RESTARTS || (ends.len() == 1 && status.code() == Some(1)) {
                    bail!("{} ended ({status}); its log says why", launch.name);
                }
                tracing::error!(nf = launch.name, %status, "the process ended and is started again");
                tokio::time::sleep(Duration::from_millis(100) * ends.len() as u32).await;
            }
        }
    }
}

/// The NRF ends last: the others take back what they registered there, and would wait in vain for
/// one that is gone.
async fn until_alone(running: &Running, name: &str) {
    let others = || running.lock().is_ok_and(|running| running.keys().any(|other| *other != name));
    let deadline = Instant::now() + PATIENCE;
    while others() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn stop(mut child: Child, name: &str) -> Result<()> {
    let asked = Instant::now();
    if let Some(pid) = child.id() {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid as i32),
            nix::sys::signal::Signal::SIGTERM,
        );
    }
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(_) => tracing::debug!(nf = name, ms = asked.elapsed().as_millis() as u64, "ended"),
        Err(_) => {
            tracing::warn!(nf = name, "did not end within {} s and is killed", PATIENCE.as_secs());
            child.kill().await?;
        }
    }
    Ok(())
}

/// Asks each process for its status once a second, and says once when all have answered.
async fn gather_status(
    config: Config,
    seen: Arc<RwLock<serde_json::Value>>,
    up: Arc<std::sync::atomic::AtomicBool>,
    started: Instant,
) {
    let mut all_up = false;
    loop {
        let mut nfs = Vec::new();
        for name in names(&config) {
            if let Ok(status) = oam_client::status(config.oam.of(name)).await {
                nfs.extend(status["nfs"].as_array().cloned().unwrap_or_default());
            }
        }
        let now = nfs.len() == names(&config).count() && all_are_found(&nfs);
        up.store(now, std::sync::atomic::Ordering::Relaxed);
        if !all_up && now {
            all_up = true;
            tracing::info!(ms = started.elapsed().as_millis() as u64, "Martlet is ready");
        }
        if let Ok(mut seen) = seen.write() {
            *seen = serde_json::Value::Array(nfs);
        }
        tokio::time::sleep(Duration::from_millis(if all_up { 1000 } else { 20 })).await;
    }
}

/// Whether the NRF knows every function that has services.
fn all_are_found(nfs: &[serde_json::Value]) -> bool {
    let nrf = nfs.iter().find(|nf| nf["name"] == "nrf");
    let known =
        nrf.and_then(|nrf| nrf["status"]["registered"].as_array()).map_or(&[][..], Vec::as_slice);
    let with_services = nfs.iter().filter(|nf| nf["name"] != "nrf" && nf["name"] != "upf");
    with_services.into_iter().all(|nf| known.iter().any(|entry| entry["id"] == nf["instanceId"]))
}

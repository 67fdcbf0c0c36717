//! The runtime of a process, and the signals that end it.
use anyhow::Result;
use martlet::config::Config;
use martlet_nf::{Ready, Reload, ShutdownTrigger};
use sd_notify::NotifyState;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs on this thread alone: a request between two functions of the process costs no wake-up of
/// another thread.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Signals that come within this are one: timeout(1) sends its own to the process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(300);

/// Gives the shutdown signal on the first SIGINT or SIGTERM, and ends the process at once on a
/// second.
pub fn on_signal(trigger: ShutdownTrigger) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        let mut first = None;
        loop {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            match first {
                None => {
                    first = Some(Instant::now());
                    tracing::info!("ending; once more ends at once");
                    tell_systemd(&[NotifyState::Stopping]);
                    trigger.trigger();
                }
                Some(first) if first.elapsed() < ONE_SIGNAL => {}
                Some(_) => std::process::exit(130),
            }
        }
    });
    Ok(())
}

/// Has the kernel ask this process to end when the one that watches it is gone, however that came:
/// nobody would start or end it any more, and it would keep its addresses from the next core.
pub fn end_with(watcher: u32) -> Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?;
    if nix::unistd::getppid().as_raw() != watcher as i32 {
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM)?;
    }
    Ok(())
}

/// Tells systemd, where it started this process and wants to know (`Type=notify`).
fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::debug!(%error, "systemd was not told");
    }
}

/// Tells systemd once all is ready, and from then on at half the interval of its watchdog that the
/// process is alive: the runtime that runs the functions has to get round to it.
pub fn watch_readiness(ready: Ready) {
    tokio::spawn(async move {
        while ready().is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tell_systemd(&[NotifyState::Ready]);
        let Some(interval) = watchdog() else { return };
        loop {
            tell_systemd(&[NotifyState::Watchdog]);
            tokio::time::sleep(interval / 2).await;
        }
    });
}

/// The interval of systemd's watchdog, where it watches this process (sd_watchdog_enabled(3)).
fn watchdog() -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|interval| ours && *interval > 0).map(Duration::from_micros)
}

/// Reads the configuration anew on each SIGHUP. A wrong one changes nothing, and is told.
pub fn on_hangup(file: Option<PathBuf>, functions: Vec<(&'static str, Reload)>) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match reload(file.as_deref(), &functions) {
                Ok(taken) => {
                    tracing::info!(
                        taken,
                        "the configuration is read anew; what is not named needs a new start"
                    )
                }
                Err(error) => tracing::error!("the configuration stays as it was: {error:#}"),
            }
        }
    });
    Ok(())
}

/// Hands each function its section; what they took of it.
fn reload(file: Option<&Path>, functions: &[(&'static str, Reload)]) -> Result<String> {
    let config = Config::load(file)?;
    let taken = functions.iter().filter_map(|(name, reload)| {
        let section: Box<dyn std::any::Any> = match *name {
            "pcf" => Box::new(config.pcf.clone()),
            "udm" => Box::new(config.udm.clone()),
            _ => return None,
        };
        reload(section).map(|what| format!("{name}: {what}"))
    });
    Ok(taken.collect::<Vec<_>>().join("; "))
}

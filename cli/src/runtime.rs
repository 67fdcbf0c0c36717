//! The runtime of a process, its signals, and notifications to systemd.
use crate::reload::Reloader;
use anyhow::Result;
use martlet::config::Config;
use martlet_nf::{Ready, Shutdown, ShutdownTrigger};
use sd_notify::NotifyState;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs a future on this thread alone. A call between two functions of the process then wakes no
/// other thread.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Keeps keys in the memory of this process from core dumps and from debuggers of the same user.
/// The limit of core dumps, which the sandbox sets, does not apply where the kernel passes them to
/// a program (core(5)).
pub fn protect_memory() -> Result<()> {
    Ok(nix::sys::prctl::set_dumpable(false)?)
}

/// Signals within this time count as one: timeout(1) signals the process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Triggers the shutdown on the first SIGINT or SIGTERM. A second signal exits at once.
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
                    tracing::info!("shutting down; a second signal exits at once");
                    notify_systemd(&[NotifyState::Stopping]);
                    trigger.trigger();
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => std::process::exit(130),
            }
        }
    });
    Ok(())
}

/// Time of an orderly stop that systemd waits for beyond a graceful release of the UPF.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// At the shutdown, asks systemd to wait for the graceful release of a UPF. It would kill the
/// process after the `TimeoutStopSec` of the unit, before SMFs have moved the sessions away.
pub fn extend_stop(config: &Config, shutdown: Shutdown) {
    let waits = Duration::from_secs(config.upf.n4.graceful_release_s);
    if waits.is_zero() {
        return;
    }
    tokio::spawn(async move {
        shutdown.wait().await;
        let micros = u32::try_from((waits + STOP_MARGIN).as_micros()).unwrap_or(u32::MAX);
        notify_systemd(&[NotifyState::ExtendTimeoutUsec(micros)]);
    });
}

/// Makes the kernel terminate this process when its parent ends. Without its supervisor it would
/// keep running and occupy its addresses.
pub fn exit_with_parent(parent: u32) -> Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?;
    if nix::unistd::getppid().as_raw() != parent as i32 {
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM)?;
    }
    Ok(())
}

/// Notifies systemd, if it started this process with `Type=notify`.
fn notify_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::debug!(%error, "notification to systemd failed");
    }
}

/// How long systemd waits for what is missing at the start, such as an NRF of another machine.
/// Without a notification it would end the process after 90 s (TimeoutStartSec).
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the questions whether the process is ready.
const START_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until the process is ready, or has started and lacks something.
async fn started(ready: &Ready, longest: Duration) {
    let give_up = Instant::now() + longest;
    while ready().is_err() && Instant::now() < give_up {
        tokio::time::sleep(START_INTERVAL).await;
    }
}

/// Notifies systemd when the process is ready, or has been started for [`START_TIMEOUT`], and then
/// twice per watchdog interval that it is alive. This task shares the runtime with the functions,
/// so it proves that the runtime makes progress.
pub fn notify_readiness(ready: Ready) {
    tokio::spawn(async move {
        started(&ready, START_TIMEOUT).await;
        notify_systemd(&[NotifyState::Ready]);
        let Some(interval) = watchdog() else { return };
        loop {
            notify_systemd(&[NotifyState::Watchdog]);
            tokio::time::sleep(interval / 2).await;
        }
    });
}

/// The interval of systemd's watchdog, if it watches this process (sd_watchdog_enabled(3)).
fn watchdog() -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|interval| ours && *interval > 0).map(Duration::from_micros)
}

/// Reloads the configuration and renewed certificates on each SIGHUP. A wrong configuration changes
/// nothing.
pub fn on_hangup(reloader: Arc<Mutex<Reloader>>) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let reloaded = reloader.lock().unwrap_or_else(PoisonError::into_inner).reload();
            match reloaded {
                Ok(done) => tracing::info!("{done}"),
                Err(error) => {
                    let reason = martlet::error_text(&error);
                    tracing::error!("configuration not reloaded: {reason}");
                }
            }
            martlet::certificates::check(true).await;
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nf::NotReady;

    /// systemd would end a core whose NRF or UPF is on a machine that is down.
    #[tokio::test]
    async fn a_start_ends_although_something_is_missing() {
        let missing: Ready = Arc::new(|| Err(NotReady::Waiting("no UPF is associated")));
        let limit = Duration::from_secs(10);
        let ended = tokio::time::timeout(limit, started(&missing, 2 * START_INTERVAL));
        assert!(ended.await.is_ok(), "it waits for ever");
        let complete: Ready = Arc::new(|| Ok(()));
        let ended = tokio::time::timeout(limit, started(&complete, 2 * limit));
        assert!(ended.await.is_ok(), "it waits although nothing is missing");
    }
}

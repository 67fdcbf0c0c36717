//! The watchdog of a core in one process: a function that blocks the thread stops all functions,
//! and Rust cannot interrupt it. The watchdog reports which function it is, and ends the process at
//! a limit, so that the service manager starts it again.
use martlet::config::WatchdogSection;
use martlet_tasks::watchdog::{Blocked, Observer};
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;
use std::time::Duration;

/// Exit code at the limit: an internal software error (sysexits(3)).
const EXIT_CODE: i32 = 70;
/// Time for an orderly exit. A blocked thread may hold what the exit needs.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Observations of a blocked thread before the limit.
const OBSERVATIONS: u32 = 4;

static BLOCKED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Times that a function blocked the thread of all functions, by the watchdog";
    register_int_counter_vec!("martlet_function_blocked_total", help, &["nf"])
        .expect("registered once")
});

/// Starts the watchdog in a thread of its own, unless it is off.
///
/// # Errors
/// The thread cannot be started.
pub fn start(section: &WatchdogSection) -> std::io::Result<()> {
    if section.limit_ms == 0 {
        return Ok(());
    }
    let limit = Duration::from_millis(section.limit_ms.into());
    let period = limit / OBSERVATIONS;
    let watch = move || {
        let mut observer = Observer::new(period);
        loop {
            std::thread::sleep(period);
            for blocked in observer.observe() {
                report(&blocked, period, limit);
            }
        }
    };
    std::thread::Builder::new().name("watchdog".into()).spawn(watch)?;
    Ok(())
}

fn report(blocked: &Blocked, period: Duration, limit: Duration) {
    let Blocked { function, duration } = *blocked;
    let seconds = duration.as_secs_f64();
    if duration >= limit {
        // Logging and the exit may wait for the blocked thread.
        let abort = || {
            std::thread::sleep(EXIT_TIMEOUT);
            std::process::abort();
        };
        let _ = std::thread::Builder::new().name("abort".into()).spawn(abort);
        tracing::error!(nf = function, seconds, "function blocks the thread: the process ends");
        eprintln!(
            "martlet: {function} has blocked the thread of all functions for {seconds} s \
             (oam.watchdog.limit_ms): the process ends"
        );
        std::process::exit(EXIT_CODE);
    }
    if duration == period {
        BLOCKED.with_label_values(&[function]).inc();
    }
    tracing::error!(nf = function, seconds, "function blocks the thread");
}

//! Waiting for a state that a core reaches soon.
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Longer than a retransmitted NAS message takes on a busy machine (TS 24.501, table 10.3.2: timers
/// of 6 to 16 s).
const TIMEOUT: Duration = Duration::from_secs(60);

/// Polls `holds` until it returns a value. `state` describes the state for the error.
///
/// # Errors
/// It returns no value within 60 s.
pub async fn eventually<T>(
    what: &str,
    mut holds: impl FnMut() -> Option<T>,
    state: impl Fn() -> String,
) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = holds() {
            return Ok(value);
        }
        if started.elapsed() > TIMEOUT {
            bail!("{what}: not within {TIMEOUT:?}; state: {}", state());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

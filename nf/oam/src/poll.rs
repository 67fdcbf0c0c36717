//! Polls the core for the monitor, once for all viewers.
use crate::state::Oam;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval of the polls with viewers.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the polls without viewers, which detect lost gNBs. A reader of figures, alarms or
/// events then gets those of a new poll.
const IDLE_INTERVAL: Duration = Duration::from_secs(60);
/// Time from the last viewer until the core rests.
const AFTER_VIEWERS: Duration = Duration::from_secs(5);
/// Age of figures from which a reader causes a poll.
const STALE: Duration = Duration::from_secs(2);
/// Interval between two reads of the certificates: their alarms end soon after a renewal.
const CERTIFICATES: Duration = Duration::from_secs(60);

/// How long the AMF may take to name the UEs that changed.
const CHANGED_UES_TIMEOUT: Duration = Duration::from_secs(2);

/// The UEs that changed after a position, as the AMF answers.
#[derive(Deserialize)]
struct ChangedUes {
    position: u64,
    supis: Vec<String>,
    complete: bool,
}

/// The event of the UEs whose state changed since the last poll, if there are any.
async fn changed_ues(oam: &Oam, last: &mut Option<u64>) -> Option<Value> {
    let asked = oam.core.ask("amf", format!("amf/ues-changed/{}", last.unwrap_or(0)));
    // A core without an AMF has no UEs.
    let answer = tokio::time::timeout(CHANGED_UES_TIMEOUT, asked).await.ok()?.ok()?;
    let changed: ChangedUes = serde_json::from_value(answer).ok()?;
    let is_first = last.replace(changed.position).is_none();
    let is_unchanged = changed.complete && changed.supis.is_empty();
    (!is_first && !is_unchanged)
        .then(|| json!({"supis": changed.supis, "complete": changed.complete}))
}

/// Polls the core unless it was polled meanwhile. Returns the status that it read.
async fn poll(oam: &Oam, age: Duration) -> Option<Value> {
    let mut polled = oam.polled.lock().await;
    if polled.last.is_some_and(|last| last.elapsed() < age) {
        return None;
    }
    if polled.certificates_at.is_none_or(|at| at.elapsed() >= CERTIFICATES) {
        polled.certificates =
            oam.core_blocking(|core| core.certificates()).await.unwrap_or_default();
        polled.certificates_at = Some(Instant::now());
    }
    let status = oam.core.status().await;
    for (kind, event) in oam.monitor.take(&status, &polled.certificates) {
        oam.events.push(kind, &event);
    }
    let position = polled.position;
    let read = oam.core_blocking(move |core| core.events_after(position)).await;
    if let Ok((events, next)) = read {
        polled.position = next;
        events.iter().for_each(|event| oam.events.push("ue", event));
    }
    if let Some(event) = changed_ues(oam, &mut polled.ue_states).await {
        oam.events.push("ue_state", &event);
    }
    polled.last = Some(Instant::now());
    Some(status)
}

/// Polls the core if the figures are old. Returns the status that it read.
pub async fn refresh(oam: &Oam) -> Option<Value> {
    poll(oam, STALE).await
}

/// Polls the core until the future is dropped.
pub async fn run(oam: Arc<Oam>) {
    let mut due = Instant::now();
    loop {
        if oam.events.readers() > 0 {
            poll(&oam, Duration::ZERO).await;
            oam.events.push("overview", &json!(oam.monitor.overview()));
            due = Instant::now() + AFTER_VIEWERS;
        } else if due <= Instant::now() {
            poll(&oam, STALE).await;
            oam.core.rests();
            due = Instant::now() + IDLE_INTERVAL;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

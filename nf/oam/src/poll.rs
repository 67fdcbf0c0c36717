//! Polls the core for the monitor, once for all viewers.
use crate::state::Oam;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Interval of the polls with viewers, and without.
const INTERVAL: Duration = Duration::from_secs(1);
/// Polls without viewers: alarms need no more.
const IDLE_POLLS: u32 = 5;
/// Polls the core until the future is dropped.
pub async fn run(oam: Arc<Oam>) {
    let (mut position, mut idle, mut seconds) = (0, 0, 0_u64);
    let mut certificates = Vec::new();
    loop {
        let is_watched = oam.events.readers() > 0;
        if is_watched || idle == 0 {
            if seconds.is_multiple_of(3600) {
                certificates =
                    oam.core_blocking(|core| core.certificates()).await.unwrap_or_default();
            }
            let status = oam.core.status().await;
            for (kind, event) in oam.monitor.take(&status, &certificates) {
                oam.events.push(kind, &event);
            }
            let read = oam.core_blocking(move |core| core.events_after(position)).await;
            if let Ok((events, next)) = read {
                position = next;
                events.iter().for_each(|event| oam.events.push("ue", event));
            }
            if is_watched {
                oam.events.push("overview", &json!(oam.monitor.overview()));
            }
        }
        idle = if is_watched { 0 } else { (idle + 1) % IDLE_POLLS };
        seconds += 1;
        tokio::time::sleep(INTERVAL).await;
    }
}

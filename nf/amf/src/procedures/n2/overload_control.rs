//! Overload control (TS 38.413, 8.7.6 and 8.7.7; TS 23.501, 5.19.5.2): while UEs are rejected with
//! #22, gNBs admit only mobile-terminated and emergency access.
//!
//! ```text
//! AMF -> gNBs  OVERLOAD START, at the first reject
//! AMF -> gNBs  OVERLOAD STOP, amf.limits.overload_ms after the last reject
//! ```
use crate::Amf;
use crate::metrics;
use martlet_nf::Shutdown;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Sends OVERLOAD START and OVERLOAD STOP until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let hold = Duration::from_millis(amf.config.limits.overload_ms.into());
    let (mut seen, mut since, mut notified) = (0, None, BTreeSet::new());
    loop {
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL.min(hold)) => {}
            () = shutdown.wait() => return,
        }
        let congestion_rejects = amf.congestion_rejects.load(Ordering::Relaxed);
        let now = tokio::time::Instant::now();
        if congestion_rejects != seen {
            (seen, since) = (congestion_rejects, Some(now));
        }
        let overloaded = since.is_some_and(|since| now.duration_since(since) < hold);
        match overloaded {
            true => start(&amf, &mut notified).await,
            false if !notified.is_empty() => stop(&amf, &mut notified).await,
            false => {}
        }
    }
}

/// Sends OVERLOAD START to each gNB that has not got it yet.
async fn start(amf: &Amf, notified: &mut BTreeSet<u64>) {
    let response = OverloadResponse::overloadAction(OverloadAction::reject_rrc_cr_signalling);
    let Ok(message) =
        build_ngap!(InitiatingMessage, OverloadStart, OverloadStart, AMFOverloadResponse(response))
    else {
        return;
    };
    if notified.is_empty() {
        metrics::overloads();
        tracing::warn!("overload started: UEs rejected with #22; OVERLOAD START sent to the gNBs");
    }
    for gnb in amf.gnbs.all() {
        if gnb.setup().is_some() && notified.insert(gnb.number) {
            gnb.send(0, &message).await;
        }
    }
}

/// Sends OVERLOAD STOP.
async fn stop(amf: &Amf, notified: &mut BTreeSet<u64>) {
    tracing::info!("overload ended");
    let Ok(message) = build_ngap!(InitiatingMessage, OverloadStop, OverloadStop,) else { return };
    for gnb in amf.gnbs.all() {
        if notified.contains(&gnb.number) {
            gnb.send(0, &message).await;
        }
    }
    notified.clear();
}

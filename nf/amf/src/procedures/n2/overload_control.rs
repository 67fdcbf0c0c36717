//! Overload (TS 38.413, 8.7.6 and 8.7.7; TS 23.501, 5.19.5.2): while UEs have to be told to come
//! back later, gNBs are asked to keep signalling away; what was called by the network, and
//! emergencies, they let through.
use crate::Amf;
use crate::metrics;
use martlet_nf::Shutdown;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often is looked.
const LOOK: Duration = Duration::from_millis(500);

/// Tells gNBs when an overload begins, and when it has ended: when no UE was turned away for as
/// long as the configuration says.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let calm = Duration::from_millis(amf.config.limits.overload_ms.into());
    let (mut seen, mut since, mut told) = (0, None, BTreeSet::new());
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK.min(calm)) => {}
            () = shutdown.wait() => return,
        }
        let turned_away = amf.turned_away.load(Ordering::Relaxed);
        let now = tokio::time::Instant::now();
        if turned_away != seen {
            (seen, since) = (turned_away, Some(now));
        }
        let overloaded = since.is_some_and(|since| now.duration_since(since) < calm);
        match overloaded {
            true => start(&amf, &mut told).await,
            false if !told.is_empty() => stop(&amf, &mut told).await,
            false => {}
        }
    }
}

/// OVERLOAD START to each gNB that has not got it yet.
async fn start(amf: &Amf, told: &mut BTreeSet<u64>) {
    let response = OverloadResponse::overloadAction(OverloadAction::reject_rrc_cr_signalling);
    let Ok(message) =
        build_ngap!(InitiatingMessage, OverloadStart, OverloadStart, AMFOverloadResponse(response))
    else {
        return;
    };
    if told.is_empty() {
        metrics::overloads();
        tracing::warn!("overload: UEs are turned away, and gNBs are asked to keep signalling away");
    }
    for gnb in amf.gnbs.all() {
        if gnb.setup().is_some() && told.insert(gnb.number) {
            gnb.send(0, &message).await;
        }
    }
}

/// OVERLOAD STOP.
async fn stop(amf: &Amf, told: &mut BTreeSet<u64>) {
    tracing::info!("the overload has ended");
    let Ok(message) = build_ngap!(InitiatingMessage, OverloadStop, OverloadStop,) else { return };
    for gnb in amf.gnbs.all() {
        if told.contains(&gnb.number) {
            gnb.send(0, &message).await;
        }
    }
    told.clear();
}

//! An AMF that is cut off from the database of its set: it cannot renew its lease, so it must not
//! serve UEs, and another AMF may take them over (TS 23.501, 5.21.2).
//!
//! ```text
//! AMF         NRF         gNBs
//!  |-- status SUSPENDED ->|  |   when the lease is over
//!  |-- other AMFs of the set? ->|
//!  |   AMF STATUS INDICATION -->|   after amf.n2.cut_off_ms, if another one serves, or if the
//!  |   OVERLOAD START --------->|   NRF does not answer either
//!  |   association closed ----->|   gNBs and UEs use another AMF
//! ```
//!
//! While the database fails for the whole set, all members are suspended, and none closes its
//! associations. New associations are refused until the lease is renewed.
use crate::Amf;
use crate::metrics;
use martlet_nf::Shutdown;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfStatus, NfType};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between two checks of the lease.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long another AMF must have served while this one could not.
const CONFIRMATION: Duration = Duration::from_millis(1500);
/// Time limit of the request to the NRF.
const NRF_TIMEOUT: Duration = Duration::from_millis(1500);

/// Watches the lease until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let limit = amf.config.n2.cut_off();
    // Since when another AMF serves while this one does not.
    let mut other_since: Option<Instant> = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = shutdown.wait() => return,
        }
        let Some(overdue) = amf.contexts.overdue() else {
            if amf.cut_off.set(false) {
                tracing::warn!("lease renewed: gNBs are accepted again");
            }
            amf.context.set_operative(true);
            other_since = None;
            continue;
        };
        if overdue < INTERVAL {
            continue;
        }
        amf.context.set_operative(false);
        let Some(limit) = limit.filter(|_| !amf.cut_off.is_set()) else { continue };
        match another_serves(&amf).await {
            true => drop(other_since.get_or_insert_with(Instant::now)),
            false => other_since = None,
        }
        // When the database is back for the whole set, another AMF may renew its lease a moment
        // earlier than this one.
        let is_confirmed = other_since.is_some_and(|since| since.elapsed() >= CONFIRMATION);
        if overdue >= limit && is_confirmed && amf.contexts.overdue().is_some() {
            let ms = overdue.as_millis() as u64;
            metrics::cut_off();
            tracing::error!(
                ms,
                gnbs = amf.gnbs.set_up(),
                "lease not renewed: associations closed, so that gNBs use another AMF of the set"
            );
            amf.cut_off.set(true);
        }
    }
}

/// Whether another AMF of the set serves UEs. True also if the NRF does not answer, since this AMF
/// has then lost more than the database.
async fn another_serves(amf: &Amf) -> bool {
    let Some(guami) = amf.served.guamis.first() else { return false };
    let query = SearchQuery {
        target_nf_type: Some(NfType::Amf),
        requester_nf_type: Some(NfType::Amf),
        requester_nf_instance_id: Some(amf.instance_id.clone()),
        amf_region_id: Some(guami.sbi.amf_id.region_id()),
        amf_set_id: Some(guami.sbi.amf_id.set_id()),
        ..Default::default()
    };
    let nrf = NfDiscoveryClient::new(amf.context.nrf().within(NRF_TIMEOUT));
    match nrf.search_nf_instances(query).await {
        Ok(found) => found.nf_instances.iter().any(|profile| {
            profile.nf_instance_id != amf.instance_id && profile.nf_status == NfStatus::Registered
        }),
        Err(_) => true,
    }
}

//! AMF planned removal (TS 23.501, 5.21.2.2.1): before an AMF of a set stops, new messages of UEs
//! go to other members, and the procedures that it has begun end.
//!
//! ```text
//! AMF -> store  where it is asked for contexts, also while it is suspended at the NRF
//! AMF -> gNBs   AMF STATUS INDICATION          first messages of UEs go to another AMF
//! AMF <-> UEs   the running procedures end
//! AMF -> gNB    UE CONTEXT RELEASE COMMAND     for a UE that has been quiet for QUIET
//! other AMF     asks for UEs that return       for HANDOVER_TIME
//! AMF -> gNBs   end of the associations        then, or after LIMIT
//! ```
//!
//! An AMF without another member in its set ends its associations at once: no other AMF could serve
//! the UEs.
use super::amf_status_indication;
use crate::Amf;
use crate::procedures::connection::an_release;
use crate::ue::{Awaited, Event, Ue, Work};
use futures_util::future::join_all;
use martlet_ngap::ngap::{Cause, CauseMisc};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The connection of a UE is released when no message about it has arrived for this time: it may be
/// between two procedures, or its session between SMF and gNB.
const QUIET: Duration = Duration::from_millis(500);
/// How long the AMF gives UEs that it has released to the AMF that they reach.
const HANDOVER_TIME: Duration = Duration::from_millis(500);
/// Time for all of this, without the associations. A supervisor kills a function after 3 s.
const LIMIT: Duration = Duration::from_secs(2);
/// Time for gNBs to process the indication.
const INDICATION_LIMIT: Duration = Duration::from_millis(500);
/// Time for the associations to end.
const ASSOCIATION_LIMIT: Duration = Duration::from_millis(500);
/// Time for the store to write where the AMF is asked for contexts.
const WRITE_LIMIT: Duration = Duration::from_millis(300);
/// Interval between two checks of the connections.
const INTERVAL: Duration = Duration::from_millis(20);

/// Ends the running procedures of the AMF, and then its associations.
pub(crate) async fn run(amf: &Arc<Amf>) {
    let started = Instant::now();
    let has_others = amf.contexts.has_other_members();
    if has_others {
        amf.context.set_draining(true);
        amf.store_contact(true);
        let store = amf.clone();
        let write = move || store.contexts.flush(WRITE_LIMIT);
        let _ = tokio::task::spawn_blocking(write).await;
    }
    let all = amf.gnbs.all();
    let gnbs = join_all(all.iter().map(|gnb| amf_status_indication::unavailable(amf, gnb)));
    let _ = tokio::time::timeout(INDICATION_LIMIT, gnbs).await;
    if has_others {
        let left = LIMIT.saturating_sub(started.elapsed());
        let ended = async {
            connections_end(amf).await;
            tokio::time::sleep(HANDOVER_TIME).await;
        };
        let in_time = tokio::time::timeout(left, ended).await.is_ok();
        let (left, ms) = (amf.tables.connected_ues().len(), started.elapsed().as_millis() as u64);
        tracing::info!(in_time, left, ms, "procedures ended before the stop");
        amf.store_contact(false);
    }
    amf.procedures_ended.set(true);
    let ended = async {
        while !amf.gnbs.all().is_empty() {
            tokio::time::sleep(INTERVAL).await;
        }
    };
    let _ = tokio::time::timeout(ASSOCIATION_LIMIT, ended).await;
}

/// Releases the connections of all UEs, each when it is quiet. Returns when none is left.
async fn connections_end(amf: &Amf) {
    let mut requested = HashSet::new();
    loop {
        let connected = amf.tables.connected_ues();
        if connected.is_empty() {
            return;
        }
        for (amf_id, ue) in connected {
            if !requested.contains(&amf_id) && ue.sender.try_send(Event::PlannedRemoval).is_ok() {
                requested.insert(amf_id);
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Releases the connection of a UE that is quiet; else once more after what it has sent.
pub(crate) async fn of_ue(ue: &mut Ue) {
    let is_removal: fn(&Work) -> bool = |work| matches!(work, Work::Event(Event::PlannedRemoval));
    if is_quiet(ue, is_removal, Event::PlannedRemoval).await {
        an_release::run(ue, Cause::misc(CauseMisc::om_intervention), Vec::new()).await;
    }
}

/// Whether a connected UE is quiet. If it is not, the event is deferred until what it has sent is
/// handled. `is_same` finds the event among deferred work.
pub(crate) async fn is_quiet(ue: &mut Ue, is_same: fn(&Work) -> bool, event: Event) -> bool {
    if ue.connection.is_none() || ue.task.deferred.iter().any(is_same) {
        return false;
    }
    if ue.task.deferred.is_empty() {
        let next = match ue.nas_queues.received.pop_front() {
            Some(nas) => ue.open(&nas).await.map(|inbound| Work::Nas(inbound.into())),
            None => match ue.next(Some(Instant::now() + QUIET)).await {
                Awaited::Event(event) => Some(Work::Event(event)),
                Awaited::Lost => Some(Work::ConnectionLost),
                Awaited::TargetLost => None,
                Awaited::Nothing => return true,
            },
        };
        ue.task.deferred.extend(next);
    }
    ue.task.deferred.push_back(Work::Event(event));
    false
}

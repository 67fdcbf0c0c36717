//! The AMF that has the UE: offers it, and drops its context when the other AMF has taken it.
use super::super::{configuration_update, guti_allocation};
use super::{NotMoved, flushed};
use crate::metrics::Procedure;
use crate::procedures::connection::{an_release, n1_n2_message_transfer};
use crate::procedures::n2::planned_removal;
use crate::takeover::FormerAmf;
use crate::ue::{ContextTransfer, Due, Event, HandoverPhase, Transfer, Ue, Work};
use martlet_nas::identifiers::AmfId;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1N2MessageTransferReqData, TransferReason, UeContextTransferReqData,
};

/// Moves a connected UE when it is quiet.
pub(crate) async fn of_ue(ue: &mut Ue) {
    if !ue.amf.rebalancing.is_running() {
        return;
    }
    let is_same: fn(&Work) -> bool = |work| matches!(work, Work::Event(Event::Rebalance));
    if planned_removal::is_quiet(ue, is_same, Event::Rebalance).await && prepare(ue).await {
        let cause = CauseRadioNetwork::release_due_to_5gc_generated_reason;
        an_release::run(ue, Cause::radioNetwork(cause), Vec::new()).await;
        released(ue);
    }
}

/// The UE is offered, and idle.
pub(crate) fn released(ue: &Ue) {
    // Without its confirmation the UE may come back with the former 5G-GUTI.
    let is_confirmed = ue.connection.is_none() && ue.identity.old_guti.is_none();
    if is_confirmed && ue.amf.rebalancing.is_offered(ue.handle.number) {
        ue.amf.rebalancing.set_idle(ue.handle.number, true);
        ue.persist();
        ue.amf.store_offers();
    }
}

/// Gives a connected UE a 5G-GUTI of the AMF that takes it. Returns whether the UE has
/// confirmed it: its connection is to be released then.
pub(crate) async fn prepare(ue: &mut Ue) -> bool {
    let Some(gnb) = ue.connection.as_ref().and_then(|connection| connection.gnb.setup()) else {
        return false;
    };
    if !may_move(ue) {
        return false;
    }
    let Some(target) = ue.amf.rebalancing.take_target(&gnb.id) else { return false };
    let procedure = Procedure::start("load_rebalancing");
    match prepare_for(ue, &target, &gnb.id).await {
        Ok(()) => {
            procedure.succeeded();
            true
        }
        Err(why) => {
            procedure.failed(why.label());
            ue.amf.rebalancing.return_target(&target);
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), %why, "UE not moved");
            false
        }
    }
}

/// Whether nothing runs that another AMF could not continue.
fn may_move(ue: &Ue) -> bool {
    let has_own_guti = ue.identity.guti.is_some_and(|guti| ue.amf.served.allocated(&guti));
    ue.is_registered()
        && has_own_guti
        && ue.identity.is_guti_confirmed()
        && ue.security.is_some()
        && ue.registration.subscription.is_some()
        && ue.registration.due == Due::default()
        && ue.target.is_none()
        && ue.handover_phase() == HandoverPhase::None
        && ue.context_transfer == ContextTransfer::None
        && ue.pending.is_empty()
        && ue.task.deferred.is_empty()
        && ue.nas_queues.received.is_empty()
        && ue.positioning.subscriptions.is_empty()
        && ue.positioning.nrppa.list.is_empty()
        && ue.sessions.iter().all(|(_, session)| !session.state.is_releasing())
}

/// Offers the UE at this gNB to the other AMF, and gives it the new 5G-GUTI.
async fn prepare_for(ue: &mut Ue, target: &AmfId, gnb: &str) -> Result<(), NotMoved> {
    let (amf, number, plmn) = (ue.amf.clone(), ue.handle.number, ue.guami().plmn);
    let tmsi = amf.tables.allocate_tmsi(&ue.handle);
    let Ok(guti) = target.guti(plmn, tmsi) else {
        amf.tables.release_tmsi(tmsi, number);
        return Err(NotMoved::NotEncodable);
    };
    // The other AMF knows the UE before the UE can reach it.
    amf.rebalancing.offer(number, &guti, gnb);
    amf.store_offers();
    if !flushed(&amf).await {
        amf.rebalancing.withdraw(number);
        amf.tables.release_tmsi(tmsi, number);
        return Err(NotMoved::NotStored);
    }
    guti_allocation::assign(ue, guti);
    let sent = configuration_update::confirm_guti(ue).await;
    if let Err(stop) = sent {
        ue.handle_stop(stop).await;
    }
    // Without an answer the UE may have either: it is offered until it connects here again.
    match ue.identity.old_guti {
        None => Ok(()),
        Some(_) => Err(NotMoved::NotConfirmed),
    }
}

/// Writes the context of an offered UE as it is now to the store, from which the other AMF reads
/// it.
///
/// # Errors
/// The UE has a 5G-GUTI of another AMF, and is not offered any more; or the store does not answer.
pub(crate) async fn before_transfer(
    ue: &Ue,
    asked: &UeContextTransferReqData,
) -> Result<(), Problem> {
    if asked.reason != TransferReason::MobiRegUeValidated
        || !ue.amf.rebalancing.is_offered(ue.handle.number)
    {
        return Ok(());
    }
    ue.persist();
    match flushed(&ue.amf).await {
        true => Ok(()),
        false => Err(Problem::new(503, "NF_CONGESTION").detail("the database does not answer")),
    }
}

/// The other AMF has taken the UE. It gets the transfers that wait for the UE.
pub(crate) fn moved(ue: &mut Ue) {
    let number = ue.handle.number;
    let guti = ue.identity.guti.filter(|_| ue.amf.rebalancing.is_offered(number));
    let Some(guti) = guti else { return };
    ue.amf.rebalancing.moved(number);
    let pending = std::mem::take(&mut ue.pending);
    if pending.is_empty() {
        return;
    }
    let (amf, supi) = (ue.amf.clone(), ue.label());
    martlet_nf::spawn(async move {
        let Ok(FormerAmf { peer, .. }) = amf.former_amf(&AmfId::of_guti(&guti), &guti).await else {
            return;
        };
        let client = AmfCommunicationClient::new(peer.about(&supi));
        for transfer in pending {
            if let Err(problem) = client.n1_n2_message_transfer(&supi, again(transfer)).await {
                tracing::info!(supi, %problem, "waiting transfer not given to the other AMF");
            }
        }
    });
}

/// A transfer as another NF sent it.
fn again(transfer: Transfer) -> Multipart<N1N2MessageTransferReqData> {
    let request = transfer.request;
    let n1 =
        request.n1_message_container.as_ref().map(|n1| n1.n1_message_content.content_id.clone());
    let n2 = n1_n2_message_transfer::n2_content_id(&request);
    let mut body = Multipart::new(request);
    if let (Some(id), Some(part)) = (n1, transfer.n1) {
        body = body.part(&id, content_type::NAS, part);
    }
    if let (Some(id), Some(part)) = (n2, transfer.n2) {
        body = body.part(&id, content_type::NGAP, part);
    }
    body
}

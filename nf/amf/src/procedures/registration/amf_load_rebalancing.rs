//! AMF load re-balancing (TS 23.501, 5.19.4): a registered UE moves to another AMF of the set. This
//! file has both sides; [`rebalancing`](crate::rebalancing) determines which UEs move.
//!
//! ```text
//! AMF -> context store  the UE is offered to the other AMF
//! AMF <-> UE            CONFIGURATION UPDATE with a 5G-GUTI of the other AMF
//! AMF -> gNB            UE CONTEXT RELEASE COMMAND
//! other AMF             reads the offer, or gets the UE's next message
//! other AMF -> AMF      UEContextTransfer
//! AMF -> context store  the context as it is now
//! other AMF             stores the context as its own
//! other AMF -> AMF      RegistrationStatusUpdate (TRANSFERRED): the AMF drops the context
//! AMF -> other AMF      transfers that wait for the UE
//! other AMF             tells SMFs, PCF and UDM
//! ```
//!
//! The UE's task at the AMF gives the context once. The other AMF acts on it only when the AMF has
//! dropped it. The 5G-GUTI is of the other AMF, so that gNBs send the UE's messages there.
use super::amf_set_takeover::{self, report_serving_amf, verify};
use super::{configuration_update, guti_allocation};
use crate::metrics::{self, Procedure};
use crate::persisted::PersistedUe;
use crate::procedures::connection::{an_release, n1_n2_message_transfer};
use crate::procedures::n2::planned_removal;
use crate::rebalancing::{self, Member, Offer};
use crate::ue::{
    ContextTransfer, Due, Event, HandoverPhase, RmState, Transfer, Ue, UeHandle, Work,
};
use crate::{Amf, takeover::FormerAmf};
use bytes::Bytes;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::Inbound;
use martlet_nas::{Guti, Nas5gmmMessage, Nas5gsMessage};
use martlet_nf::Shutdown;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::AccessType;
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1N2MessageTransferReqData, TransferReason, UeContextTransferReqData,
    UeContextTransferStatus, UeRegStatusUpdateReqData,
};
use std::sync::Arc;
use std::time::Duration;

/// Time for the store to write an offer or a context.
const WRITE_LIMIT: Duration = Duration::from_millis(500);
/// Time for the AMF that offers a UE to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between two reads of the members' loads and offers.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same while UEs are moved.
const BUSY_INTERVAL: Duration = Duration::from_millis(200);

/// Both: stores the load, takes offered UEs and moves UEs, until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let mut interval = INTERVAL;
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = amf.rebalancing.begun.notified() => {}
            () = shutdown.wait() => return,
        }
        interval = INTERVAL;
        if !amf.contexts.has_other_members() {
            amf.rebalancing.end();
            continue;
        }
        if amf.contexts.overdue().is_some() {
            continue;
        }
        amf.store_load();
        let Some(members) = amf.other_members().await else { continue };
        let has_taken = take_offers(&amf, &members);
        rebalancing::review(&amf, &members).await;
        let is_running = rebalancing::advance(&amf);
        if !is_running {
            rebalancing::begin_if_due(&amf, &members).await;
        }
        if is_running || has_taken {
            interval = BUSY_INTERVAL;
        }
    }
}

/// Other AMF: takes the idle UEs that are offered to it. Returns whether there are any.
fn take_offers(amf: &Arc<Amf>, members: &[(AmfId, Member)]) -> bool {
    let mut has_taken = false;
    for (owner, member) in members {
        for offer in member.offers.iter().filter(|offer| offer.is_idle) {
            let is_own = offer.guti().is_some_and(|guti| amf.served.allocated(&guti));
            has_taken |= is_own && take_idle(amf, *owner, offer);
        }
    }
    has_taken
}

/// AMF: moves a connected UE when it is quiet.
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

/// AMF: the UE is offered, and idle.
pub(crate) fn released(ue: &Ue) {
    // Without its confirmation the UE may come back with the former 5G-GUTI.
    let is_confirmed = ue.connection.is_none() && ue.identity.old_guti.is_none();
    if is_confirmed && ue.amf.rebalancing.is_offered(ue.handle.number) {
        ue.amf.rebalancing.set_idle(ue.handle.number, true);
        ue.persist();
        ue.amf.store_offers();
    }
}

/// AMF: gives a connected UE a 5G-GUTI of the AMF that takes it. Returns whether the UE has
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
    match prepare_for(ue, &target).await {
        Ok(()) => {
            procedure.succeeded();
            true
        }
        Err(why) => {
            procedure.failed(why);
            ue.amf.rebalancing.return_target(&target);
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), why, "UE not moved");
            false
        }
    }
}

/// Whether nothing runs that another AMF could not continue.
fn may_move(ue: &Ue) -> bool {
    let has_own_guti = ue.identity.guti.is_some_and(|guti| ue.amf.served.allocated(&guti));
    ue.is_registered()
        && has_own_guti
        && ue.identity.old_guti.is_none()
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

async fn prepare_for(ue: &mut Ue, target: &AmfId) -> Result<(), &'static str> {
    let (amf, number, plmn) = (ue.amf.clone(), ue.handle.number, ue.guami().plmn);
    let tmsi = amf.tables.allocate_tmsi(&ue.handle);
    let Ok(guti) = target.guti(plmn, tmsi) else {
        amf.tables.release_tmsi(tmsi, number);
        return Err("not_encodable");
    };
    // The other AMF knows the UE before the UE can reach it.
    amf.rebalancing.offer(number, &guti);
    amf.store_offers();
    if !flushed(&amf).await {
        amf.rebalancing.withdraw(number);
        amf.tables.release_tmsi(tmsi, number);
        return Err("not_stored");
    }
    guti_allocation::assign(ue, guti);
    let sent = configuration_update::confirm_guti(ue).await;
    if let Err(stop) = sent {
        ue.handle_stop(stop).await;
    }
    // Without an answer the UE may have either: it is offered until it connects here again.
    match ue.identity.old_guti {
        None => Ok(()),
        Some(_) => Err("not_confirmed"),
    }
}

async fn flushed(amf: &Arc<Amf>) -> bool {
    let amf = amf.clone();
    let flush = move || amf.contexts.flush(WRITE_LIMIT);
    tokio::task::spawn_blocking(flush).await.unwrap_or(false)
}

/// AMF: the store has the context of an offered UE as it is now, which the other AMF reads.
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

/// AMF: the other AMF has taken the UE. It gets the transfers that wait for the UE.
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

/// Other AMF: takes an idle UE that is offered to this AMF, in a task of its own. Returns whether
/// it begins: not if it takes the UE already.
fn take_idle(amf: &Arc<Amf>, owner: AmfId, offer: &Offer) -> bool {
    let Some(guti) = offer.guti().filter(|_| amf.tables.len() < amf.config.limits.max_ues) else {
        return false;
    };
    let (sender, inbox) = martlet_event_queue::bounded(amf.config.limits.ue_queue);
    let handle = UeHandle { number: amf.tables.next_number(), sender };
    // From here the UE's messages wait in the queue of this task.
    if !amf.tables.claim_free_tmsi(guti.tmsi(), &handle) {
        return false;
    }
    let number = handle.number;
    amf.rebalancing.set_taking(number, true);
    amf.tables.add(&handle);
    let mut ue = Box::new(Ue::new(amf.clone(), handle, inbox, false));
    ue.set_started();
    let offered = Offered { owner, offer: offer.clone(), guti };
    martlet_sbi::trace::spawn(Default::default(), async move {
        // Boxed, so that the task of an idle UE stays small.
        let taken = Box::pin(take(&mut ue, &offered, None)).await;
        ue.amf.rebalancing.set_taking(number, false);
        if taken.is_ok() {
            Box::pin(report_serving_amf(&mut ue)).await;
            ue.start_idle_timer();
            ue.publish();
            ue.persist();
        }
        ue.run().await;
    });
    true
}

/// Other AMF: the task that takes the UE with this 5G-TMSI, if it has begun after a message of the
/// UE was given to another task.
pub(crate) fn taking(ue: &Ue, tmsi: u32) -> Option<UeHandle> {
    let task = ue.amf.tables.by_tmsi(tmsi)?;
    (task.number != ue.handle.number && ue.amf.rebalancing.is_taking(task.number)).then_some(task)
}

/// Other AMF: takes the UE whose message this is, if it is offered to this AMF. Returns the
/// verified message.
pub(crate) async fn by_ue(ue: &mut Ue, nas: &Bytes) -> Option<Inbound> {
    let amf = ue.amf.clone();
    if !amf.contexts.has_other_members() {
        return None;
    }
    let guti = guti_of(ue, nas).filter(|guti| amf.served.allocated(guti))?;
    // From here no other task takes the UE.
    if !amf.tables.claim_free_tmsi(guti.tmsi(), &ue.handle) {
        return None;
    }
    let members = amf.other_members().await;
    let Some(offered) = members.and_then(|members| offer_of(&members, guti)) else {
        amf.tables.release_tmsi(guti.tmsi(), ue.handle.number);
        return None;
    };
    let inbound = take(ue, &offered, Some(nas)).await.ok()??;
    report_serving_amf(ue).await;
    Some(inbound)
}

/// Other AMF: a UE that another AMF offers.
struct Offered {
    /// The AMF that offers it.
    owner: AmfId,
    offer: Offer,
    /// Of this AMF.
    guti: Guti,
}

/// The offer of a UE with this 5G-GUTI.
fn offer_of(members: &[(AmfId, Member)], guti: Guti) -> Option<Offered> {
    members.iter().find_map(|(owner, member)| {
        let offer = member.offers.iter().find(|offer| offer.guti() == Some(guti))?;
        Some(Offered { owner: *owner, offer: offer.clone(), guti })
    })
}

/// The 5G-GUTI in an initial NAS message.
fn guti_of(ue: &Ue, nas: &Bytes) -> Option<Guti> {
    let message = match Nas5gsMessage::decode(nas).ok()? {
        Nas5gsMessage::SecurityProtected(_, inner) => *inner,
        message => message,
    };
    match message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) => {
            request.fgs_mobile_identity.as_guti()
        }
        _ => amf_set_takeover::guti_of(ue, nas),
    }
}

/// Takes an offered UE from its AMF. The result has the verified message of the UE, if there is
/// one.
async fn take(
    ue: &mut Ue,
    offered: &Offered,
    nas: Option<&Bytes>,
) -> Result<Option<Inbound>, &'static str> {
    let (procedure, guti) = (Procedure::start("load_rebalancing"), &offered.guti);
    match taken(ue, offered, nas).await {
        Ok(inbound) => {
            metrics::rebalanced("in");
            tracing::debug!(supi = ue.label(), %guti, "UE taken from another AMF of the set");
            procedure.succeeded();
            Ok(inbound)
        }
        Err(why) => {
            procedure.failed(why);
            if let Some(suppressed) = martlet_log_limit::line("offered_ue", why) {
                tracing::info!(%guti, why, suppressed, "offered UE not taken");
            }
            forget(ue, guti);
            Err(why)
        }
    }
}

async fn taken(
    ue: &mut Ue,
    offered: &Offered,
    nas: Option<&Bytes>,
) -> Result<Option<Inbound>, &'static str> {
    let amf = ue.amf.clone();
    // A message that is not the UE's takes nothing.
    if let Some(nas) = nas {
        let stored = read(&amf, offered).await?;
        verify(&stored, nas).ok_or("not_verified")?;
    }
    let peer = amf.former_amf(&offered.owner, &offered.guti).await.map_err(|_| "amf_unknown")?.peer;
    let client = AmfCommunicationClient::new(peer.within(ANSWER_TIMEOUT));
    let id = offered.guti.to_string();
    let question = UeContextTransferReqData::new(
        TransferReason::MobiRegUeValidated,
        AccessType::ThreeGppAccess,
    );
    let given = client.ue_context_transfer(&id, Multipart::new(question)).await;
    given.map_err(|_| "not_given")?;
    let inbound = match install(ue, offered, nas).await {
        Ok(inbound) => inbound,
        Err(why) => {
            let _ = report(&client, &id, UeContextTransferStatus::NotTransferred).await;
            return Err(why);
        }
    };
    if let Err(problem) = report(&client, &id, UeContextTransferStatus::Transferred).await {
        if problem.status() == 404 {
            return Err("withdrawn");
        }
        // It may have dropped the context, and its answer was lost.
        match report(&client, &id, UeContextTransferStatus::Transferred).await {
            Err(problem) if problem.status() != 404 => return Err("not_confirmed"),
            _ => {}
        }
    }
    ue.replace_previous_context().await;
    ue.publish();
    Ok(inbound)
}

async fn report(
    client: &AmfCommunicationClient,
    ue_context_id: &str,
    status: UeContextTransferStatus,
) -> Result<(), Problem> {
    let update = UeRegStatusUpdateReqData::new(status);
    client.registration_status_update(ue_context_id, update).await.map(|_| ())
}

async fn read(amf: &Arc<Amf>, offered: &Offered) -> Result<PersistedUe, &'static str> {
    let (amf, owner, offer) = (amf.clone(), offered.owner, offered.offer.clone());
    let read = move || amf.read_offered(&owner, &offer);
    let read = tokio::task::spawn_blocking(read).await.ok().and_then(Result::ok).flatten();
    serde_json::from_slice(&read.ok_or("not_stored")?).map_err(|_| "not_readable")
}

/// Makes the stored context this task's, and stores it under the name of this AMF.
async fn install(
    ue: &mut Ue,
    offered: &Offered,
    nas: Option<&Bytes>,
) -> Result<Option<Inbound>, &'static str> {
    let amf = ue.amf.clone();
    let stored = read(&amf, offered).await?;
    let verified = match nas {
        Some(nas) => Some(verify(&stored, nas).ok_or("not_verified")?),
        None => None,
    };
    if stored.guti().as_ref() != Some(&offered.guti) {
        return Err("other_guti");
    }
    stored.take_over(ue).map_err(|_| "not_restorable")?;
    let (security, inbound) = verified.unzip();
    if security.is_some() {
        // The NAS COUNT of the message is used.
        ue.security = security;
    }
    ue.persist();
    match flushed(&amf).await {
        true => Ok(inbound),
        false => Err("not_stored"),
    }
}

/// Drops what was taken: the other AMF has the UE.
fn forget(ue: &mut Ue, guti: &Guti) {
    let number = ue.handle.number;
    let all = ue.identity.guti.take().into_iter().chain(ue.identity.old_guti.take()).chain([*guti]);
    all.for_each(|guti| ue.amf.tables.release_tmsi(guti.tmsi(), number));
    (ue.identity.supi, ue.identity.pei, ue.security) = (None, None, None);
    (ue.registration.subscription, ue.registration.policy) = (None, None);
    ue.sessions.clear();
    ue.set_rm_state(RmState::Deregistered);
    ue.idle = None;
    ue.remove_persisted();
}

//! The other AMF: takes an offered UE, when it is idle or with its next message.
use super::super::amf_set_takeover::{self, report_serving_amf, verify};
use super::{NotMoved, flushed};
use crate::Amf;
use crate::metrics::{self, Procedure};
use crate::persisted::PersistedUe;
use crate::rebalancing::{Member, Offer};
use crate::ue::{ProcedureLayer, Ue, UeHandle};
use bytes::Bytes;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::Inbound;
use martlet_nas::{Guti, Nas5gmmMessage, Nas5gsMessage};
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, TransferReason, UeContextTransferStatus, UeRegStatusUpdateReqData,
};
use std::sync::Arc;
use std::time::Duration;

/// Time for the AMF that offers a UE to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Takes the idle UEs that are offered to it. Returns whether there are any.
pub(super) fn take_offers(amf: &Arc<Amf>, members: &[(AmfId, Member)]) -> bool {
    let mut has_taken = false;
    for (owner, member) in members {
        for offer in member.offers.iter().filter(|offer| offer.is_idle) {
            let is_own = offer.guti().is_some_and(|guti| amf.served.allocated(&guti));
            has_taken |= is_own && take_idle(amf, *owner, offer);
        }
    }
    has_taken
}

/// Takes an idle UE that is offered to this AMF, in a task of its own. Returns whether
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

/// The task that takes the UE with this 5G-TMSI, if it has begun after a message of the
/// UE was given to another task.
pub(crate) fn taking(ue: &Ue, tmsi: u32) -> Option<UeHandle> {
    let task = ue.amf.tables.by_tmsi(tmsi)?;
    (task.number != ue.handle.number && ue.amf.rebalancing.is_taking(task.number)).then_some(task)
}

/// Takes the UE whose message this is, if it is offered to this AMF. Returns the
/// verified message.
pub(crate) async fn by_ue(ue: &mut Ue, nas: &Bytes) -> Option<Inbound> {
    let amf = ue.amf.clone();
    if !amf.contexts.has_other_members() {
        return None;
    }
    let guti = guti_of(ue, nas).filter(|guti| amf.served.allocated(guti))?;
    let offered = offer_of(&amf.other_members().await?, guti)?;
    // A radio without keys of the UE takes nothing, and does not keep the UE's own message from it.
    let stored = read(&amf, &offered).await;
    if let Err(why) =
        stored.and_then(|stored| verify(&stored, nas).map(drop).ok_or(NotMoved::NotVerified))
    {
        not_taken(Procedure::start("load_rebalancing"), &guti, why);
        return None;
    }
    // From here no other task takes the UE.
    if !amf.tables.claim_free_tmsi(guti.tmsi(), &ue.handle) {
        return None;
    }
    let inbound = take(ue, &offered, Some(nas)).await.ok()??;
    report_serving_amf(ue).await;
    Some(inbound)
}

/// A UE that another AMF offers.
struct Offered {
    /// The AMF that offers it.
    owner: AmfId,
    offer: Offer,
    /// The 5G-GUTI of this AMF that the UE has.
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
            amf_set_takeover::native_identity(&request).as_guti()
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
) -> Result<Option<Inbound>, NotMoved> {
    let (procedure, guti) = (Procedure::start("load_rebalancing"), &offered.guti);
    match taken(ue, offered, nas).await {
        Ok(inbound) => {
            metrics::rebalanced("in");
            tracing::debug!(supi = ue.label(), %guti, "UE taken from another AMF of the set");
            procedure.succeeded();
            Ok(inbound)
        }
        Err(why) => {
            not_taken(procedure, guti, why);
            forget(ue, guti);
            Err(why)
        }
    }
}

fn not_taken(procedure: Procedure, guti: &Guti, why: NotMoved) {
    procedure.failed(why.label());
    if let Some(suppressed) = martlet_log_limit::line("offered_ue", why) {
        tracing::info!(%guti, %why, suppressed, "offered UE not taken");
    }
}

/// The exchange of [`take`].
async fn taken(
    ue: &mut Ue,
    offered: &Offered,
    nas: Option<&Bytes>,
) -> Result<Option<Inbound>, NotMoved> {
    let amf = ue.amf.clone();
    let peer =
        amf.former_amf(&offered.owner, &offered.guti).await.map_err(|_| NotMoved::AmfUnknown)?.peer;
    let client = AmfCommunicationClient::new(peer.within(ANSWER_TIMEOUT));
    let id = offered.guti.to_string();
    let question = amf.transfer_request(TransferReason::MobiRegUeValidated);
    let given = client.ue_context_transfer(&id, Multipart::new(question)).await;
    given.map_err(|_| NotMoved::NotGiven)?;
    let inbound = match install(ue, offered, nas).await {
        Ok(inbound) => inbound,
        Err(why) => {
            let _ = report(&client, &id, UeContextTransferStatus::NotTransferred).await;
            return Err(why);
        }
    };
    if let Err(problem) = report(&client, &id, UeContextTransferStatus::Transferred).await {
        if problem.status() == 404 {
            return Err(NotMoved::Withdrawn);
        }
        // It may have dropped the context, and its answer was lost.
        match report(&client, &id, UeContextTransferStatus::Transferred).await {
            Err(problem) if problem.status() != 404 => return Err(NotMoved::NotConfirmed),
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

async fn read(amf: &Arc<Amf>, offered: &Offered) -> Result<PersistedUe, NotMoved> {
    let (amf, owner, offer) = (amf.clone(), offered.owner, offered.offer.clone());
    let read = move || amf.read_offered(&owner, &offer);
    let read = tokio::task::spawn_blocking(read).await.ok().and_then(Result::ok).flatten();
    martlet_erased::from_json(&read.ok_or(NotMoved::NotStored)?).map_err(|_| NotMoved::NotReadable)
}

/// Makes the stored context this task's, and stores it under the name of this AMF.
async fn install(
    ue: &mut Ue,
    offered: &Offered,
    nas: Option<&Bytes>,
) -> Result<Option<Inbound>, NotMoved> {
    let amf = ue.amf.clone();
    let stored = read(&amf, offered).await?;
    let verified = match nas {
        Some(nas) => Some(verify(&stored, nas).ok_or(NotMoved::NotVerified)?),
        None => None,
    };
    if stored.guti().as_ref() != Some(&offered.guti) {
        return Err(NotMoved::OtherGuti);
    }
    stored.take_over(ue).map_err(|_| NotMoved::NotRestorable)?;
    let (security, inbound) = verified.unzip();
    if security.is_some() {
        // The NAS COUNT of the message is used.
        ue.security = security;
    }
    ue.persist();
    match flushed(&amf).await {
        true => Ok(inbound),
        false => Err(NotMoved::NotStored),
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
    ue.deregister();
    ue.idle = None;
    ue.remove_persisted();
}

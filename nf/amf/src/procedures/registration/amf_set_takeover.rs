//! AMF set takeover (TS 23.501, 5.21.2.2): this AMF takes over the UE of a failed AMF of its set. A
//! service request, a deregistration or another NF starts it; a registration takes the context with
//! [`ue_context_transfer`](super::ue_context_transfer).
//!
//! ```text
//! UE or NF -> AMF       message for a UE of another AMF of the set
//! AMF -> other AMF      UEContextTransfer, to see whether it is alive
//! AMF -> context store  take over
//! AMF -> SMFs, PCF, UDM new serving AMF
//! ```
use super::{am_policy_association, subscription_retrieval};
use crate::Amf;
use crate::metrics::Procedure;
use crate::persisted::PersistedUe;
use crate::procedures::session::serving_amf_change;
use crate::takeover::FormerAmf;
use crate::ue::{ProcedureLayer, Security, Ue, UeHandle};
use bytes::Bytes;
use martlet_context_store::PersistedContext;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{
    Guti, Nas5gmmMessage, Nas5gsMessage, NasFGsMobileIdentity, NasRegistrationRequest,
};
use martlet_sbi::{Multipart, content_type};
use martlet_sbi_api::common::RefToBinaryData;
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1MessageClass, N1MessageContainer, TransferReason,
    UeContextTransferStatus, UeRegStatusUpdateReqData,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The content identity of the UE's message.
const NAS: &str = "nas";
/// Time for the other AMF to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a UE of a stopping AMF waits for that AMF to end, and the interval between two checks.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Takes over the context of the 5G-GUTI in the message and returns the verified message. `None` if
/// there is no such context, or if its keys do not verify the message.
pub(crate) async fn by_ue(ue: &mut Ue, nas: &Bytes) -> Option<Inbound> {
    let guti = guti_of(ue, nas).filter(|guti| !ue.amf.served.allocated(guti))?;
    let amf = ue.amf.clone();
    let peer_ue = amf.peer_ue_of_guti(&guti).await?;
    verify(&peer_ue.ue, nas)?;
    let procedure = Procedure::start("set_takeover");
    let mut former = former(&amf, &peer_ue.owner, &guti.to_string(), &guti).await;
    let mut handed_over = false;
    if former == Former::Leaving {
        handed_over = gives_ue(&amf, &peer_ue.owner, &guti, nas).await;
        if !handed_over {
            former = former_after_stop(&amf, &peer_ue.owner, &guti).await;
        }
    }
    let taken = match former {
        // It has dropped its context.
        Former::Leaving if handed_over => Some(peer_ue.ue),
        Former::Leaving | Former::Serving => {
            procedure.failed("alive");
            return None;
        }
        Former::Absent => peer_ue.take_over().await,
    };
    let Some(persisted) = taken else {
        procedure.failed("claimed");
        return None;
    };
    // Verified again with the latest context: a replayed message is rejected.
    let Some((security, inbound)) = verify(&persisted, nas) else {
        procedure.failed("replayed");
        Box::pin(keep(&amf, persisted)).await;
        return None;
    };
    if persisted.take_over(ue).is_err() {
        procedure.failed("not_restorable");
        return None;
    }
    // The NAS COUNT of the message is used.
    ue.security = Some(security);
    ue.replace_previous_context().await;
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), %guti, "UE taken over from a failed AMF");
    report_serving_amf(ue).await;
    procedure.succeeded();
    Some(inbound)
}

/// The message verified by the keys of a context, and the keys with its NAS COUNT.
pub(crate) fn verify(persisted: &PersistedUe, nas: &Bytes) -> Option<(Security, Inbound)> {
    let mut security = persisted.security().ok()?;
    let inbound =
        inbound::from_ue(Some(&mut security.nas), false, nas).ok().filter(Inbound::is_verified)?;
    Some((security, inbound))
}

/// The identity of the UE in a registration request that an AMF has assigned: the Additional GUTI
/// of a UE whose 5GS mobile identity is a 5G-GUTI mapped from a 4G-GUTI (TS 24.501, 5.5.1.2.2 and
/// 5.5.1.3.2), else the 5GS mobile identity.
pub(crate) fn native_identity(request: &NasRegistrationRequest) -> &NasFGsMobileIdentity {
    let own = &request.fgs_mobile_identity;
    let additional = request.additional_guti.as_ref();
    let native = |guti: &&NasFGsMobileIdentity| own.as_guti().is_some() && guti.as_guti().is_some();
    additional.filter(native).unwrap_or(own)
}

/// The 5G-GUTI in a service request or deregistration request.
pub(crate) fn guti_of(ue: &Ue, nas: &Bytes) -> Option<Guti> {
    let message = match Nas5gsMessage::decode(nas).ok()? {
        Nas5gsMessage::SecurityProtected(_, inner) => *inner,
        message => message,
    };
    let Nas5gsMessage::Gmm(_, message) = message else { return None };
    match &message {
        Nas5gmmMessage::DeregistrationRequestUeOriginating(request) => {
            request.fgs_mobile_identity.as_guti()
        }
        Nas5gmmMessage::ServiceRequest(request) => {
            let id = request.fg_s_tmsi.as_s_tmsi()?;
            let plmn = ue.connection.as_ref()?.location.tai.plmn;
            ue.amf.served.guti_of_set(plmn, id.amf_set_id(), id.amf_pointer(), id.tmsi())
        }
        _ => None,
    }
}

/// The AMF that had a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Former {
    /// It has failed, or does not have the UE.
    Absent,
    /// It is drained or stops, and still has the UE.
    Leaving,
    /// It serves the UE.
    Serving,
}

/// Whether the AMF that had the UE is alive and still has it.
async fn former(amf: &Arc<Amf>, of: &AmfId, ue_context_id: &str, guti: &Guti) -> Former {
    let Ok(FormerAmf { peer, is_leaving }) = amf.former_amf(of, guti).await else {
        return Former::Absent;
    };
    // Without a request, it answers 403 if it has the UE.
    let question = amf.transfer_request(TransferReason::MobiReg);
    let client = AmfCommunicationClient::new(peer.within(ANSWER_TIMEOUT));
    match client.ue_context_transfer(ue_context_id, Multipart::new(question)).await {
        Err(problem) if problem.status() != 403 => Former::Absent,
        _ if is_leaving => Former::Leaving,
        _ => Former::Serving,
    }
}

/// Asks an AMF that is drained or stops for a UE: it verifies the UE's message, and drops its
/// context. Returns whether it has.
async fn gives_ue(amf: &Arc<Amf>, of: &AmfId, guti: &Guti, nas: &Bytes) -> bool {
    let given = async {
        let peer = amf.former_amf(of, guti).await?.peer;
        let client = AmfCommunicationClient::new(peer.within(ANSWER_TIMEOUT));
        let mut body = amf.transfer_request(TransferReason::MobiReg);
        let content = RefToBinaryData { content_id: NAS.into() };
        body.reg_request = Some(N1MessageContainer::new(N1MessageClass::FiveGMm, content));
        let body = Multipart::new(body).part(NAS, content_type::NAS, nas.clone());
        client.ue_context_transfer(&guti.to_string(), body).await?;
        let status = UeRegStatusUpdateReqData::new(UeContextTransferStatus::Transferred);
        client.registration_status_update(&guti.to_string(), status).await
    };
    given.await.is_ok()
}

/// As [`former`], after an AMF that is about to stop has stopped: its contexts can be taken over
/// then.
async fn former_after_stop(amf: &Arc<Amf>, of: &AmfId, guti: &Guti) -> Former {
    let ue_context_id = guti.to_string();
    let give_up = Instant::now() + STOP_TIMEOUT;
    loop {
        let former = former(amf, of, &ue_context_id, guti).await;
        if former != Former::Leaving || Instant::now() >= give_up {
            return former;
        }
        tokio::time::sleep(STOP_INTERVAL).await;
    }
}

/// Takes over a UE for a service request of another NF.
pub(crate) async fn by_service(amf: &Arc<Amf>, supi: &str) -> Option<UeHandle> {
    let peer_ue = amf.peer_ue_of_supi(supi).await?;
    let guti = peer_ue.ue.guti().filter(|_| amf.tables.len() < amf.config.limits.max_ues)?;
    if former(amf, &peer_ue.owner, supi, &guti).await != Former::Absent {
        return amf.tables.by_supi(supi);
    }
    let Some(persisted) = peer_ue.take_over().await else { return amf.tables.by_supi(supi) };
    serve(amf, persisted).await
}

/// Keeps a context that was taken over for a message that it does not verify. The context store has
/// it no longer, so a task of its own waits for the UE's next message. A UE that has registered
/// here meanwhile keeps its newer context.
pub(super) async fn keep(amf: &Arc<Amf>, persisted: PersistedUe) {
    let here = amf.tables.by_supi(persisted.supi());
    if here.is_none_or(|ue| amf.tables.is_deregistered(ue.number)) {
        serve(amf, persisted).await;
    }
}

/// Serves a UE in CM-IDLE whose context was taken over, in a task of its own.
async fn serve(amf: &Arc<Amf>, persisted: PersistedUe) -> Option<UeHandle> {
    let (sender, inbox) = martlet_event_queue::bounded(amf.config.limits.ue_queue);
    let handle = UeHandle { number: amf.tables.next_number(), sender };
    amf.tables.add(&handle);
    let mut ue = Box::new(Ue::new(amf.clone(), handle.clone(), inbox, false));
    ue.set_started();
    persisted.take_over(&mut ue).ok()?;
    ue.replace_previous_context().await;
    ue.publish();
    ue.persist();
    tracing::info!(supi = ue.label(), "UE taken over from a failed AMF");
    start(ue);
    Some(handle)
}

/// Starts the task of a UE that was taken over.
fn start(mut ue: Box<Ue>) {
    martlet_sbi::trace::spawn(Default::default(), async move {
        let procedure = Procedure::start("set_takeover");
        // Boxed, so that the task of an idle UE stays small.
        Box::pin(report_serving_amf(&mut ue)).await;
        procedure.succeeded();
        ue.start_idle_timer();
        ue.publish();
        ue.persist();
        ue.run().await;
    });
}

/// Reports the new serving AMF to SMFs, PCF and UDM.
pub(crate) async fn report_serving_amf(ue: &mut Ue) {
    serving_amf_change::run(ue, true).await;
    // Its notifications go to the failed AMF; a new association is created.
    am_policy_association::delete(ue).await;
    am_policy_association::create(ue).await;
    subscription_retrieval::of_new_amf(ue).await;
}

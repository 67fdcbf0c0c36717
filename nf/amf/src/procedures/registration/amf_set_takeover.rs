//! A UE of an AMF of the set that is gone goes on with this one (TS 23.501, 5.21.2.2): it comes
//! with a service request or to leave, or another function has something for it. What it begins
//! with a registration is `context_transfer`'s.
use super::{am_policy_association, subscription_retrieval};
use crate::Amf;
use crate::metrics::Procedure;
use crate::persisted::PersistedUe;
use crate::procedures::session::serving_amf_change;
use crate::ue::{Security, Ue, UeHandle};
use bytes::Bytes;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{Guti, Nas5gmmMessage, Nas5gsMessage};
use martlet_nf::Criteria;
use martlet_sbi::Multipart;
use martlet_sbi_api::common::{self, AccessType, Guami};
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, TransferReason, UeContextTransferReqData,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long an AMF may take to say that it lives.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes the UE the one whose 5G-GUTI it names; its message as that one's keys prove it. `None`
/// where no AMF of the set has left such a UE, or the message is not that UE's: then it is a
/// stranger.
pub(crate) async fn by_ue(ue: &mut Ue, nas: &Bytes) -> Option<Inbound> {
    let guti = named(ue, nas).filter(|guti| !ue.amf.served.gave(guti))?;
    let amf = ue.amf.clone();
    let peer_ue = amf.peer_ue_of_guti(&guti).await?;
    proved(&peer_ue.ue, nas)?;
    let procedure = Procedure::start("set_takeover");
    if lives(&amf, &peer_ue.owner, &guti.to_string(), &guti).await {
        procedure.failed("alive");
        return None;
    }
    let Some(persisted) = peer_ue.take_over().await else {
        procedure.failed("claimed");
        return None;
    };
    // Of what its AMF knew last: a message that was used before proves nothing.
    let Some((security, inbound)) =
        proved(&persisted, nas).filter(|_| persisted.take_over(ue).is_ok())
    else {
        procedure.failed("replayed");
        return None;
    };
    // The message has counted.
    ue.security = Some(security);
    ue.replace_previous_context().await;
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), %guti, "the UE goes on here: its AMF is gone");
    settle(ue).await;
    procedure.succeeded();
    Some(inbound)
}

/// The message as the keys of a context prove it, and the keys with its count.
pub(crate) fn proved(persisted: &PersistedUe, nas: &Bytes) -> Option<(Security, Inbound)> {
    let mut security = persisted.security().ok()?;
    let inbound =
        inbound::from_ue(Some(&mut security.nas), false, nas).ok().filter(Inbound::is_verified)?;
    Some((security, inbound))
}

/// The 5G-GUTI that a UE names which asks for service, or leaves.
fn named(ue: &Ue, nas: &Bytes) -> Option<Guti> {
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

/// Whether the AMF that had a UE lives and has it still.
async fn lives(amf: &Amf, of: &AmfId, ue_context_id: &str, guti: &Guti) -> bool {
    let amf_id = common::AmfId::from_parts(of.region(), of.set(), of.pointer());
    let guami = Guami::new(crate::served::plmn_to_sbi(guti.plmn()), amf_id);
    let criteria = Criteria { guami: Some(guami), ..Default::default() };
    let asked = async {
        let peer = amf.context.discover(NfType::Amf, "namf-comm", &criteria).await?;
        // It gives nothing to who proves nothing, but it says so (403) where it has the UE.
        let question =
            UeContextTransferReqData::new(TransferReason::MobiReg, AccessType::ThreeGppAccess);
        let client = AmfCommunicationClient::new(peer.within(PATIENCE));
        client.ue_context_transfer(ue_context_id, Multipart::new(question)).await.map(|_| ())
    };
    asked.await.map_or_else(|problem| problem.status() == 403, |()| true)
}

/// Another function has something for a UE that this AMF does not know: an AMF of the set may have
/// left it.
pub(crate) async fn by_service(amf: &Arc<Amf>, supi: &str) -> Option<UeHandle> {
    let peer_ue = amf.peer_ue_of_supi(supi).await?;
    let guti = peer_ue.ue.guti().filter(|_| amf.tables.len() < amf.config.limits.max_ues)?;
    if lives(amf, &peer_ue.owner, supi, &guti).await {
        return amf.tables.by_supi(supi);
    }
    let Some(persisted) = peer_ue.take_over().await else { return amf.tables.by_supi(supi) };
    let (sender, inbox) = mpsc::channel(amf.config.limits.ue_queue);
    let handle = UeHandle { number: amf.tables.next_number(), sender };
    amf.tables.add(&handle);
    let mut ue = Box::new(Ue::new(amf.clone(), handle.clone(), inbox, false));
    ue.begin_again();
    persisted.take_over(&mut ue).ok()?;
    amf.tables.claim_supi(ue.supi.as_ref()?, &handle);
    ue.publish();
    ue.persist();
    tracing::info!(supi, "a UE goes on here: its AMF is gone");
    martlet_sbi::trace::spawn(Default::default(), async move {
        let procedure = Procedure::start("set_takeover");
        settle(&mut ue).await;
        procedure.succeeded();
        ue.rest();
        ue.publish();
        ue.persist();
        ue.run().await;
    });
    Some(handle)
}

/// SMFs, PCF and UDM learn which AMF serves the UE now.
async fn settle(ue: &mut Ue) {
    serving_amf_change::run(ue, true).await;
    // The PCF would tell the AMF that is gone: there is a new association.
    am_policy_association::delete(ue).await;
    am_policy_association::create(ue).await;
    let before = ue.subscription.take();
    if let Err(stop) = subscription_retrieval::run(ue, false).await {
        tracing::warn!(
            supi = ue.label(),
            why = stop.label(),
            "the UDM does not learn which AMF serves the UE"
        );
        ue.subscription = before;
    }
}

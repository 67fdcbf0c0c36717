//! A UE's context moves to another AMF as the UE registers there (TS 23.502, 4.2.2.2.2, steps 4, 5
//! and 10; TS 29.518, 5.2.2.2.1 and 5.2.2.2.2; TS 33.501, 6.9.3): the new AMF's side, and the old
//! one's.
use super::{am_policy_association, amf_set_takeover, implicit_deregistration};
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::procedures::session::serving_amf_change;
use crate::served::{slice_from_sbi, slice_to_sbi};
use crate::ue::{Idle, Reallocation, Security, Session, SmContext, Ue, count};
use bytes::Bytes;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{
    Guti, KAmf, Nas5gmmMessage, Nas5gsMessage, NasCount, NasRegistrationRequest,
    NasUeSecurityCapability,
};
use martlet_nf::Criteria;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{
    self, AccessType, Base64, Guami, Pei, RefToBinaryData, SecretText, Supi,
};
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nsmf_pdusession;
use std::time::{Duration, Instant};

const NAS: &str = "nas";
const CAPABILITY: &str = "radio-capability";
/// How long the old AMF waits to hear what became of a context that it gave.
const GIVEN: Duration = Duration::from_secs(10);

/// The UE's request as a context proves it, or a K_AMF that was derived for this AMF with its key
/// set identifier.
type Proof = (Option<Inbound>, Option<(KAmf, u8)>);

/// A context that another AMF gave.
pub(crate) struct Taken {
    /// The AMF that gave it; none for one that is gone.
    old: Option<AmfCommunicationClient>,
    ue_context_id: String,
    /// The request, verified with the context; none where the keys are new ones.
    pub inbound: Option<Inbound>,
    /// K_AMF was derived anew: it is taken into use with SECURITY MODE COMMAND (TS 33.501, 6.9.3).
    pub derived: Option<(KAmf, u8)>,
}

/// Asks the AMF that gave the UE its 5G-GUTI for the UE's context. `None` where there is none, or
/// it does not prove that the request is the UE's own: the UE is a stranger then.
pub(crate) async fn fetch(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    initial: bool,
) -> Option<Taken> {
    let guti = request.fgs_mobile_identity.as_guti().filter(|guti| !ue.amf.served.gave(guti))?;
    let nas = ue.initial_nas.clone()?;
    let procedure = Procedure::start("context_transfer");
    let nas_of_ue = nas.clone();
    match ask(ue, &guti, nas, initial).await {
        Ok(taken) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "the UE's context comes from another AMF"
            );
            Some(taken)
        }
        // The AMF is gone, or has forgotten: what it kept may be in reach.
        Err(problem) if problem.status() != 403 => match inherit(ue, &guti, &nas_of_ue).await {
            Some(taken) => {
                procedure.succeeded();
                tracing::info!(supi = ue.label(), gnb = ue.gnb(), %problem, "the UE's context is taken over from an AMF of the set");
                Some(taken)
            }
            None => {
                procedure.failed(problem.cause());
                tracing::info!(gnb = ue.gnb(), %guti, %problem, "the AMF that knew the UE is not there");
                None
            }
        },
        Err(problem) => {
            procedure.failed(problem.cause());
            tracing::info!(gnb = ue.gnb(), %guti, %problem, "the AMF that knew the UE does not give its context");
            None
        }
    }
}

/// Goes on with what an AMF of the set has kept of the UE, if the request is the UE's own.
async fn inherit(ue: &mut Ue, guti: &Guti, nas: &Bytes) -> Option<Taken> {
    let amf = ue.amf.clone();
    let peer_ue = amf.peer_ue_of_guti(guti).await?;
    // A request that is not the UE's own takes nothing.
    amf_set_takeover::proved(&peer_ue.ue, nas)?;
    let persisted = peer_ue.take_over().await?;
    let (security, inbound) = amf_set_takeover::proved(&persisted, nas)?;
    if persisted.copy_to(ue).is_err() {
        (ue.supi, ue.pei, ue.security, ue.policy) = (None, None, None, None);
        ue.sessions.clear();
        return None;
    }
    // The request has counted.
    ue.security = Some(security);
    // The PCF would tell the AMF that is gone: there is a new association.
    am_policy_association::delete(ue).await;
    Some(Taken { old: None, ue_context_id: String::new(), inbound: Some(inbound), derived: None })
}

async fn ask(ue: &mut Ue, guti: &Guti, nas: Bytes, initial: bool) -> Result<Taken, Problem> {
    let id = AmfId::of_guti(guti);
    let amf_id = common::AmfId::from_parts(id.region(), id.set(), id.pointer());
    let guami = Guami::new(crate::served::plmn_to_sbi(guti.plmn()), amf_id);
    let criteria = Criteria { guami: Some(guami), ..Default::default() };
    let peer = ue.amf.context.discover(NfType::Amf, "namf-comm", &criteria).await?;
    let old = AmfCommunicationClient::new(peer.about(&ue.label()));
    let reason = if initial { TransferReason::InitReg } else { TransferReason::MobiReg };
    let mut body = UeContextTransferReqData::new(reason, AccessType::ThreeGppAccess);
    body.reg_request = Some(N1MessageContainer::new(N1MessageClass::FiveGMm, reference(NAS)));
    let ue_context_id = guti.to_string();
    let body = Multipart::new(body).part(NAS, content_type::NAS, nas.clone());
    let given = old.ue_context_transfer(&ue_context_id, body).await?;
    let radio = given
        .json
        .ue_radio_capability
        .as_ref()
        .and_then(|info| given.find(&info.ngap_data.content_id))
        .cloned();
    let (inbound, derived) = take(ue, given.json.ue_context, Some(&nas)).map_err(|what| {
        Problem::system_failure(format!("the context of the other AMF is not one: {what}"))
    })?;
    ue.radio_capability = radio.or(ue.radio_capability.take());
    Ok(Taken { old: Some(old), ue_context_id, inbound, derived })
}

fn reference(id: &str) -> RefToBinaryData {
    RefToBinaryData { content_id: id.into() }
}

/// Takes a context over; the request as it proves it, or the new K_AMF with its key set identifier.
fn take(ue: &mut Ue, context: UeContext, nas: Option<&Bytes>) -> Result<Proof, &'static str> {
    let supi =
        context.supi.filter(|_| context.supi_unauth_ind != Some(true)).ok_or("it has no SUPI")?;
    let keys = context.seaf_data.ok_or("it has no keys")?;
    let mut k_amf = [0; 32];
    hex::decode_to_slice(&keys.key_amf.key_val.0, &mut k_amf)
        .map_err(|_| "K_AMF is not 64 hexadecimal digits")?;
    let ngksi = Some(keys.ng_ksi.ksi).filter(|ksi| *ksi < 7 && keys.ng_ksi.tsc == ScType::Native);
    let ngksi = ngksi.ok_or("its key set is not a native one")?;
    let mm = context
        .mm_context_list
        .iter()
        .flatten()
        .find(|mm| mm.access_type == AccessType::ThreeGppAccess);
    let mm = mm.ok_or("it has nothing of this access")?;
    let capability = mm.ue_security_capability.as_ref().ok_or("it has no security capability")?;
    let capability = NasUeSecurityCapability::new(capability.0.to_vec());
    let changed = keys.key_amf_h_derivation_ind == Some(true);
    if nas.is_none() && changed {
        // With a handover: the UE hears of its new key on its way.
        let (nea, nia) =
            mm.nas_security_mode.as_ref().and_then(algorithms).ok_or("it has no algorithms")?;
        // Both COUNTs begin anew.
        let new = Security::new(KAmf::new(&k_amf), ngksi, nea, nia);
        ue.security = Some(new.map_err(|_| "its keys cannot be used")?);
        ue.allowed = mm.allowed_nssai.iter().flatten().map(slice_from_sbi).collect();
        return sessions(ue, context.session_context_list, supi, context.pei, capability)
            .map(|()| (None, None));
    }
    let (inbound, derived) = if changed {
        (None, Some((KAmf::new(&k_amf), ngksi)))
    } else {
        let mut security = security(k_amf, ngksi, mm)?;
        let Some(nas) = nas else {
            ue.security = Some(security);
            let allowed = mm.allowed_nssai.iter().flatten().map(slice_from_sbi);
            ue.allowed = allowed.collect();
            return sessions(ue, context.session_context_list, supi, context.pei, capability)
                .map(|()| (None, None));
        };
        let opened = inbound::from_ue(Some(&mut security.nas), false, nas);
        let opened = opened
            .ok()
            .filter(Inbound::is_verified)
            .ok_or("its keys are not those of the request")?;
        ue.security = Some(security);
        (Some(opened), None)
    };
    sessions(ue, context.session_context_list, supi, context.pei, capability)?;
    Ok((inbound, derived))
}

/// The keys in use with their counts.
fn security(k_amf: [u8; 32], ngksi: u8, mm: &MmContext) -> Result<Security, &'static str> {
    let mode = mm.nas_security_mode.as_ref().ok_or("it has no algorithms")?;
    let counted = |count: Option<u32>| count.map_or(Ok(NasCount::ZERO), NasCount::new);
    let counts = (counted(mm.nas_uplink_count), counted(mm.nas_downlink_count));
    let (Ok(uplink), Ok(downlink)) = counts else { return Err("its counts are none") };
    let (ciphering, integrity) = algorithms(mode).ok_or("its algorithms are not known")?;
    let restored =
        Security::restored(k_amf, ngksi, ciphering, integrity, (Some(uplink), Some(downlink)));
    restored.map_err(|_| "its keys cannot be used")
}

fn sessions(
    ue: &mut Ue,
    list: Option<Vec<PduSessionContext>>,
    supi: Supi,
    pei: Option<Pei>,
    capability: NasUeSecurityCapability,
) -> Result<(), &'static str> {
    for session in list.into_iter().flatten() {
        let root = ue.amf.context.api_root().clone();
        let context = SmContext::from_location(&session.sm_context_ref, &root)
            .ok_or("a session has no context")?;
        let number = ue.amf.tables.next_number();
        let (slice, dnn) = (slice_from_sbi(&session.s_nssai), session.dnn);
        let session_here = Session { number, slice, dnn, context, active: false, releasing: false };
        ue.sessions.insert(session.pdu_session_id, session_here);
    }
    (ue.supi, ue.pei, ue.capability) = (Some(supi), pei, Some(capability));
    Ok(())
}

/// Takes the context of a UE that comes with a handover: whom the source AMF serves, with the keys
/// in use.
pub(crate) fn take_for_handover(ue: &mut Ue, context: UeContext) -> Result<(), &'static str> {
    take(ue, context, None).map(|_| ())
}

fn algorithms(
    mode: &NasSecurityMode,
) -> Option<(martlet_nas::CipheringAlgorithm, martlet_nas::IntegrityAlgorithm)> {
    use martlet_nas::{CipheringAlgorithm as Nea, IntegrityAlgorithm as Nia};
    let number = |text: &str| text.as_bytes().last().map(|digit| digit.wrapping_sub(b'0'));
    let (nea, nia) =
        (number(mode.ciphering_algorithm.as_str())?, number(mode.integrity_algorithm.as_str())?);
    let nea = [Nea::NEA0, Nea::NEA1, Nea::NEA2, Nea::NEA3]
        .into_iter()
        .find(|algorithm| *algorithm as u8 == nea)?;
    // A context without integrity does not move.
    let nia =
        [Nia::NIA1, Nia::NIA2, Nia::NIA3].into_iter().find(|algorithm| *algorithm as u8 == nia)?;
    Some((nea, nia))
}

impl Taken {
    /// The UE has proved itself: the old AMF may let go, and the SMFs learn who serves the UE now
    /// (step 10).
    pub async fn complete(&self, ue: &mut Ue) {
        let mut update = UeRegStatusUpdateReqData::new(UeContextTransferStatus::Transferred);
        // The new AMF makes an association of its own.
        update.pcf_reselected_ind = Some(true);
        self.tell(ue, update).await;
        serving_amf_change::run(ue, true).await;
    }

    /// The UE is refused: the old AMF goes on with it as if nothing had been asked.
    pub async fn give_up(&self, ue: &mut Ue) {
        ue.sessions.clear();
        self.tell(ue, UeRegStatusUpdateReqData::new(UeContextTransferStatus::NotTransferred)).await;
    }

    async fn tell(&self, ue: &Ue, update: UeRegStatusUpdateReqData) {
        let Some(old) = &self.old else { return };
        if let Err(problem) = old.registration_status_update(&self.ue_context_id, update).await {
            tracing::warn!(supi = ue.label(), %problem, "the old AMF does not learn what became of the UE's context");
        }
    }
}

/// What the UE has on this access, without keys.
pub(crate) fn mm_context(ue: &Ue) -> MmContext {
    let mut mm = MmContext::new(AccessType::ThreeGppAccess);
    mm.ue_security_capability =
        ue.capability.as_ref().map(|capability| Base64(capability.value.to_vec().into()));
    let allowed: Vec<_> = ue.allowed.iter().map(|slice| slice_to_sbi(*slice)).collect();
    mm.allowed_nssai = Some(allowed).filter(|list| !list.is_empty());
    mm
}

/// The sessions that are not being released.
pub(crate) fn session_contexts(ue: &Ue) -> Option<Vec<PduSessionContext>> {
    let session = |(psi, session): (&u8, &Session)| {
        let SmContext { root, reference } = &session.context;
        let context = format!("{root}/nsmf-pdusession/v1/sm-contexts/{reference}");
        let slice = slice_to_sbi(session.slice);
        PduSessionContext::new(
            *psi,
            context,
            slice,
            session.dnn.clone(),
            AccessType::ThreeGppAccess,
        )
    };
    let sessions: Vec<_> =
        ue.sessions.iter().filter(|(_, session)| !session.releasing).map(session).collect();
    Some(sessions).filter(|list| !list.is_empty())
}

/// The old AMF's answer (UEContextTransfer). The context is given to who brings a request that only
/// the UE can have made.
pub(crate) fn give(
    ue: &mut Ue,
    asked: &UeContextTransferReqData,
    nas: Option<&Bytes>,
) -> Result<Multipart<UeContextTransferRspData>, Problem> {
    let no = |detail: &str| Problem::new(403, "INTEGRITY_CHECK_FAIL").detail(detail.to_string());
    let validated = asked.reason == TransferReason::MobiRegUeValidated;
    let derives = ue.amf.config.security.derive_k_amf;
    let Some(supi) = ue.supi.clone() else { return Err(Problem::new(404, "CONTEXT_NOT_FOUND")) };
    let mut context = UeContext { supi: Some(supi), pei: ue.pei.clone(), ..Default::default() };
    let mut mm = mm_context(ue);
    if !validated {
        let (Some(security), Some(nas)) = (&mut ue.security, nas) else {
            return Err(no("there is nothing to check"));
        };
        let is_request = |inbound: &Inbound| {
            matches!(
                &inbound.message,
                Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(_))
            )
        };
        let uplink = match &ue.reallocation {
            // This AMF has verified and counted it before it rerouted it.
            Reallocation::SentViaRan { request, uplink } if request == nas => Some(*uplink),
            _ => {
                let opened = inbound::from_ue(Some(&mut security.nas), false, nas)
                    .ok()
                    .filter(Inbound::is_verified);
                opened.filter(is_request).as_ref().and_then(count)
            }
        };
        let Some(uplink) = uplink else {
            return Err(no("the registration request is not the UE's"));
        };
        let (key_type, key) = match derives {
            true => (KeyAmfType::Kprimeamf, *security.derived(uplink).as_octets()),
            false => (KeyAmfType::Kamf, *security.k_amf()),
        };
        let key_amf = KeyAmf { key_type, key_val: SecretText(hex::encode(key)) };
        let mut keys = SeafData::new(NgKsi { tsc: ScType::Native, ksi: security.ngksi }, key_amf);
        if derives {
            keys.key_amf_change_ind = Some(true);
            keys.key_amf_h_derivation_ind = Some(true);
        } else {
            mm.nas_uplink_count = Some(uplink.get());
            mm.nas_downlink_count = security.downlink();
            mm.nas_security_mode = Some(security.mode());
        }
        context.seaf_data = Some(keys);
    }
    context.mm_context_list = Some(vec![mm]);
    context.session_context_list = session_contexts(ue);
    ue.given = true;
    if ue.connection.is_none() {
        // Nothing is heard of it: then the context, and its sessions, end here.
        ue.idle = Some(Idle::Unreachable(Instant::now() + GIVEN));
    }
    tracing::info!(supi = ue.label(), derives, "the UE's context is given to another AMF");
    let mut answer = UeContextTransferRspData { ue_context: context, ..Default::default() };
    let Some(radio) = ue.radio_capability.clone() else { return Ok(answer.into()) };
    answer.ue_radio_capability = Some(N2InfoContent {
        ngap_ie_type: Some(NgapIeType::UeRadioCapability),
        ngap_data: reference(CAPABILITY),
        ..Default::default()
    });
    Ok(Multipart::new(answer).part(CAPABILITY, content_type::NGAP, radio))
}

/// What became of a context that was given (RegistrationStatusUpdate).
pub(crate) async fn concluded(ue: &mut Ue, update: UeRegStatusUpdateReqData) {
    ue.given = false;
    if update.transfer_status != UeContextTransferStatus::Transferred {
        tracing::info!(supi = ue.label(), "another AMF did not take the UE; it goes on here");
        ue.idle = None;
        return;
    }
    let unwanted = update.to_release_session_list.unwrap_or_default();
    let sessions: Vec<_> = std::mem::take(&mut ue.sessions).into_iter().collect();
    let (released, moved): (Vec<_>, Vec<_>) =
        sessions.into_iter().partition(|(psi, _)| unwanted.contains(psi));
    tracing::info!(
        supi = ue.label(),
        sessions = moved.len(),
        "the UE and its sessions are another AMF's"
    );
    ue.release_sessions(released, Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
    if update.pcf_reselected_ind == Some(true) {
        am_policy_association::delete(ue).await;
    }
    ue.policy = None;
    implicit_deregistration::forgotten(ue).await;
    ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
}

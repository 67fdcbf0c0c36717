//! UE context transfer between AMFs at a registration (TS 23.502, 4.2.2.2.2, steps 4, 5 and 10; TS
//! 29.518, 5.2.2.2.1 and 5.2.2.2.2; TS 33.501, 6.9.3). This file has both sides.
//!
//! ```text
//! new AMF -> old AMF  UEContextTransfer (registration request)
//! old AMF -> new AMF  UE context
//! new AMF -> old AMF  RegistrationStatusUpdate (TRANSFERRED or NOT_TRANSFERRED)
//! ```
use super::{
    am_policy_association, amf_load_rebalancing, amf_set_takeover, implicit_deregistration,
};
use crate::Amf;
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::procedures::session::serving_amf_change;
use crate::served::{slice_from_sbi, slice_to_sbi};
use crate::ue::{
    ContextTransfer, Idle, Reallocation, Security, Session, SessionState, SmContext, Ue, count,
};
use bytes::Bytes;
use martlet_nas::identifiers::AmfId;
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{
    Guti, KAmf, Nas5gmmMessage, Nas5gsMessage, NasCount, NasRegistrationRequest,
    NasUeSecurityCapability,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi::{ApiRoot, Multipart, Problem, content_type};
use martlet_sbi_api::common::{AccessType, Base64, Pei, RefToBinaryData, SecretText, Supi};
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_api::nsmf_pdusession;
use martlet_security::Zeroizing;
use std::time::{Duration, Instant};

const NAS: &str = "nas";
/// Content identity of the UE radio capability.
pub(crate) const CAPABILITY: &str = "radio-capability";
/// Content identity of the UE radio capability for paging.
pub(crate) const CAPABILITY_FOR_PAGING: &str = "radio-capability-for-paging";
/// Time for the new AMF to report the result.
const STATUS_UPDATE_TIMEOUT: Duration = Duration::from_secs(10);

/// The verified request, or the K_AMF derived for this AMF with its ngKSI.
type Proof = (Option<Inbound>, Option<(KAmf, u8)>);

/// A context received from another AMF.
pub(crate) struct ReceivedContext {
    /// The old AMF; `None` if the context came from the context store.
    old: Option<AmfCommunicationClient>,
    ue_context_id: String,
    /// The request, verified with the context; `None` if the keys are new.
    pub inbound: Option<Inbound>,
    /// A derived K_AMF, taken into use by security mode control (TS 33.501, 6.9.3).
    pub derived: Option<(KAmf, u8)>,
}

/// Requests the UE's context from the AMF that assigned its 5G-GUTI. `None` if there is no context,
/// or if the request is not proven to be the UE's: the UE is unknown then.
pub(crate) async fn fetch(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    initial: bool,
) -> Option<ReceivedContext> {
    let guti = amf_set_takeover::native_identity(request).as_guti();
    let guti = guti.filter(|guti| !ue.amf.served.allocated(guti))?;
    let nas = ue.initial.nas.clone()?;
    let procedure = Procedure::start("context_transfer");
    let nas_of_ue = nas.clone();
    match ask(ue, &guti, nas, initial).await {
        Ok(taken) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "UE context received from another AMF"
            );
            Some(taken)
        }
        // The old AMF has failed, or lost the context: try the set's context store.
        Err(problem) if problem.status() != 403 => match take_over(ue, &guti, &nas_of_ue).await {
            Some(taken) => {
                procedure.succeeded();
                tracing::info!(
                    supi = ue.label(), gnb = ue.gnb(), %problem,
                    "the UE's context is taken over from an AMF of the set"
                );
                Some(taken)
            }
            None => {
                procedure.failed(problem.cause());
                if let Some(suppressed) = martlet_log_limit::line("old_amf", ue.gnb_address()) {
                    tracing::info!(
                        gnb = ue.gnb(), %guti, %problem, suppressed,
                        "old AMF not reachable; UE context unknown"
                    );
                }
                None
            }
        },
        Err(problem) => {
            procedure.failed(problem.cause());
            if let Some(suppressed) = martlet_log_limit::line("context_transfer", ue.gnb_address())
            {
                tracing::info!(
                    gnb = ue.gnb(), %guti, %problem, suppressed,
                    "UE context transfer rejected by the old AMF"
                );
            }
            None
        }
    }
}

/// Continues with the context that a member of the AMF set has stored, if the request is proven to
/// be the UE's.
async fn take_over(ue: &mut Ue, guti: &Guti, nas: &Bytes) -> Option<ReceivedContext> {
    let amf = ue.amf.clone();
    let peer_ue = amf.peer_ue_of_guti(guti).await?;
    // A request that is not the UE's own takes nothing.
    amf_set_takeover::verify(&peer_ue.ue, nas)?;
    let persisted = peer_ue.take_over().await?;
    let Some((security, inbound)) = amf_set_takeover::verify(&persisted, nas) else {
        Box::pin(amf_set_takeover::keep(&amf, persisted)).await;
        return None;
    };
    if persisted.copy_to(ue).is_err() {
        (ue.identity.supi, ue.identity.pei, ue.security, ue.registration.policy) =
            (None, None, None, None);
        ue.sessions.clear();
        return None;
    }
    // The request has counted.
    ue.security = Some(security);
    // Its notifications go to the failed AMF; a new association is created.
    am_policy_association::delete(ue).await;
    Some(ReceivedContext::from_store(Some(inbound)))
}

async fn ask(
    ue: &mut Ue,
    guti: &Guti,
    nas: Bytes,
    initial: bool,
) -> Result<ReceivedContext, Problem> {
    let peer = ue.amf.former_amf(&AmfId::of_guti(guti), guti).await?.peer;
    let old = AmfCommunicationClient::new(peer.about(&ue.label()));
    let reason = if initial { TransferReason::InitReg } else { TransferReason::MobiReg };
    let mut body = ue.amf.transfer_request(reason);
    body.reg_request = Some(N1MessageContainer::new(N1MessageClass::FiveGMm, reference(NAS)));
    let ue_context_id = guti.to_string();
    let body = Multipart::new(body).part(NAS, content_type::NAS, nas.clone());
    let given = old.ue_context_transfer(&ue_context_id, body).await?;
    check_sm_contexts(&ue.amf, &given.json.ue_context).await?;
    let part = |info: &Option<N2InfoContent>| {
        info.as_ref().and_then(|info| given.find(&info.ngap_data.content_id)).cloned()
    };
    let radio = part(&given.json.ue_radio_capability);
    let for_paging = part(&given.json.ue_radio_capability_for_paging);
    let (inbound, derived) = take(ue, given.json.ue_context, Some(&nas)).map_err(|what| {
        Problem::system_failure(format!("invalid UE context from the old AMF: {what}"))
    })?;
    ue.capabilities.radio = radio.or(ue.capabilities.radio.take());
    let former = ue.capabilities.radio_for_paging.take();
    ue.capabilities.radio_for_paging = for_paging.or(former);
    Ok(ReceivedContext { old: Some(old), ue_context_id, inbound, derived })
}

/// Whether the SM contexts of a context are at registered functions. Another AMF could have
/// requests sent to any address else.
///
/// # Errors
/// 403 if one is not.
pub(crate) async fn check_sm_contexts(amf: &Amf, context: &UeContext) -> Result<(), Problem> {
    for session in context.session_context_list.iter().flatten() {
        // A reference alone is one of this AMF's own root.
        if ApiRoot::split(&session.sm_context_ref).is_some() {
            amf.context.check_callback(&session.sm_context_ref).await?;
        }
    }
    Ok(())
}

fn reference(id: &str) -> RefToBinaryData {
    RefToBinaryData { content_id: id.into() }
}

/// Why a UE context of another AMF is not taken over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidContext {
    #[error("no authenticated SUPI")]
    NoSupi,
    #[error("no keys")]
    NoKeys,
    #[error("K_AMF is not 64 hexadecimal digits")]
    KAmf,
    #[error("ngKSI is not native")]
    NgKsi,
    #[error("no MM context of 3GPP access")]
    NoMmContext,
    #[error("no UE security capability")]
    NoSecurityCapability,
    #[error("no NAS algorithms, or unknown ones")]
    Algorithms,
    #[error("invalid NAS COUNT")]
    NasCount,
    #[error("keys not usable")]
    UnusableKeys,
    #[error("the keys do not verify the request")]
    NotVerified,
    #[error("a session has no SM context")]
    NoSmContext,
}

/// Takes a context. Returns the verified request, or the new K_AMF with its ngKSI.
fn take(ue: &mut Ue, context: UeContext, nas: Option<&Bytes>) -> Result<Proof, InvalidContext> {
    let supi = context.supi.filter(|_| context.supi_unauth_ind != Some(true));
    let supi = supi.ok_or(InvalidContext::NoSupi)?;
    let keys = context.seaf_data.ok_or(InvalidContext::NoKeys)?;
    let mut k_amf = Zeroizing::new([0; 32]);
    hex::decode_to_slice(&keys.key_amf.key_val.0, &mut *k_amf).map_err(|_| InvalidContext::KAmf)?;
    let ngksi = Some(keys.ng_ksi.ksi).filter(|ksi| *ksi < 7 && keys.ng_ksi.tsc == ScType::Native);
    let ngksi = ngksi.ok_or(InvalidContext::NgKsi)?;
    let mm = context
        .mm_context_list
        .iter()
        .flatten()
        .find(|mm| mm.access_type == AccessType::ThreeGppAccess);
    let mm = mm.ok_or(InvalidContext::NoMmContext)?;
    let capability = mm.ue_security_capability.as_ref();
    let capability = capability.ok_or(InvalidContext::NoSecurityCapability)?;
    let capability = NasUeSecurityCapability::new(capability.0.to_vec());
    let changed = keys.key_amf_h_derivation_ind == Some(true);
    if nas.is_none() && changed {
        // At a handover: the UE gets the new key in the NAS container.
        let (nea, nia) =
            mm.nas_security_mode.as_ref().and_then(algorithms).ok_or(InvalidContext::Algorithms)?;
        // Both NAS COUNTs start at 0.
        let new = Security::new(KAmf::new(&k_amf), ngksi, nea, nia);
        ue.security = Some(new.map_err(|_| InvalidContext::UnusableKeys)?);
        ue.registration.allowed = mm.allowed_nssai.iter().flatten().map(slice_from_sbi).collect();
        return sessions(ue, context.session_context_list, supi, context.pei, capability)
            .map(|()| (None, None));
    }
    let (inbound, derived) = if changed {
        (None, Some((KAmf::new(&k_amf), ngksi)))
    } else {
        let mut security = security(&k_amf, ngksi, mm)?;
        let Some(nas) = nas else {
            ue.security = Some(security);
            let allowed = mm.allowed_nssai.iter().flatten().map(slice_from_sbi);
            ue.registration.allowed = allowed.collect();
            return sessions(ue, context.session_context_list, supi, context.pei, capability)
                .map(|()| (None, None));
        };
        let opened = inbound::from_ue(Some(&mut security.nas), false, nas);
        let opened = opened.ok().filter(Inbound::is_verified);
        let opened = opened.ok_or(InvalidContext::NotVerified)?;
        ue.security = Some(security);
        (Some(opened), None)
    };
    sessions(ue, context.session_context_list, supi, context.pei, capability)?;
    Ok((inbound, derived))
}

/// The current keys and NAS COUNTs.
fn security(k_amf: &[u8; 32], ngksi: u8, mm: &MmContext) -> Result<Security, InvalidContext> {
    let mode = mm.nas_security_mode.as_ref().ok_or(InvalidContext::Algorithms)?;
    let counted = |count: Option<u32>| count.map_or(Ok(NasCount::ZERO), NasCount::new);
    let counts = (counted(mm.nas_uplink_count), counted(mm.nas_downlink_count));
    let (Ok(uplink), Ok(downlink)) = counts else { return Err(InvalidContext::NasCount) };
    let (ciphering, integrity) = algorithms(mode).ok_or(InvalidContext::Algorithms)?;
    let restored =
        Security::restored(k_amf, ngksi, ciphering, integrity, (Some(uplink), Some(downlink)));
    restored.map_err(|_| InvalidContext::UnusableKeys)
}

fn sessions(
    ue: &mut Ue,
    list: Option<Vec<PduSessionContext>>,
    supi: Supi,
    pei: Option<Pei>,
    capability: NasUeSecurityCapability,
) -> Result<(), InvalidContext> {
    for session in list.into_iter().flatten() {
        let root = ue.amf.context.api_root().clone();
        // Another AMF checked it.
        let context = SmContext::from_location(&session.sm_context_ref, &root, |_| true)
            .ok_or(InvalidContext::NoSmContext)?;
        let number = ue.amf.tables.next_number();
        let (slice, dnn) = (slice_from_sbi(&session.s_nssai), session.dnn);
        let state = SessionState::Deactivated;
        let session_here = Session { number, slice, dnn, context, state, is_unannounced: false };
        ue.sessions.insert(session.pdu_session_id, session_here);
    }
    (ue.identity.supi, ue.identity.pei, ue.capabilities.security) =
        (Some(supi), pei, Some(capability));
    Ok(())
}

/// Takes the context at a handover or a rerouted registration, with the current keys.
pub(crate) fn take_for_handover(ue: &mut Ue, context: UeContext) -> Result<(), InvalidContext> {
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
    // NIA0 is not transferred.
    let nia =
        [Nia::NIA1, Nia::NIA2, Nia::NIA3].into_iter().find(|algorithm| *algorithm as u8 == nia)?;
    Some((nea, nia))
}

impl ReceivedContext {
    /// A context from the context store, with the request that its keys have verified.
    pub fn from_store(inbound: Option<Inbound>) -> Self {
        ReceivedContext { old: None, ue_context_id: String::new(), inbound, derived: None }
    }

    /// Reports success to the old AMF, and the new serving AMF to the SMFs (step 10).
    pub async fn complete(&self, ue: &mut Ue) {
        let mut update = UeRegStatusUpdateReqData::new(UeContextTransferStatus::Transferred);
        // This AMF creates its own policy association.
        update.pcf_reselected_ind = Some(true);
        self.send_status(ue, update).await;
        serving_amf_change::run(ue, true).await;
    }

    /// Reports failure: the old AMF keeps the UE. A context from the store has no other AMF, so its
    /// sessions are released.
    pub async fn reject(&self, ue: &mut Ue) {
        if self.old.is_none() {
            let cause = nsmf_pdusession::Cause::RelDueToUnspecifiedReason;
            return ue.release_all_sessions(Some(cause)).await;
        }
        ue.sessions.clear();
        self.send_status(
            ue,
            UeRegStatusUpdateReqData::new(UeContextTransferStatus::NotTransferred),
        )
        .await;
    }

    async fn send_status(&self, ue: &Ue, update: UeRegStatusUpdateReqData) {
        let Some(old) = &self.old else { return };
        if let Err(problem) = old.registration_status_update(&self.ue_context_id, update).await {
            tracing::warn!(supi = ue.label(), %problem, "registration status update failed");
        }
    }
}

/// The MM context without keys.
pub(crate) fn mm_context(ue: &Ue) -> MmContext {
    let mut mm = MmContext::new(AccessType::ThreeGppAccess);
    mm.ue_security_capability = ue
        .capabilities
        .security
        .as_ref()
        .map(|capability| Base64(capability.value.to_vec().into()));
    let allowed: Vec<_> =
        ue.registration.allowed.iter().map(|slice| slice_to_sbi(*slice)).collect();
    mm.allowed_nssai = Some(allowed).filter(|list| !list.is_empty());
    mm
}

/// Adds what the AMF knows of the UE's subscription. Martlet's AMF reads it from the UDM when it
/// takes the UE over; another one may use it before.
pub(crate) fn add_subscription(ue: &Ue, context: &mut UeContext) {
    fn some<T: Clone>(list: &Option<Vec<T>>) -> Option<Vec<T>> {
        list.clone().filter(|list| !list.is_empty())
    }
    context.used_rfsp = ue.rfsp();
    let Some(subscription) = &ue.registration.subscription else { return };
    let access = &subscription.access;
    context.gpsi_list = some(&access.gpsis);
    context.group_list = some(&access.internal_group_ids);
    context.sub_rfsp = access.rfsp_index;
    context.sub_ue_ambr = context.sub_ue_ambr.take().or(access.subscribed_ue_ambr.clone());
    context.restricted_rat_list = some(&access.rat_restrictions);
    context.forbidden_area_list = some(&access.forbidden_areas);
    context.service_area_restriction = access.service_area_restriction.clone();
    context.restricted_core_nw_type_list = some(&access.core_network_type_restrictions);
}

/// The reference to the UE radio capability in a message with the part [`CAPABILITY`].
pub(crate) fn radio_capability() -> N2InfoContent {
    N2InfoContent {
        ngap_ie_type: Some(NgapIeType::UeRadioCapability),
        ngap_data: reference(CAPABILITY),
        ..Default::default()
    }
}

/// The same for the UE radio capability for paging, in the part [`CAPABILITY_FOR_PAGING`].
pub(crate) fn radio_capability_for_paging() -> N2InfoContent {
    N2InfoContent {
        ngap_ie_type: Some(NgapIeType::UeRadioCapabilityForPaging),
        ngap_data: reference(CAPABILITY_FOR_PAGING),
        ..Default::default()
    }
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
    let sessions: Vec<_> = ue
        .sessions
        .iter()
        .filter(|(_, session)| !session.state.is_releasing())
        .map(session)
        .collect();
    Some(sessions).filter(|list| !list.is_empty())
}

/// Old AMF: answers UEContextTransfer. The context is given only for a request that this UE's keys
/// verify.
pub(crate) fn transfer_to(
    ue: &mut Ue,
    asked: &UeContextTransferReqData,
    nas: Option<&Bytes>,
) -> Result<Multipart<UeContextTransferRspData>, Problem> {
    let no = |detail: &str| Problem::new(403, "INTEGRITY_CHECK_FAIL").detail(detail.to_string());
    let validated = asked.reason == TransferReason::MobiRegUeValidated;
    let derives = ue.amf.config.security.derive_k_amf;
    let Some(supi) = ue.identity.supi.clone() else {
        return Err(Problem::new(404, "CONTEXT_NOT_FOUND"));
    };
    let mut context =
        UeContext { supi: Some(supi), pei: ue.identity.pei.clone(), ..Default::default() };
    add_subscription(ue, &mut context);
    let mut mm = mm_context(ue);
    if !validated {
        let (Some(security), Some(nas)) = (&mut ue.security, nas) else {
            return Err(no("no request or no keys to verify it"));
        };
        // A drained AMF also gives the UE away for other first messages.
        let is_leaving = *ue.amf.context.draining().borrow();
        let is_request = |inbound: &Inbound| match &inbound.message {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(_)) => true,
            Nas5gsMessage::Gmm(
                _,
                Nas5gmmMessage::ServiceRequest(_)
                | Nas5gmmMessage::DeregistrationRequestUeOriginating(_),
            ) => is_leaving,
            _ => false,
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
            return Err(no("integrity check of the registration request failed"));
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
    ue.context_transfer = ContextTransfer::AwaitingStatusUpdate;
    if ue.connection.is_none() {
        // Without a report, the context and its sessions end.
        ue.idle = Some(Idle::Unreachable(Instant::now() + STATUS_UPDATE_TIMEOUT));
    }
    tracing::info!(supi = ue.label(), derives, "UE context given to another AMF");
    let (radio, for_paging) =
        (ue.capabilities.radio.clone(), ue.capabilities.radio_for_paging.clone());
    let answer = UeContextTransferRspData {
        ue_context: context,
        ue_radio_capability: radio.as_ref().map(|_| radio_capability()),
        ue_radio_capability_for_paging: for_paging.as_ref().map(|_| radio_capability_for_paging()),
        ..Default::default()
    };
    let mut answer = Multipart::new(answer);
    for (id, part) in [(CAPABILITY, radio), (CAPABILITY_FOR_PAGING, for_paging)] {
        if let Some(part) = part {
            answer = answer.part(id, content_type::NGAP, part);
        }
    }
    Ok(answer)
}

/// Old AMF: handles RegistrationStatusUpdate.
///
/// # Errors
/// 403 if this AMF has not given the context away: another AMF could end the registration.
pub(crate) async fn concluded(
    ue: &mut Ue,
    update: UeRegStatusUpdateReqData,
) -> Result<(), Problem> {
    let is_transferred = update.transfer_status == UeContextTransferStatus::Transferred;
    match ue.context_transfer {
        ContextTransfer::AwaitingStatusUpdate => {}
        ContextTransfer::Transferred if is_transferred => return Ok(()),
        ContextTransfer::None | ContextTransfer::Transferred => {
            let detail = "the UE context was not requested before";
            return Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED").detail(detail));
        }
    }
    if !is_transferred {
        ue.context_transfer = ContextTransfer::None;
        tracing::info!(supi = ue.label(), "UE context not transferred; this AMF keeps the UE");
        ue.amf.rebalancing.set_idle(ue.handle.number, false);
        ue.idle = None;
        return Ok(());
    }
    ue.context_transfer = ContextTransfer::Transferred;
    amf_load_rebalancing::moved(ue);
    let unwanted = update.to_release_session_list.unwrap_or_default();
    let sessions: Vec<_> = std::mem::take(&mut ue.sessions).into_iter().collect();
    let (released, moved): (Vec<_>, Vec<_>) =
        sessions.into_iter().partition(|(psi, _)| unwanted.contains(psi));
    tracing::info!(
        supi = ue.label(),
        sessions = moved.len(),
        "UE context transferred to another AMF"
    );
    ue.release_sessions(released, Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
    if update.pcf_reselected_ind == Some(true) {
        am_policy_association::delete(ue).await;
    }
    ue.registration.policy = None;
    implicit_deregistration::remove_registration(ue).await;
    ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
    Ok(())
}

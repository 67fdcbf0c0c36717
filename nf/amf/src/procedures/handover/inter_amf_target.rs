//! Inter-AMF N2 handover, target AMF (TS 23.502, 4.9.1.3; TS 29.518, 5.2.2.2.3).
//!
//! ```text
//! source AMF -> target AMF  CreateUEContext
//! target AMF <-> target gNB handover preparation
//! target AMF -> source AMF  UE context created (target container)
//! target gNB -> target AMF  HANDOVER NOTIFY
//! target AMF -> source AMF  N2InfoNotify (HANDOVER_COMPLETED)
//! target AMF -> UDM         registration and subscription data
//! ```
use super::handover_execution::{self, Ended, FAILED_AT_TARGET};
use super::handover_preparation::{self, Parameters, Prepared};
use super::inter_amf_source::{reference, session_info, session_infos};
use super::kamf_change::{self, Keys};
use super::session_handover as sessions;
use crate::metrics::Procedure;
use crate::n2::handover_uplink::HandoverRequired;
use crate::n2::uplink::SessionInfo;
use crate::n2::{Gnb, NextHop};
use crate::procedures::connection::ue_context_release;
use crate::procedures::registration::{subscription_retrieval, ue_context_transfer};
use crate::procedures::session::serving_amf_change;
use crate::served::Tai;
use crate::ue::{HandoverAnswer, Ue};
use martlet_nas::Plmn;
use martlet_ngap::cause::{self, CauseNumber};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::namf_communication::*;
use std::sync::Arc;

const CONTAINER: &str = "container";

/// Runs the handover at the target AMF.
pub(crate) async fn run(ue: &mut Ue, body: Multipart<UeContextCreateData>, answer: HandoverAnswer) {
    let procedure = Procedure::start("handover_from_amf");
    let mut answer = Some(answer);
    let outcome = handover(ue, &body, &mut answer).await;
    ue.end_handover();
    match outcome {
        Ok(sessions) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                sessions,
                "handover from another AMF completed"
            );
            // The context is in the store also if this AMF ends before the UDM answers.
            ue.persist();
            // TS 23.502 registers at the UDM with the UE's mobility registration, but the UE may
            // lose this context before that, or have no reason for it. The UDM would still name the
            // source AMF, and not notify this one if the UE registers there.
            return subscription_retrieval::of_new_amf(ue).await;
        }
        Err(ended) => {
            procedure.failed(ended.label());
            tracing::warn!(
                supi = ue.label(),
                why = ended.label(),
                "handover from another AMF failed"
            );
        }
    }
    if let Some(answer) = answer.take() {
        let _ = answer.send(Err(Problem::new(403, "HANDOVER_FAILURE")
            .detail("handover preparation failed at the target")));
    }
    if let Some(target) = ue.target.take() {
        ue_context_release::run_on(ue, *target, Cause::radioNetwork(FAILED_AT_TARGET));
    }
    sessions::cancel(ue).await;
    // The source AMF keeps the UE and its sessions.
    ue.sessions.clear();
    ue.security = None;
}

async fn handover(
    ue: &mut Ue,
    body: &Multipart<UeContextCreateData>,
    answer: &mut Option<HandoverAnswer>,
) -> Result<usize, Ended> {
    if ue.admission.over_limit {
        return Err(CauseRadioNetwork::no_radio_resources_available_in_target_cell.into());
    }
    let data = &body.json;
    let (gnb, tai) = target(ue, &data.target_id)?;
    let Some(container) = body.find(&data.source_to_target_data.ngap_data.content_id).cloned()
    else {
        return Err(FAILED_AT_TARGET.into());
    };
    let keys = data.ue_context.seaf_data.clone();
    ue_context_transfer::take_for_handover(ue, data.ue_context.clone()).map_err(|what| {
        tracing::warn!(%what, "invalid UE context from the source AMF");
        Ended::from(FAILED_AT_TARGET)
    })?;
    let part = |info: &Option<N2InfoContent>| {
        info.as_ref().and_then(|info| body.find(&info.ngap_data.content_id)).cloned()
    };
    ue.capabilities.radio = part(&data.ue_radio_capability);
    ue.capabilities.radio_for_paging = part(&data.ue_radio_capability_for_paging);
    // An older context of the UE ends; its sessions were replaced.
    ue.replace_previous_context().await;
    let of_gnb = session_infos(&data.pdu_session_list, body);
    for (psi, _) in &of_gnb {
        if let Some(session) = ue.sessions.get_mut(psi) {
            session.state.activate();
        }
    }
    let why = data.ngap_cause.and_then(|cause| {
        cause::from_number(CauseNumber { group: cause.group, value: cause.value.into() })
    });
    let required = HandoverRequired {
        cause: why
            .unwrap_or(Cause::radioNetwork(CauseRadioNetwork::handover_desirable_for_radio_reason)),
        target: None,
        within_5gs: true,
        sessions: of_gnb,
        container,
    };
    let ambr =
        data.ue_context.sub_ue_ambr.as_ref().map(|ambr| (ambr.downlink.bps(), ambr.uplink.bps()));
    let ambr = ambr.unwrap_or_else(|| ue.ambr());
    let parameters = Parameters { ambr, rfsp: data.ue_context.used_rfsp, reporting: None };
    let mm = data.ue_context.mm_context_list.as_ref().and_then(|all| all.first());
    let keys = |ue: &mut Ue| match keys {
        Some(keys) if keys.key_amf_h_derivation_ind == Some(true) => {
            kamf_change::take_at_target(ue, mm)
        }
        keys => keys.and_then(|keys| next_hop(ue, &keys)),
    };
    let prepared = handover_preparation::run(ue, &required, (gnb, tai), parameters, keys).await?;
    if let Some(answer) = answer.take() {
        let _ = answer.send(Ok(created(&prepared)));
    }
    ue.start_execution();

    let location = handover_execution::handover_notify(ue).await?;
    let Some(mut target) = ue.target.take() else { return Err(Ended::NotArrived) };
    if let Some(location) = location {
        target.set_location(location);
    }
    target.context_is_set_up = true;
    ue.enter_cm_connected(*target);
    ue.secure_exchange();
    ue.registration.area = vec![tai];
    ue.register();
    ue.publish();
    let done = prepared.sessions();
    sessions::complete(ue, &done).await;
    serving_amf_change::run(ue, false).await;
    notify_source(ue, data).await;
    Ok(done.len())
}

/// The target gNB and tracking area.
fn target(ue: &Ue, target: &NgRanTargetId) -> Result<(Arc<Gnb>, Tai), Ended> {
    let unknown = || Ended::from(CauseRadioNetwork::unknown_targetID);
    let gnbs = ue.amf.gnbs.all();
    let gnb = gnbs
        .into_iter()
        .find(|gnb| gnb.setup().is_some_and(|setup| setup.global == target.ran_node_id));
    let plmn =
        Plmn::new(target.tai.plmn_id.mcc(), target.tai.plmn_id.mnc()).map_err(|_| unknown())?;
    let tai = Tai { plmn, tac: target.tai.tac.to_u32() };
    let gnb = gnb.filter(|gnb| gnb.covers(&[tai])).ok_or_else(unknown)?;
    match ue.amf.served.tais.contains(&tai) {
        true => Ok((gnb, tai)),
        false => Err(CauseRadioNetwork::ho_target_not_allowed.into()),
    }
}

/// The key chain that continues with {NH, NCC} from the source AMF (TS 33.501, 6.9.2.3.3).
fn next_hop(ue: &Ue, keys: &SeafData) -> Option<Keys> {
    let mut nh = [0; 32];
    hex::decode_to_slice(&keys.nh.as_ref()?.0, &mut nh).ok()?;
    let chain =
        NextHop::from_nh(ue.security.as_ref()?.k_amf(), &nh, keys.ncc.filter(|ncc| *ncc < 8)?);
    Some(Keys::with_current_k_amf(chain, nh))
}

/// The CreateUEContext response.
fn created(prepared: &Prepared) -> Multipart<UeContextCreatedData> {
    let Prepared { done, failed, container } = prepared;
    let list = |of: &[SessionInfo], kind: NgapIeType| -> Vec<N2SmInformation> {
        of.iter().map(|(psi, _)| session_info(*psi, kind.clone())).collect()
    };
    let data = UeContextCreatedData {
        target_to_source_data: N2InfoContent {
            ngap_ie_type: Some(NgapIeType::TarToSrcContainer),
            ngap_data: reference(CONTAINER),
            ..Default::default()
        },
        pdu_session_list: list(done, NgapIeType::HandoverCmd),
        failed_session_list: Some(list(failed, NgapIeType::HandoverPrepFail))
            .filter(|list| !list.is_empty()),
        ..Default::default()
    };
    let mut body = Multipart::new(data).part(CONTAINER, content_type::NGAP, container.clone());
    for (psi, info) in done.iter().chain(failed) {
        body = body.part(&format!("psi-{psi}"), content_type::NGAP, info.clone());
    }
    body
}

/// Notifies the source AMF of the completion (N2InfoNotify).
async fn notify_source(ue: &Ue, data: &UeContextCreateData) {
    let Some(uri) = data.n2_notify_uri.clone() else { return };
    let notification = N2InformationNotification {
        // Not a 3GPP value: the source AMF subscribed implicitly with its request.
        n2_notify_subscription_id: "handover".into(),
        notify_reason: Some(N2InfoNotifyReason::HandoverCompleted),
        guami: Some(ue.guami().sbi.clone()),
        ..Default::default()
    };
    let peer = ue.amf.context.callback_peer().about(&ue.label());
    if let Err(problem) =
        AmfCallbackClient::new(peer).n2_info_notify(&uri, notification.into()).await
    {
        tracing::warn!(
            supi = ue.label(), %problem,
            "handover notification to the source AMF failed"
        );
    }
}

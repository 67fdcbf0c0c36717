//! Inter-AMF N2 handover, source AMF (TS 23.502, 4.9.1.3; TS 29.518, 5.2.2.2.3 and 5.2.2.2.4).
//!
//! ```text
//! source AMF -> target AMF  CreateUEContext (keys, sessions, source container)
//! source AMF -> source gNB  HANDOVER COMMAND
//! target AMF -> source AMF  N2InfoNotify (HANDOVER_COMPLETED)
//! source AMF -> source gNB  UE CONTEXT RELEASE COMMAND
//! ```
use super::handover_execution::{Ended, FAILED_AT_TARGET};
use super::{kamf_change, ran_status_transfer};
use crate::n2::handover_downlink;
use crate::n2::handover_uplink::HandoverRequired;
use crate::n2::uplink::{SessionInfo, Uplink};
use crate::procedures::connection::ue_context_release;
use crate::procedures::n2::ng_setup;
use crate::procedures::registration::ue_context_transfer;
use crate::procedures::registration::{am_policy_association, implicit_deregistration};
use crate::served::{Tai, plmn_to_sbi, slice_to_sbi};
use crate::ue::{HandoverInput, ProcedureLayer, Stop, Ue};
use martlet_nf::Criteria;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, GlobalRANNodeID};
use martlet_sbi::{Multipart, Problem, content_type, path_segment};
use martlet_sbi_api::common::{NgApCause, RefToBinaryData, SecretText, Supi};
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::time::Instant;

const CONTAINER: &str = "container";
/// Discovery attempts to find another AMF, where several serve the tracking area.
const ATTEMPTS: usize = 4;

pub(crate) fn reference(id: &str) -> RefToBinaryData {
    RefToBinaryData { content_id: id.into() }
}

/// N2 information of a session, in the binary part `psi-N`.
pub(crate) fn session_info(psi: u8, kind: NgapIeType) -> N2SmInformation {
    N2SmInformation {
        pdu_session_id: psi,
        n2_info_content: Some(N2InfoContent {
            ngap_ie_type: Some(kind),
            ngap_data: reference(&format!("psi-{psi}")),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The bytes of each session's N2 information.
pub(crate) fn session_infos<T>(list: &[N2SmInformation], body: &Multipart<T>) -> Vec<SessionInfo> {
    let one = |info: &N2SmInformation| {
        let id = &info.n2_info_content.as_ref()?.ngap_data.content_id;
        Some((info.pdu_session_id, body.find(id)?.clone()))
    };
    list.iter().filter_map(one).collect()
}

/// Runs the handover. Returns the number of sessions at the target.
pub(crate) async fn run(
    ue: &mut Ue,
    required: &HandoverRequired,
    node: &GlobalRANNodeID,
    tai: Tai,
) -> Result<usize, Ended> {
    let Some(supi) = ue.identity.supi.clone() else {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    };
    let amf = other_amf(ue, tai).await.map_err(|problem| {
        if let Some(suppressed) = martlet_log_limit::line("handover_area", ue.gnb_address()) {
            tracing::info!(
                supi = ue.label(), %problem, tac = tai.tac, suppressed,
                "handover failed: no AMF for the target tracking area"
            );
        }
        Ended::from(CauseRadioNetwork::unknown_targetID)
    })?;
    let Some(body) = context(ue, required, node, tai) else { return Err(FAILED_AT_TARGET.into()) };
    let created = amf.create_ue_context(&supi, body).await.map_err(|problem| {
        if let Some(suppressed) = martlet_log_limit::line("handover_amf", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(), %problem, suppressed,
                "handover preparation failed at the target AMF"
            );
        }
        Ended::from(FAILED_AT_TARGET)
    })?;
    let outcome = execute(ue, (&amf, &supi), &created.body).await;
    if outcome.is_err() {
        let why = match &outcome {
            Err(Ended::NotPrepared(_) | Ended::NotArrived) => {
                CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system
            }
            _ => CauseRadioNetwork::handover_cancelled,
        };
        let cause = crate::served::cause_to_sbi(&Cause::radioNetwork(why))
            .unwrap_or(NgApCause { group: 0, value: 0 });
        let release = UeContextRelease {
            supi: Some(supi.clone()),
            unauthenticated_supi: None,
            ngap_cause: cause,
        };
        if let Err(problem) = amf.release_ue_context(&supi, release).await {
            tracing::warn!(
                supi = ue.label(), %problem,
                "UE context release at the target AMF failed"
            );
        }
    }
    outcome
}

/// Discovers another AMF that serves the tracking area.
async fn other_amf(ue: &Ue, tai: Tai) -> Result<AmfCommunicationClient, Problem> {
    let criteria = Criteria { tai: Some(tai.to_sbi()), ..Default::default() };
    for _ in 0..ATTEMPTS {
        let peer = ue.amf.context.discover(NfType::Amf, "namf-comm", &criteria).await?;
        if peer.root() != ue.amf.context.api_root() {
            // It prepares its gNB and the SMFs before it answers.
            let timeout = ue.amf.config.timers.ngap() * 2;
            return Ok(AmfCommunicationClient::new(peer.about(&ue.label()).within(timeout)));
        }
    }
    Err(Problem::new(504, "TARGET_NF_NOT_REACHABLE").detail("no other AMF found"))
}

/// The CreateUEContext request: keys with the next {NH, NCC} or a new K_AMF, sessions, and the
/// source container.
fn context(
    ue: &mut Ue,
    required: &HandoverRequired,
    node: &GlobalRANNodeID,
    tai: Tai,
) -> Option<Multipart<UeContextCreateData>> {
    let derives = ue.amf.config.security.derive_k_amf;
    let security = ue.security.as_mut()?;
    let (keys, downlink_count) = if derives {
        let (keys, count) = kamf_change::derive_at_source(security)?;
        (keys, Some(count))
    } else {
        let chain = ue.connection.as_mut()?.next_hop.as_mut()?;
        let nh = chain.advance();
        let key_amf = KeyAmf {
            key_type: KeyAmfType::Kamf,
            key_val: SecretText(hex::encode(security.k_amf())),
        };
        let mut keys = SeafData::new(NgKsi { tsc: ScType::Native, ksi: security.ngksi }, key_amf);
        (keys.nh, keys.ncc) = (Some(SecretText(hex::encode(nh))), Some(chain.ncc));
        (keys, security.downlink())
    };
    let security = ue.security.as_ref()?;
    let mut mm = ue_context_transfer::mm_context(ue);
    mm.nas_uplink_count = security.uplink();
    mm.nas_downlink_count = downlink_count;
    mm.nas_security_mode = Some(security.mode());
    let (downlink, uplink) = ue.ambr();
    let rate = martlet_sbi_api::common::BitRate::from_bps;
    let mut context = UeContext {
        supi: ue.identity.supi.clone(),
        pei: ue.identity.pei.clone(),
        sub_ue_ambr: Some(martlet_sbi_api::common::Ambr {
            uplink: rate(uplink),
            downlink: rate(downlink),
        }),
        seaf_data: Some(keys),
        mm_context_list: Some(vec![mm]),
        session_context_list: ue_context_transfer::session_contexts(ue),
        ..Default::default()
    };
    ue_context_transfer::add_subscription(ue, &mut context);
    let target = NgRanTargetId { ran_node_id: ng_setup::identity(node).1, tai: tai.to_sbi() };
    let container = N2InfoContent {
        ngap_ie_type: Some(NgapIeType::SrcToTarContainer),
        ngap_data: reference(CONTAINER),
        ..Default::default()
    };
    let known = |(psi, _): &&SessionInfo| {
        ue.sessions.get(psi).is_some_and(|session| !session.state.is_releasing())
    };
    let sessions: Vec<_> = required.sessions.iter().filter(known).collect();
    let infos = sessions.iter().map(|(psi, _)| N2SmInformation {
        s_nssai: ue.sessions.get(psi).map(|session| slice_to_sbi(session.slice)),
        subject_to_ho: Some(true),
        ..session_info(*psi, NgapIeType::HandoverRequired)
    });
    let mut data = UeContextCreateData::new(context, target, container, infos.collect());
    let root = ue.amf.context.api_root();
    let notify_uri =
        |supi: &Supi| format!("{root}/namf-callback/v1/n2-notify/{}", path_segment(supi));
    data.n2_notify_uri = ue.identity.supi.as_ref().map(notify_uri);
    data.ngap_cause = crate::served::cause_to_sbi(&required.cause);
    data.serving_network = Some(plmn_to_sbi(ue.guami().plmn).into());
    let (radio, for_paging) =
        (ue.capabilities.radio.clone(), ue.capabilities.radio_for_paging.clone());
    data.ue_radio_capability = radio.as_ref().map(|_| ue_context_transfer::radio_capability());
    data.ue_radio_capability_for_paging =
        for_paging.as_ref().map(|_| ue_context_transfer::radio_capability_for_paging());
    let mut body =
        Multipart::new(data).part(CONTAINER, content_type::NGAP, required.container.clone());
    let capabilities = [
        (ue_context_transfer::CAPABILITY, radio),
        (ue_context_transfer::CAPABILITY_FOR_PAGING, for_paging),
    ];
    for (id, capability) in capabilities {
        if let Some(capability) = capability {
            body = body.part(id, content_type::NGAP, capability);
        }
    }
    for (psi, info) in sessions {
        body = body.part(&format!("psi-{psi}"), content_type::NGAP, info.clone());
    }
    Some(body)
}

/// The target AMF, and the SUPI.
type OtherAmf<'a> = (&'a AmfCommunicationClient, &'a Supi);

/// Sends HANDOVER COMMAND and waits for the completion.
async fn execute(
    ue: &mut Ue,
    amf: OtherAmf<'_>,
    created: &Multipart<UeContextCreatedData>,
) -> Result<usize, Ended> {
    let data = &created.json;
    let done = session_infos(&data.pdu_session_list, created);
    let failed = session_infos(data.failed_session_list.as_deref().unwrap_or_default(), created);
    let Some(container) = created.find(&data.target_to_source_data.ngap_data.content_id).cloned()
    else {
        return Err(FAILED_AT_TARGET.into());
    };
    let Some(connection) = &ue.connection else { return Err(Ended::Stopped(Stop::ConnectionLost)) };
    let command = handover_downlink::handover_command(connection, &done, &failed, &container);
    if !connection.send(command).await {
        return Err(Ended::Stopped(Stop::ConnectionLost));
    }
    let until = Instant::now() + ue.amf.config.timers.handover();
    ue.start_execution_to_other_amf();
    let completed = completion(ue, amf, until).await;
    ue.end_handover();
    completed?;
    // The target AMF serves the UE and its sessions now.
    ue.sessions.clear();
    am_policy_association::delete(ue).await;
    implicit_deregistration::remove_registration(ue).await;
    ue_context_release::run(ue, Cause::radioNetwork(CauseRadioNetwork::successful_handover));
    Ok(done.len())
}

async fn completion(ue: &mut Ue, (amf, supi): OtherAmf<'_>, until: Instant) -> Result<(), Ended> {
    loop {
        match ue.next_handover_input(until).await {
            Ok(HandoverInput::Source(Uplink::HandoverCancel(_))) => return Err(Ended::Cancelled),
            Ok(HandoverInput::Source(Uplink::StatusTransfer(status))) => {
                ran_status_transfer::to_other_amf(ue, amf, supi, &status).await;
            }
            Ok(HandoverInput::Source(message @ Uplink::ReleaseRequest { .. })) => {
                return Err(Ended::Stopped(Stop::Preempted(ue.later(message))));
            }
            Ok(HandoverInput::Source(message)) => {
                ue.handle_unsolicited_ngap(message).map_err(Ended::Stopped)?
            }
            Ok(HandoverInput::Target(_) | HandoverInput::TargetLost) => {}
            Ok(HandoverInput::Nothing) => return Err(Ended::NotArrived),
            Err(Stop::HandedOver) => return Ok(()),
            Err(stop) => return Err(Ended::Stopped(stop)),
        }
    }
}

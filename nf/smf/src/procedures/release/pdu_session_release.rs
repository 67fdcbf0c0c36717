//! PDU session release (TS 23.502, 4.3.4).
use crate::procedures::branching::anchor_relocation;
use crate::procedures::charging::converged_charging;
use crate::procedures::handover::n2_handover;
use crate::procedures::modification::network_requested_modification;
use crate::procedures::n1_n2_transfer::{N1, N2, reference};
use crate::session::{Session, Updated};
use crate::usage::Used;
use crate::{metrics, n1};
use martlet_nas::GsmCause;
use martlet_nf::Criteria;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_pfcp::Message;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::namf_communication::{N1N2MessageTransferCause, NgapIeType};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::SmPolicyDeleteData;
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, ResourceStatus, SmContextStatusNotification, SmContextUpdatedData, StatusInfo,
};
use martlet_sbi_api::nudm_uecm::{SmfDeregistrationQuery, UdmUeContextManagementClient};
use std::time::Instant;

/// Times that a UE is told to release a session (TS 24.501, 6.3.3.5 a).
const MOST_COMMANDS: u8 = 5;

/// The UE asks for it (4.3.4.2): the UPF lets go at once, UE and gNB are told in the answer.
pub async fn by_ue(session: &mut Session, pti: u8) -> Updated {
    if pti == 0 || pti == 255 {
        let reject = n1::release_reject(session.id, pti, GsmCause::InvalidPtiValue);
        let data = SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
        return Ok(Some(Multipart::new(data).part(N1, content_type::NAS, reject)));
    }
    session.pti = pti;
    session.release_commands = 1;
    user_plane(session).await;
    let n1 = n1::release_command(session.id, pti, GsmCause::RegularDeactivation);
    let mut data = SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
    // Whether the gNB has the session at this moment is the AMF's to know: its answer may be on the
    // way.
    session.active = false;
    let n2 = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode();
    let n2 = n2.map_err(|e| Problem::system_failure(e.to_string()))?;
    data.n2_sm_info = Some(reference(N2));
    data.n2_sm_info_type = Some(N2SmInfoType::PduResRelCmd);
    Ok(Some(Multipart::new(data).part(N1, content_type::NAS, n1).part(N2, content_type::NGAP, n2)))
}

/// The network ends the session (4.3.4.2, steps 1b to 1d): the UE is told if it is connected. False
/// where nothing is left.
pub async fn by_network(session: &mut Session, cause: GsmCause) -> bool {
    if session.is_releasing() {
        return true;
    }
    (session.pti, session.release_commands) = (0, 1);
    user_plane(session).await;
    session.active = false;
    let command = n1::release_command(session.id, 0, cause);
    let release = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode().ok();
    let n2 = release.map(|n2| (NgapIeType::PduResRelCmd, n2));
    let mut body = session.transfer_body(Some(command), n2);
    body.json.skip_ind = Some(true);
    let answer = session.amf.n1_n2_message_transfer(&session.supi, body).await;
    let initiated = |cause| cause == N1N2MessageTransferCause::N1N2TransferInitiated;
    if answer.is_ok_and(|answer| answer.body.is_some_and(|body| initiated(body.cause))) {
        return true;
    }
    finish(session, true).await;
    false
}

/// T3592 has expired: the UE is told again, if it is connected (TS 24.501, 6.3.3.5 a). False where
/// that has no end: the session is released without the UE, which learns it from the next session
/// status that it gets.
pub async fn command_again(session: &mut Session) -> bool {
    let mut reached = session.release_commands < MOST_COMMANDS;
    if reached {
        let command = n1::release_command(session.id, session.pti, GsmCause::RegularDeactivation);
        let mut body = session.transfer_body(Some(command), None);
        // An idle UE is not worth a paging (TS 23.502, 4.3.4.2, step 3b).
        body.json.skip_ind = Some(true);
        let answer = session.amf.n1_n2_message_transfer(&session.supi, body).await;
        let initiated = |cause| cause == N1N2MessageTransferCause::N1N2TransferInitiated;
        reached = answer.is_ok_and(|answer| answer.body.is_some_and(|body| initiated(body.cause)));
    }
    match reached {
        true => session.release_commands += 1,
        false => finish(session, true).await,
    }
    reached
}

/// N4 session deletion, and the end of charging with what the UPF has counted last.
async fn user_plane(session: &mut Session) {
    let mut used = Used::default();
    n2_handover::end(session).await;
    for (bit, at) in session.place().into_iter().flat_map(|place| place.all()) {
        match anchor_relocation::ask_to_let_go(session, at).await {
            Ok(Message::SessionDeletionResponse(answer)) if bit == 0 => used
                .add_all(answer.usage_reports.iter().map(|report| (report.urr_id, report.volume))),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(supi = %session.supi, session = session.id, upf = %at.upf, %error, "the UPF may still have the session");
            }
        }
    }
    (session.upf, session.anchor) = (None, None);
    session.room.clear();
    converged_charging::end(session, used).await;
}

/// Takes back all that the session has; with `tell`, the AMF is told that it is gone. Each step is
/// tried whatever becomes of the others.
pub async fn finish(session: &mut Session, tell: bool) {
    let started = Instant::now();
    user_plane(session).await;
    let (policy, registered) = (session.policy.take(), std::mem::take(&mut session.registered));
    let session = &*session;
    let policy = async {
        if let Some((pcf, id)) = policy
            && let Err(problem) = pcf.delete_sm_policy(&id, SmPolicyDeleteData::default()).await
        {
            tracing::debug!(%problem, "the session's policy was not deleted");
        }
    };
    let udm = async {
        network_requested_modification::unsubscribe(session).await;
        if registered && let Err(problem) = deregister(session).await {
            tracing::debug!(%problem, "the session's registration was not taken back");
        }
    };
    tokio::join!(policy, udm);
    session.smf.pools.give_back(&session.dnn, &session.addresses);
    if tell {
        notify(session).await;
    }
    metrics::procedure("pdu_session_release", "ok", started);
    tracing::info!(supi = %session.supi, session = session.id, "a PDU session is released");
}

async fn deregister(session: &Session) -> Result<(), Problem> {
    let context = &session.smf.context;
    let peer = context
        .discover(NfType::Udm, "nudm-uecm", &Criteria::default())
        .await?
        .about(&session.supi);
    let query = SmfDeregistrationQuery {
        smf_instance_id: Some(session.smf.instance_id.clone()),
        ..Default::default()
    };
    UdmUeContextManagementClient::new(peer)
        .smf_deregistration(&session.supi, &session.id.to_string(), query)
        .await
}

/// Nsmf_PDUSession_SMContextStatusNotify.
async fn notify(session: &Session) {
    let body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Released));
    let peer = session.smf.context.callback_peer().about(&session.supi);
    let amf = martlet_sbi_api::namf_callback::AmfCallbackClient::new(peer);
    if let Err(problem) = amf.sm_context_status_notify(&session.status_uri, body).await {
        tracing::debug!(%problem, "the AMF did not take the session's end");
    }
}

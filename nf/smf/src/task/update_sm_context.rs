//! What the AMF has of a session: messages of the UE, answers of the gNB, the user plane on and off
//! (TS 29.502, 5.2.2.3).
use crate::n4::{to_buffer, to_buffer_anew, to_gnb};
use crate::procedures::branching::anchor_relocation;
use crate::procedures::handover::n2_handover;
use crate::procedures::handover::xn_handover;
use crate::procedures::modification::network_requested_modification;
use crate::procedures::modification::ue_requested_modification;
use crate::procedures::n1_n2_transfer::{N2, n1_answer, reference};
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::downlink_data_notification;
use crate::protection::{cannot_protect, carried_out};
use crate::session::{Session, SessionEvent, Updated};
use crate::{metrics, n1};
use bytes::Bytes;
use martlet_nas::{GsmCause, Nas5gsMessage, Nas5gsmMessage};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    FailedFlow, ModifyConfirm, ModifyIndication, Notify, SetupResponse, SetupUnsuccessful,
};
use martlet_sbi::{ApiRoot, Multipart, Problem, content_type};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateData, SmContextUpdatedData, UpCnxState,
};
use std::time::Instant;

/// The answer, and whether the session goes on.
pub async fn run(session: &mut Session, body: Multipart<SmContextUpdateData>) -> (Updated, bool) {
    let data = &body.json;
    anchor_relocation::consider(session, data.ue_location.as_ref());
    let n1 = data.n1_sm_msg.as_ref().and_then(|r| body.find(&r.content_id)).cloned();
    let n2 = data.n2_sm_info.as_ref().and_then(|r| body.find(&r.content_id)).cloned();
    if let Some(uri) = data.sm_context_status_uri.as_ref().filter(|_| data.serving_nf_id.is_some())
    {
        amf_changed(session, uri);
    }
    if data.release == Some(true) {
        pdu_session_release::finish(session, true).await;
        return (Ok(None), false);
    }
    if let Some(octets) = n1 {
        return from_ue(session, &octets).await;
    }
    if let Some(state) = &data.ho_state {
        let target = data.target_id.as_ref().map(|target| target.tai.tac.to_u32());
        return (
            n2_handover::run(session, state, data.n2_sm_info_type.clone().zip(n2), target).await,
            true,
        );
    }
    if let (Some(octets), Some(kind)) = (n2, &data.n2_sm_info_type) {
        return (from_gnb(session, kind, &octets).await, true);
    }
    match &data.up_cnx_state {
        Some(UpCnxState::Deactivated) => (deactivate(session).await, true),
        Some(UpCnxState::Activating) => (activate(session), true),
        _ => (Ok(None), true),
    }
}

/// Another AMF serves the UE (TS 29.502, 5.2.2.3.2.3 and 5.2.2.3.3): where it takes the session's
/// status is where its services are.
fn amf_changed(session: &mut Session, status_uri: &str) {
    let Some((root, _)) = ApiRoot::split(status_uri) else {
        return tracing::warn!(supi = %session.supi, session = session.id, status_uri, "no URI of an AMF");
    };
    let peer = session.smf.context.peer_at(root).about(&session.supi);
    session.amf = AmfCommunicationClient::new(peer);
    session.status_uri = status_uri.to_string();
}

/// A 5GSM message (TS 24.501, 6.4 and 7).
async fn from_ue(session: &mut Session, octets: &[u8]) -> (Updated, bool) {
    let Ok(Nas5gsMessage::Gsm(header, message)) = Nas5gsMessage::decode(octets) else {
        let status = n1::status(session.id, 0, GsmCause::SemanticallyIncorrectMessage);
        return (n1_answer(status), true);
    };
    let pti = header.procedure_transaction_identity;
    match message {
        Nas5gsmMessage::PduSessionReleaseRequest(_) => {
            (pdu_session_release::by_ue(session, pti).await, true)
        }
        Nas5gsmMessage::PduSessionReleaseComplete(_) if session.is_releasing() => {
            pdu_session_release::finish(session, true).await;
            (Ok(None), false)
        }
        Nas5gsmMessage::PduSessionModificationComplete(_) if session.modifying.is_some() => {
            network_requested_modification::completed(session, pti);
            (Ok(None), true)
        }
        Nas5gsmMessage::PduSessionModificationCommandReject(reject)
            if session.modifying.is_some() =>
        {
            network_requested_modification::rejected(session, pti, reject.fgsm_cause.cause_raw())
                .await;
            (Ok(None), true)
        }
        // One that comes after its time.
        Nas5gsmMessage::PduSessionModificationComplete(_) => (Ok(None), true),
        Nas5gsmMessage::PduSessionModificationRequest(request) => {
            (ue_requested_modification::run(session, pti, &request).await, true)
        }
        Nas5gsmMessage::FiveGsmStatus(status) => {
            let cause = status.fgsm_cause.cause_raw();
            tracing::info!(supi = %session.supi, session = session.id, cause, "the UE reports 5GSM STATUS");
            // The UE has no such session: it ends without the UE (6.5.3.2).
            let gone = cause == GsmCause::InvalidPduSessionIdentity.as_u8();
            if gone {
                pdu_session_release::finish(session, true).await;
            }
            (Ok(None), !gone)
        }
        _ => {
            let cause = GsmCause::MessageTypeNotCompatibleWithTheProtocolState;
            (n1_answer(n1::status(session.id, pti, cause)), true)
        }
    }
}

/// N2 information of the gNB.
async fn from_gnb(session: &mut Session, kind: &N2SmInfoType, octets: &Bytes) -> Updated {
    match kind {
        N2SmInfoType::PduResSetupRsp => {
            let started = Instant::now();
            let wrong =
                |e: &dyn std::fmt::Display| Problem::new(403, "N2_SM_ERROR").detail(e.to_string());
            let response = SetupResponse::decode(octets).map_err(|e| wrong(&e))?;
            carried_out(session, response.security);
            let (teid, address) = session.end_of(&response.downlink.tunnel);
            (session.active, session.gnb) = (true, Some((teid, address)));
            (session.activating, session.waiting, session.stale) = (false, false, false);
            if let Err(error) = session.modify(to_gnb(teid, address)).await {
                session.active = false;
                return Err(Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string()));
            }
            if session
                .place()
                .is_some_and(|place| !session.smf.n4.reaches(place.upf.upf, session.tac))
                && let Some(own) = session.smf.sessions.get(&session.reference.to_string())
            {
                own.send(SessionEvent::OutOfArea);
            }
            metrics::procedure("up_activation", "ok", started);
            let data = SmContextUpdatedData {
                up_cnx_state: Some(UpCnxState::Activated),
                ..Default::default()
            };
            Ok(Some(Multipart::new(data)))
        }
        N2SmInfoType::PduResSetupFail => {
            tracing::warn!(supi = %session.supi, session = session.id, "the gNB has no resources for the session");
            metrics::procedure("up_activation", "refused by gNB", Instant::now());
            (session.active, session.activating, session.waiting) = (false, false, false);
            let unprotected =
                SetupUnsuccessful::decode(octets).is_ok_and(|why| cannot_protect(&why.cause));
            if unprotected
                && let Some(own) = session.smf.sessions.get(&session.reference.to_string())
            {
                own.send(SessionEvent::Unprotected);
            }
            // What waits is dropped, so that the next packet is told anew.
            let _ = session.modify(to_buffer_anew()).await;
            let data = SmContextUpdatedData {
                up_cnx_state: Some(UpCnxState::Deactivated),
                ..Default::default()
            };
            Ok(Some(Multipart::new(data)))
        }
        N2SmInfoType::PduResModInd => from_another_end(session, octets).await,
        // Of flows alone: nobody is told of those whose bit rate is not kept, but for the log.
        N2SmInfoType::PduResNty => {
            let wrong =
                |e: &dyn std::fmt::Display| Problem::new(403, "N2_SM_ERROR").detail(e.to_string());
            let notify = Notify::decode(octets).map_err(|e| wrong(&e))?;
            tracing::info!(supi = %session.supi, session = session.id, ?notify, "the gNB notifies");
            metrics::procedure("resource_notify", "ok", Instant::now());
            Ok(None)
        }
        // The gNB has let the session's resources go by itself: what comes for it waits (TS 38.413,
        // 8.2.4).
        N2SmInfoType::PduResNtyRel => xn_handover::not_taken_over(session).await,
        N2SmInfoType::PathSwitchReq => xn_handover::run(session, octets).await,
        N2SmInfoType::PathSwitchSetupFail => xn_handover::not_taken_over(session).await,
        // The gNB has let go of what it was told to.
        N2SmInfoType::PduResRelRsp | N2SmInfoType::PduResModRsp => Ok(None),
        N2SmInfoType::PduResModFail => {
            network_requested_modification::refused_by_gnb(session).await;
            Ok(None)
        }
        other => {
            Err(Problem::new(403, "N2_SM_ERROR").detail(format!("{} is not taken", other.as_str())))
        }
    }
}

/// Downlink goes to another end of the gNB (TS 38.413, 8.2.5): one for all flows, since there is no
/// second tunnel of a session.
async fn from_another_end(session: &mut Session, octets: &Bytes) -> Updated {
    let started = Instant::now();
    let wrong = |e: &dyn std::fmt::Display| Problem::new(403, "N2_SM_ERROR").detail(e.to_string());
    let indication = ModifyIndication::decode(octets).map_err(|e| wrong(&e))?;
    let Some(uplink) = session.upf.filter(|_| session.active).map(|upf| upf.n3()) else {
        return Err(wrong(&"the session has no user plane"));
    };
    let before = session.gnb;
    let (teid, address) = session.end_of(&indication.downlink.tunnel);
    session.gnb = Some((teid, address));
    if let Err(error) = session.modify(to_gnb(teid, address)).await {
        session.gnb = before;
        return Err(Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string()));
    }
    let second = indication.additional_downlink.iter().flat_map(|tunnel| &tunnel.qfis);
    let cause = Cause::radioNetwork(CauseRadioNetwork::unspecified);
    let failed_flows = second.map(|qfi| FailedFlow { qfi: *qfi, cause: cause.clone() }).collect();
    let confirm = ModifyConfirm { flows: indication.downlink.qfis, uplink, failed_flows }.encode();
    let confirm = confirm.map_err(|error| Problem::system_failure(error.to_string()))?;
    metrics::procedure("modify_indication", "ok", started);
    let data = SmContextUpdatedData {
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PduResModCfm),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, confirm)))
}

/// The UE goes idle: downlink waits at the UPF (TS 23.502, 4.2.6, step 5).
async fn deactivate(session: &mut Session) -> Updated {
    let started = Instant::now();
    (session.active, session.activating, session.stale) = (false, false, false);
    n2_handover::end(session).await;
    let done = session.modify(to_buffer()).await;
    // The UE went before what came for it could be brought to it.
    if std::mem::take(&mut session.waiting) {
        downlink_data_notification::reach(session);
    }
    metrics::procedure("up_deactivation", if done.is_ok() { "ok" } else { "failed" }, started);
    done.map_err(|e| Problem::new(504, "PEER_NOT_RESPONDING").detail(e.to_string()))?;
    let data =
        SmContextUpdatedData { up_cnx_state: Some(UpCnxState::Deactivated), ..Default::default() };
    Ok(Some(Multipart::new(data)))
}

/// The UE comes back: what the gNB needs to set the user plane up (TS 23.502, 4.2.3.2, step 11).
fn activate(session: &mut Session) -> Updated {
    session.activating = true;
    let n2 = session
        .setup_request()
        .ok_or_else(|| Problem::system_failure("the session has no user plane"))?;
    let data = SmContextUpdatedData {
        up_cnx_state: Some(UpCnxState::Activating),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PduResSetupReq),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, n2)))
}

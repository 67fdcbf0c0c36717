//! Nsmf_PDUSession_UpdateSMContext (TS 29.502, 5.2.2.3): dispatches messages of the UE, responses
//! of the gNB, and requests of the AMF to the procedures.
use crate::n1;
use crate::procedures::branching::anchor_relocation;
use crate::procedures::handover::{n2_handover, xn_handover};
use crate::procedures::modification::{network_requested_modification, ue_requested_modification};
use crate::procedures::n1_n2_transfer::{n1_response, n2_sm_error};
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::{
    resource_modify_indication, resource_notify, up_connection_activation,
    up_connection_deactivation,
};
use crate::session::Session;
use crate::session_event::UpdateResponse;
use bytes::Bytes;
use martlet_nas::{GsmCause, Nas5gsmMessage};
use martlet_sbi::{ApiRoot, Multipart};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::nsmf_pdusession::{N2SmInfoType, SmContextUpdateData, UpCnxState};

/// Handles a request. Returns the response, and whether the session still exists.
pub async fn run(
    session: &mut Session,
    body: Multipart<SmContextUpdateData>,
) -> (UpdateResponse, bool) {
    let location = body.json.ue_location.clone();
    let outcome = dispatch(session, body).await;
    // The location is where the UE is after the procedure, which has set the tunnel.
    let location = location.and_then(|location| location.nr_location);
    let user_plane = &session.user_plane;
    if let (Some((_, gnb)), Some(location), Some(path)) =
        (user_plane.connection.gnb(), location, user_plane.path())
    {
        session.smf.gtpu_peers.seen(gnb, &location.ncgi, path);
    }
    outcome
}

async fn dispatch(
    session: &mut Session,
    body: Multipart<SmContextUpdateData>,
) -> (UpdateResponse, bool) {
    let data = &body.json;
    // Only the first update can be the gNB's response to the establishment.
    let is_new = std::mem::take(&mut session.user_plane.is_accept_at_gnb);
    anchor_relocation::update_location(session, data.ue_location.as_ref());
    if let Some(charging) = &mut session.charging {
        charging.state.access.update(data);
    }
    let n1 = data.n1_sm_msg.as_ref().and_then(|r| body.find(&r.content_id)).cloned();
    let n2 = data.n2_sm_info.as_ref().and_then(|r| body.find(&r.content_id)).cloned();
    if let Some(uri) = data.sm_context_status_uri.as_ref().filter(|_| data.serving_nf_id.is_some())
    {
        change_amf(session, uri);
    }
    if data.release == Some(true) {
        pdu_session_release::finish(session, true).await;
        return (Ok(None), false);
    }
    if let Some(message) = n1 {
        return handle_ue_message(session, &message).await;
    }
    let kind = data.n2_sm_info_type.clone();
    if let Some(state) = &data.ho_state {
        let target = data.target_id.as_ref().map(|target| target.tai.tac.to_u32());
        return (n2_handover::run(session, state, kind.zip(n2), target).await, true);
    }
    let response = match (n2, kind, &data.up_cnx_state) {
        (Some(info), Some(N2SmInfoType::PduResSetupFail), _) => {
            up_connection_activation::failure(session, &info, is_new).await
        }
        (Some(info), Some(kind), _) => handle_gnb_information(session, &kind, &info).await,
        (_, _, Some(UpCnxState::Deactivated)) => up_connection_deactivation::by_amf(session).await,
        (_, _, Some(UpCnxState::Activating)) => up_connection_activation::request(session),
        _ => Ok(None),
    };
    (response, true)
}

/// Another AMF serves the UE (TS 29.502, 5.2.2.3.2.3 and 5.2.2.3.3). Its services are at the API
/// root of its status URI.
fn change_amf(session: &mut Session, status_uri: &str) {
    let Some((root, _)) = ApiRoot::split(status_uri) else {
        let (supi, id) = (&session.supi, session.id);
        return tracing::warn!(%supi, session = id, status_uri, "invalid status URI of AMF");
    };
    let peer = session.smf.context.peer_at(root).about(&session.supi);
    session.amf.client = AmfCommunicationClient::new(peer);
    session.amf.status_uri = status_uri.to_string();
}

/// Handles a 5GSM message of the UE (TS 24.501, 6.4 and 7).
async fn handle_ue_message(session: &mut Session, message: &[u8]) -> (UpdateResponse, bool) {
    let Ok(n1::Received { pti, message, .. }) = n1::decode(message) else {
        let status = n1::status(session.id, 0, GsmCause::SemanticallyIncorrectMessage);
        return (n1_response(status), true);
    };
    match message {
        Nas5gsmMessage::PduSessionReleaseRequest(_) => {
            (pdu_session_release::by_ue(session, pti).await, true)
        }
        Nas5gsmMessage::PduSessionReleaseComplete(_) if session.gsm.is_releasing() => {
            pdu_session_release::finish(session, true).await;
            (Ok(None), false)
        }
        Nas5gsmMessage::PduSessionModificationComplete(_) => {
            if session.gsm.is_modifying() {
                network_requested_modification::completed(session, pti);
            } else {
                // The answer comes late: the UE has the QoS.
                session.qos_at_ue = None;
            }
            (Ok(None), true)
        }
        Nas5gsmMessage::PduSessionModificationCommandReject(reject)
            if session.gsm.is_modifying() =>
        {
            let cause = reject.fgsm_cause.cause_raw();
            network_requested_modification::rejected_by_ue(session, cause).await;
            (Ok(None), true)
        }
        Nas5gsmMessage::PduSessionModificationRequest(request) => {
            (ue_requested_modification::run(session, pti, &request).await, true)
        }
        Nas5gsmMessage::FiveGsmStatus(status) => {
            let cause = status.fgsm_cause.cause_raw();
            if let Some(suppressed) = martlet_log_limit::line("5gsm_status", &session.supi) {
                tracing::info!(
                    supi = %session.supi, session = session.id, cause, suppressed,
                    "5GSM STATUS of UE"
                );
            }
            // The UE aborts the modification with this PTI (6.5.3).
            let is_abort = [
                GsmCause::PtiMismatch,
                GsmCause::InvalidPtiValue,
                GsmCause::MessageTypeNonExistentOrNotImplemented,
            ]
            .into_iter()
            .any(|abort| abort.as_u8() == cause);
            let pending = session.gsm.modification().map(|modification| modification.pti);
            if is_abort && pending == Some(pti) {
                network_requested_modification::rejected_by_ue(session, cause).await;
            }
            // The UE does not have the session (6.5.3.2).
            let is_unknown = cause == GsmCause::InvalidPduSessionIdentity.as_u8();
            if is_unknown {
                pdu_session_release::finish(session, true).await;
            }
            (Ok(None), !is_unknown)
        }
        _ => {
            let cause = GsmCause::MessageTypeNotCompatibleWithTheProtocolState;
            (n1_response(n1::status(session.id, pti, cause)), true)
        }
    }
}

/// Handles N2 SM information of the gNB.
async fn handle_gnb_information(
    session: &mut Session,
    kind: &N2SmInfoType,
    info: &Bytes,
) -> UpdateResponse {
    match kind {
        N2SmInfoType::PduResSetupRsp => up_connection_activation::response(session, info).await,
        N2SmInfoType::PduResModInd => resource_modify_indication::run(session, info).await,
        N2SmInfoType::PduResNty => resource_notify::run(session, info),
        N2SmInfoType::PduResNtyRel | N2SmInfoType::PathSwitchSetupFail => {
            up_connection_deactivation::by_gnb(session).await
        }
        N2SmInfoType::PathSwitchReq => xn_handover::run(session, info).await,
        // The gNB confirms a command.
        N2SmInfoType::PduResRelRsp => Ok(None),
        N2SmInfoType::PduResModRsp => {
            network_requested_modification::confirmed_by_gnb(session, info);
            Ok(None)
        }
        N2SmInfoType::PduResModFail => {
            network_requested_modification::rejected_by_gnb(session).await;
            Ok(None)
        }
        other => Err(n2_sm_error(format!("{} is not supported", other.as_str()))),
    }
}

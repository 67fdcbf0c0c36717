//! Xn based handover (TS 23.502, 4.9.1.2; TS 29.502, 5.2.2.3.3): the UE is at the target gNB, which
//! requests a path switch.
//!
//! ```text
//! target gNB, AMF                         SMF                        UPF
//!  |-- N2: Path Switch Request ------------>|-- N4: switch downlink -->|  run
//!  |<-- N2: Path Switch Request Acknowledge-|                          |
//! ```
use crate::metrics;
use crate::n4::N4Error;
use crate::procedures::branching::intermediate_upf;
use crate::procedures::handover::forwarding_release;
use crate::procedures::modification::network_requested_modification::handed_over;
use crate::procedures::n1_n2_transfer::{N2, reference};
use crate::procedures::user_plane::up_security_enforcement::{check_outcome, correction};
use crate::session::Session;
use crate::session_event::{SessionEvent, UpdateResponse};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, CauseTransport};
use martlet_ngap::transfer::{PathSwitchAcknowledge, PathSwitchRequest, PathSwitchUnsuccessful};
use martlet_sbi::{Multipart, Problem, ProblemDetails, content_type};
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateError, SmContextUpdatedData, UpCnxState,
};
use std::time::Instant;

/// Switches the downlink to the target gNB, with end markers for the source. An anchor that the
/// target does not reach gets an intermediate UPF (4.9.1.2.3).
pub async fn run(session: &mut Session, bytes: &Bytes) -> UpdateResponse {
    let started = Instant::now();
    let request = match PathSwitchRequest::decode(bytes) {
        Ok(request) => request,
        Err(error) => {
            metrics::procedure("path_switch", "wrong transfer", started);
            return Err(rejection(403, "N2_SM_ERROR", error.to_string(), error.cause()));
        }
    };
    if session.user_plane.path().is_none() || session.gsm.is_releasing() {
        metrics::procedure("path_switch", "released", started);
        let cause = Cause::radioNetwork(CauseRadioNetwork::unknown_PDU_session_ID);
        return Err(rejection(403, "N2_SM_ERROR", "the session is being released".into(), cause));
    }
    let before = session.user_plane.connection;
    let outcome = async {
        forwarding_release::release(session).await;
        let route = intermediate_upf::prepare(session, session.mobility.tac).await?;
        let path = session.user_plane.path().ok_or(N4Error::NoUpf)?;
        let uplink = route.new_n3(path);
        let gnb = route.access(path).gnb(&request.downlink);
        session.user_plane.connection.activate(gnb);
        intermediate_upf::switch_to(session, route, gnb).await?;
        forwarding_release::schedule(session);
        Ok::<_, N4Error>(uplink)
    };
    let uplink = outcome.await;
    if let Err(error) = &uplink {
        metrics::procedure("path_switch", "failed", started);
        session.user_plane.connection = before;
        let cause = Cause::transport(CauseTransport::transport_resource_unavailable);
        return Err(rejection(504, "PEER_NOT_RESPONDING", error.to_string(), cause));
    }
    let security = correction(session, request.security.map(|(_, policy)| policy));
    check_outcome(session, request.security.map(|(outcome, _)| outcome));
    let acknowledge = PathSwitchAcknowledge { security, uplink: uplink.ok().flatten() }.encode();
    let acknowledge = acknowledge.map_err(|error| Problem::system_failure(error.to_string()))?;
    metrics::procedure("path_switch", "ok", started);
    remove_lost_flows(session, &request.flows);
    handed_over(session, &request.flows);
    let data = SmContextUpdatedData {
        up_cnx_state: Some(UpCnxState::Activated),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PathSwitchReqAck),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, acknowledge)))
}

/// The QoS flows that the target gNB has not taken over are removed (4.9.1.2.2): its list has all
/// flows that it has accepted (TS 38.413, 8.4.4.2 and 9.3.4.8). The default flow, which is not in
/// `qos.flows`, always stays. The source gNB may not have had the flows of a modification that has
/// not ended.
fn remove_lost_flows(session: &mut Session, taken_over: &[u8]) {
    let modification = session.gsm.modification();
    let previous = modification.and_then(|modification| modification.previous.as_deref());
    let qfis = previous.unwrap_or(&session.qos).flows.iter().map(|flow| flow.qfi);
    let lost: Box<[u8]> = qfis.filter(|qfi| !taken_over.contains(qfi)).collect();
    if !lost.is_empty() {
        session.send_to_self(SessionEvent::FlowsNotSetUp(lost));
    }
}

/// A rejection with the NGAP cause for the gNB.
fn rejection(status: u16, cause: &str, detail: String, for_gnb: Cause) -> Problem {
    let error = ProblemDetails {
        status: Some(status),
        cause: Some(cause.into()),
        detail: Some(detail),
        ..Default::default()
    };
    let Ok(transfer) = (PathSwitchUnsuccessful { cause: for_gnb }).encode() else {
        return Problem::system_failure("N2 SM information not encoded");
    };
    let error = SmContextUpdateError {
        error,
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PathSwitchReqFail),
        ..Default::default()
    };
    SmContextUpdateError::into_problem(Multipart::new(error).part(N2, content_type::NGAP, transfer))
}

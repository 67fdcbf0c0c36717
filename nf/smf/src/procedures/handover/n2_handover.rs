//! N2 handover (TS 23.502, 4.9.1.3; TS 29.502, 5.2.2.3.4).
//!
//! ```text
//! AMF                                          SMF
//!  |-- PREPARING, Handover Required ------------>|  prepare
//!  |<-- N2: PDU Session Resource Setup ----------|
//!  |-- PREPARED, Handover Request Acknowledge -->|  prepared
//!  |<-- N2: Handover Command --------------------|
//!  |-- COMPLETED ------------------------------->|  completed
//!  |-- CANCELLED, or resource allocation failure |  run, not_admitted
//! ```
use crate::metrics;
use crate::n4::{N4Error, forward, forwarding_tunnel};
use crate::procedures::branching::intermediate_upf;
use crate::procedures::handover::forwarding_release;
use crate::procedures::modification::network_requested_modification::handed_over;
use crate::procedures::n1_n2_transfer::{
    N2, n2_sm_error, peer_not_responding, reference, setup_request_at,
};
use crate::procedures::user_plane::up_security_enforcement::check_outcome;
use crate::session::{Preparation, PreparedHandover, Route, Session};
use crate::session_event::{SessionEvent, UpdateResponse};
use crate::user_plane_path::UpfSession;
use bytes::Bytes;
use martlet_ngap::ngap::{Cause as NgapCause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    GtpTunnel, HandoverCommand, HandoverPreparationUnsuccessful, HandoverRequestAcknowledge,
    HandoverRequired, HandoverResourceAllocationUnsuccessful,
};
use martlet_pfcp::Message;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::nsmf_pdusession::{Cause, HoState, N2SmInfoType, SmContextUpdatedData};
use std::time::Instant;

/// Handles a handover state of the AMF. `info` is the N2 SM information of a gNB, `target` the
/// target's tracking area.
pub async fn run(
    session: &mut Session,
    state: &HoState,
    info: Option<(N2SmInfoType, Bytes)>,
    target: Option<u32>,
) -> UpdateResponse {
    match (state, info) {
        (HoState::Preparing, Some((N2SmInfoType::HandoverRequired, bytes))) => {
            prepare(session, &bytes, target).await
        }
        (HoState::Prepared, Some((N2SmInfoType::HandoverReqAck, bytes))) => {
            prepared(session, &bytes).await
        }
        (_, Some((N2SmInfoType::HandoverResAllocFail, bytes))) => {
            not_admitted(session, &bytes).await
        }
        (HoState::Completed, _) => completed(session).await,
        (HoState::Cancelled, _) => {
            forwarding_release::release(session).await;
            metrics::procedure("handover", "cancelled", Instant::now());
            response(HoState::Cancelled, None)
        }
        (state, info) => {
            let kind = info.map(|(kind, _)| kind.as_str().to_string()).unwrap_or_default();
            Err(Problem::new(403, "N2_SM_ERROR")
                .detail(format!("handover state {} does not allow {kind:?}", state.as_str())))
        }
    }
}

fn response(state: HoState, info: Option<(N2SmInfoType, Vec<u8>)>) -> UpdateResponse {
    let mut data = SmContextUpdatedData { ho_state: Some(state), ..Default::default() };
    let Some((kind, bytes)) = info else { return Ok(Some(Multipart::new(data))) };
    (data.n2_sm_info, data.n2_sm_info_type) = (Some(reference(N2)), Some(kind));
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, bytes)))
}

/// Preparation (4.9.1.3.2, steps 4 to 7): returns what the target gNB has to set up. An earlier
/// preparation is aborted.
async fn prepare(session: &mut Session, bytes: &Bytes, tac: Option<u32>) -> UpdateResponse {
    let required = HandoverRequired::decode(bytes).map_err(n2_sm_error)?;
    forwarding_release::release(session).await;
    if session.gsm.is_releasing() || !session.user_plane.connection.is_activated() {
        return Err(n2_sm_error("the session has no user plane at the source"));
    }
    let tac = tac.or(session.mobility.tac);
    let route = intermediate_upf::prepare(session, tac).await.map_err(|error| {
        metrics::procedure("handover", "no upf", Instant::now());
        Problem::new(500, "INSUFFICIENT_RESOURCES")
            .detail(format!("no UPF reaches the target: {error}"))
    })?;
    let access = session.user_plane.path().map(|path| route.access(path));
    let request = access.and_then(|upf| setup_request_at(session, upf));
    let Some(request) = request else {
        forwarding_release::abandon_route(session, route).await;
        return Err(Problem::system_failure("the session has no user plane"));
    };
    let direct_forwarding = required.direct_forwarding;
    let started = Instant::now();
    session.mobility.handover.prepare(Preparation { direct_forwarding, route, started });
    response(HoState::Preparing, Some((N2SmInfoType::PduResSetupReq, request)))
}

/// The target gNB admits the session (steps 11 and 12): returns the flows that the source gNB
/// forwards, and the tunnel for them.
async fn prepared(session: &mut Session, bytes: &Bytes) -> UpdateResponse {
    let acknowledge = HandoverRequestAcknowledge::decode(bytes).map_err(n2_sm_error)?;
    let failed = acknowledge.failed_flows.iter().map(|flow| flow.qfi).collect();
    let set_up = acknowledge.flows.iter().map(|(qfi, _)| *qfi).collect();
    let handover = &mut session.mobility.handover;
    let Some(preparation) = handover.admit(acknowledge.downlink, set_up, failed) else {
        return Err(n2_sm_error("no handover is being prepared"));
    };
    check_outcome(session, acknowledge.security);
    let flows: Vec<u8> =
        acknowledge.flows.iter().filter(|(_, forwarded)| *forwarded).map(|(qfi, _)| *qfi).collect();
    let forwarding = match acknowledge.forwarding {
        Some(target) if !flows.is_empty() && preparation.direct_forwarding => Some(target),
        Some(target) if !flows.is_empty() => {
            match forward_through_upfs(session, target, preparation.route).await {
                Ok(tunnel) => Some(tunnel),
                // The handover continues; packets that reach the source are lost.
                Err(error) => {
                    tracing::warn!(
                        supi = %session.supi, session = session.id, %error,
                        "indirect data forwarding failed"
                    );
                    None
                }
            }
        }
        _ => None,
    };
    let command =
        HandoverCommand { flows: forwarding.map(|_| flows).unwrap_or_default(), forwarding };
    let command = command.encode().map_err(|error| Problem::system_failure(error.to_string()))?;
    response(HoState::Prepared, Some((N2SmInfoType::HandoverCmd, command)))
}

/// Creates the tunnel for indirect forwarding: at the UPF that reaches the target, and at the UPF
/// that the source reaches if that is another one.
async fn forward_through_upfs(
    session: &mut Session,
    target: GtpTunnel,
    route: Route,
) -> Result<GtpTunnel, N4Error> {
    let path = session.user_plane.path().ok_or(N4Error::NoUpf)?;
    let (source, access) = (path.access(), route.access(path));
    let mut tunnel = forward_through(session, access, target).await?;
    if source != access {
        tunnel = forward_through(session, source, tunnel).await?;
    }
    Ok(tunnel)
}

async fn forward_through(
    session: &mut Session,
    upf: UpfSession,
    target: GtpTunnel,
) -> Result<GtpTunnel, N4Error> {
    let (teid, address) = upf.gnb(&target);
    let request = forward(teid, address);
    match session.smf.n4.request(upf.upf, Some(upf.seid), request).await? {
        Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => {
            session.mobility.forwarding.push(upf);
            let (teid, address) = forwarding_tunnel(&answer.created_pdrs)
                .ok_or(N4Error::Unexpected("no forwarding tunnel"))?;
            Ok(GtpTunnel::new(address, teid))
        }
        Message::SessionModificationResponse(answer) => Err(N4Error::Rejected(answer.cause.0)),
        other => Err(N4Error::Unexpected(other.name())),
    }
}

/// The target gNB does not admit the session.
async fn not_admitted(session: &mut Session, bytes: &Bytes) -> UpdateResponse {
    let unsuccessful = HandoverResourceAllocationUnsuccessful::decode(bytes);
    let cause = unsuccessful.map_or(
        NgapCause::radioNetwork(
            CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system,
        ),
        |unsuccessful| unsuccessful.cause,
    );
    forwarding_release::release(session).await;
    metrics::procedure("handover", "not admitted", Instant::now());
    let failure = HandoverPreparationUnsuccessful { cause }.encode();
    let failure = failure.map_err(|error| Problem::system_failure(error.to_string()))?;
    let data = SmContextUpdatedData {
        ho_state: Some(HoState::None),
        cause: Some(Cause::HoFailure),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::HandoverPrepFail),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, failure)))
}

/// Execution (4.9.1.3.3, steps 7 to 10): the UE is at the target. The downlink goes there, with end
/// markers for the source; forwarding continues for a while.
async fn completed(session: &mut Session) -> UpdateResponse {
    let Some(prepared) = session.mobility.handover.complete() else {
        return Err(n2_sm_error("no handover was prepared"));
    };
    let PreparedHandover { target, preparation, flows, failed_flows } = prepared;
    let Preparation { route, started, .. } = preparation;
    let access = session.user_plane.path().map(|path| route.access(path));
    let gnb = access.map_or((target.teid, target.address), |upf| upf.gnb(&target));
    session.user_plane.connection.activate(gnb);
    if let Err(error) = intermediate_upf::switch_to(session, route, gnb).await {
        metrics::procedure("handover", "failed", started);
        return Err(peer_not_responding(error));
    }
    metrics::procedure("handover", "ok", started);
    forwarding_release::schedule(session);
    if !failed_flows.is_empty() {
        session.send_to_self(SessionEvent::FlowsNotSetUp(failed_flows));
    }
    handed_over(session, &flows);
    response(HoState::Completed, None)
}

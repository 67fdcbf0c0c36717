//! Path switch after an Xn handover (TS 23.502, 4.9.1.2; TS 29.502, 5.2.2.3.3): the target gNB has
//! the UE already.
use crate::metrics;
use crate::n4::{N4Error, to_buffer};
use crate::procedures::branching::intermediate_upf;
use crate::procedures::handover::n2_handover;
use crate::procedures::n1_n2_transfer::{N2, reference};
use crate::protection::{carried_out, corrected};
use crate::session::{Session, Updated};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, CauseTransport};
use martlet_ngap::transfer::{PathSwitchAcknowledge, PathSwitchRequest, PathSwitchUnsuccessful};
use martlet_sbi::{Multipart, Problem, ProblemDetails, content_type};
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateError, SmContextUpdatedData, UpCnxState,
};
use std::time::Instant;

/// Downlink goes to the target gNB from now on; the end of what went to the source gNB is marked. A
/// UPF that does not reach the target gets one before it that does (4.9.1.2.3).
pub async fn run(session: &mut Session, octets: &Bytes) -> Updated {
    let started = Instant::now();
    let request = match PathSwitchRequest::decode(octets) {
        Ok(request) => request,
        Err(error) => {
            metrics::procedure("path_switch", "wrong transfer", started);
            return Err(refused(403, "N2_SM_ERROR", error.to_string(), error.cause()));
        }
    };
    if session.upf.is_none() || session.is_releasing() {
        metrics::procedure("path_switch", "released", started);
        let cause = Cause::radioNetwork(CauseRadioNetwork::unknown_PDU_session_ID);
        return Err(refused(403, "N2_SM_ERROR", "the session is being released".into(), cause));
    }
    let before = session.gnb;
    let outcome = async {
        n2_handover::end(session).await;
        let way = intermediate_upf::prepare(session, session.tac).await?;
        let uplink = way.new_end(session);
        let end = way.end(session).map(|upf| upf.gnb(&request.downlink)).ok_or(N4Error::NoUpf)?;
        (session.active, session.gnb) = (true, Some(end));
        (session.activating, session.waiting, session.stale) = (false, false, false);
        intermediate_upf::take(session, way, end).await?;
        intermediate_upf::linger(session);
        Ok::<_, N4Error>(uplink)
    };
    let uplink = outcome.await;
    if let Err(error) = &uplink {
        metrics::procedure("path_switch", "failed", started);
        session.gnb = before;
        let cause = Cause::transport(CauseTransport::transport_resource_unavailable);
        return Err(refused(504, "PEER_NOT_RESPONDING", error.to_string(), cause));
    }
    let security = corrected(session, request.security.map(|(_, policy)| policy));
    carried_out(session, request.security.map(|(outcome, _)| outcome));
    let acknowledge = PathSwitchAcknowledge { security, uplink: uplink.ok().flatten() }.encode();
    let acknowledge = acknowledge.map_err(|error| Problem::system_failure(error.to_string()))?;
    metrics::procedure("path_switch", "ok", started);
    let data = SmContextUpdatedData {
        up_cnx_state: Some(UpCnxState::Activated),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PathSwitchReqAck),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, acknowledge)))
}

/// The target gNB has not taken the session over: its user plane has ended, and downlink waits
/// (step 2).
pub async fn not_taken_over(session: &mut Session) -> Updated {
    (session.active, session.activating, session.stale) = (false, false, false);
    let done = session.modify(to_buffer()).await;
    metrics::procedure("path_switch", "not taken over", Instant::now());
    done.map_err(|error| Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string()))?;
    let data =
        SmContextUpdatedData { up_cnx_state: Some(UpCnxState::Deactivated), ..Default::default() };
    Ok(Some(Multipart::new(data)))
}

/// A refusal with what the gNB is told of it.
fn refused(status: u16, cause: &str, detail: String, for_gnb: Cause) -> Problem {
    let error = ProblemDetails {
        status: Some(status),
        cause: Some(cause.into()),
        detail: Some(detail),
        ..Default::default()
    };
    let Ok(transfer) = (PathSwitchUnsuccessful { cause: for_gnb }).encode() else {
        return Problem::system_failure("a transfer does not encode");
    };
    let error = SmContextUpdateError {
        error,
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PathSwitchReqFail),
        ..Default::default()
    };
    SmContextUpdateError::into_problem(Multipart::new(error).part(N2, content_type::NGAP, transfer))
}

//! Activation of the user plane connection in a service request (TS 23.502, 4.2.3.2, steps 11 to
//! 17), and the gNB's response to a PDU Session Resource Setup (TS 38.413, 8.2.1).
//!
//! ```text
//! AMF                                   SMF                         UPF
//!  |-- UpdateSMContext: ACTIVATING ------>|  request                  |
//!  |<-- N2: PDU Session Resource Setup ---|                           |
//!  |-- N2: setup response --------------->|-- N4: forward downlink -->|  response
//!  |-- N2: setup failure ---------------->|-- N4: drop and buffer --->|  failure
//! ```
use super::n4_session_modification::modify_downlink;
use super::up_security_enforcement::{check_outcome, is_not_possible};
use crate::metrics;
use crate::n4::{drop_and_buffer, forward_to_gnb};
use crate::procedures::n1_n2_transfer::{
    N2, connection_state, n2_sm_error, peer_not_responding, reference, setup_request,
};
use crate::session::Session;
use crate::session_event::{SessionEvent, UpdateResponse};
use bytes::Bytes;
use martlet_nas::GsmCause;
use martlet_ngap::cause;
use martlet_ngap::ngap::Cause;
use martlet_ngap::transfer::{SetupResponse, SetupUnsuccessful};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::PduSessionType;
use martlet_sbi_api::nsmf_pdusession::{N2SmInfoType, SmContextUpdatedData, UpCnxState};
use std::time::Instant;

/// The AMF requests an activation: returns what the gNB has to set up.
pub fn request(session: &mut Session) -> UpdateResponse {
    let n2 = setup_request(session)
        .ok_or_else(|| Problem::system_failure("the session has no user plane"))?;
    session.user_plane.connection.begin_activation();
    session.qos_in_setup = None;
    let data = SmContextUpdatedData {
        up_cnx_state: Some(UpCnxState::Activating),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PduResSetupReq),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, n2)))
}

/// PDU Session Resource Setup Response: the downlink goes to the gNB.
pub async fn response(session: &mut Session, bytes: &Bytes) -> UpdateResponse {
    let started = Instant::now();
    let response = SetupResponse::decode(bytes).map_err(n2_sm_error)?;
    check_outcome(session, response.security);
    let gnb = session.gnb_tunnel(&response.downlink.tunnel);
    session.user_plane.connection.activate(gnb);
    if let Err(error) = modify_downlink(session, forward_to_gnb(gnb.0, gnb.1)).await {
        session.user_plane.connection.deactivate();
        return Err(peer_not_responding(error));
    }
    // The gNB has the QoS of the setup.
    session.unconfirmed = None;
    session.rejected_by_ue = None;
    if !response.failed_flows.is_empty() {
        let qfis = response.failed_flows.iter().map(|flow| flow.qfi).collect();
        session.send_to_self(SessionEvent::FlowsNotSetUp(qfis));
    }
    if session.qos_in_setup.is_some() {
        session.send_to_self(SessionEvent::SetUpOutdated);
    }
    if session.qos_at_ue.is_some() {
        session.send_to_self(SessionEvent::ModificationNotAnswered);
    }
    let access = session.user_plane.access();
    let tac = session.mobility.tac;
    if access.is_some_and(|upf| !session.smf.n4.reaches(upf.upf, tac)) {
        session.send_to_self(SessionEvent::OutOfServiceArea);
    }
    metrics::procedure("up_activation", "ok", started);
    connection_state(UpCnxState::Activated)
}

/// PDU Session Resource Setup failed: the gNB has no resources, or cannot enforce the security
/// policy. `is_new`: the UE does not have the session yet.
pub async fn failure(session: &mut Session, bytes: &Bytes, is_new: bool) -> UpdateResponse {
    let why = SetupUnsuccessful::decode(bytes).ok().map(|failure| failure.cause);
    if let Some(suppressed) = martlet_log_limit::line("no_resources", &session.supi) {
        tracing::warn!(
            supi = %session.supi, session = session.id, cause = why.as_ref().map(cause::text),
            suppressed, "no resources at gNB"
        );
    }
    metrics::procedure("up_activation", "refused by gNB", Instant::now());
    session.user_plane.connection.deactivate();
    if is_new {
        let cause = rejection(&session.parameters.kind, why.as_ref());
        session.send_to_self(SessionEvent::RefusedByGnb(cause));
    } else if why.as_ref().is_some_and(is_not_possible) {
        session.send_to_self(SessionEvent::SecurityNotEnforced);
    }
    // The next packet is reported again.
    let _ = modify_downlink(session, drop_and_buffer()).await;
    connection_state(UpCnxState::Deactivated)
}

/// The 5GSM cause for a UE whose new session the gNB refuses.
fn rejection(kind: &PduSessionType, why: Option<&Cause>) -> GsmCause {
    match (kind, why) {
        (_, Some(cause)) if is_not_possible(cause) => GsmCause::RequestRejectedUnspecified,
        // Some gNBs set up no session with both IP versions. The UE requests one with IPv4 then (TS
        // 24.501, 6.4.1.4.3).
        (PduSessionType::Ipv4v6, Some(Cause::protocol(_))) => {
            GsmCause::PduSessionTypeIpv4OnlyAllowed
        }
        _ => GsmCause::InsufficientResources,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_ngap::ngap::{CauseProtocol, CauseRadioNetwork};

    #[test]
    fn a_ue_whose_session_the_gnb_refuses_learns_what_it_may_request() {
        let protocol = Cause::protocol(CauseProtocol::unspecified);
        let no_room = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let unprotected =
            Cause::radioNetwork(CauseRadioNetwork::up_integrity_protection_not_possible);
        for (kind, why, cause) in [
            (PduSessionType::Ipv4v6, Some(&protocol), GsmCause::PduSessionTypeIpv4OnlyAllowed),
            (PduSessionType::Ipv4, Some(&protocol), GsmCause::InsufficientResources),
            (PduSessionType::Ipv4v6, Some(&no_room), GsmCause::InsufficientResources),
            (PduSessionType::Ipv4v6, Some(&unprotected), GsmCause::RequestRejectedUnspecified),
            (PduSessionType::Ipv4v6, None, GsmCause::InsufficientResources),
        ] {
            assert_eq!(rejection(&kind, why), cause, "{kind:?}, {why:?}");
        }
    }
}

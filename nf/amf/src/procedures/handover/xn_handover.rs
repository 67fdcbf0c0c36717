//! Xn handover, the core network's part (TS 23.502, 4.9.1.2.2; TS 38.413, 8.4.4): the path switch.
//! It also runs inside another procedure of the UE.
//!
//! ```text
//! target gNB -> AMF  PATH SWITCH REQUEST
//! AMF -> SMFs        Nsmf_PDUSession_UpdateSMContext (PATH_SWITCH_REQ)
//! AMF -> target gNB  PATH SWITCH REQUEST ACKNOWLEDGE or FAILURE
//! AMF -> source gNB  UE CONTEXT RELEASE COMMAND, some seconds later
//! ```
//!
//! The target has to be a neighbour of the source (`amf.n2.xn_neighbours`), in a tracking area that
//! the subscription does not forbid. The target releases the source over Xn (TS 23.502, 4.9.1.2.2,
//! step 8), so a source that was asked for the handover has no context any more when the command
//! arrives. One that was not asked is notified that its UE has left.
use crate::Amf;
use crate::config::XnNeighbours;
use crate::metrics::{self, Procedure};
use crate::n2::handover_downlink::{self, PathSwitched};
use crate::n2::handover_uplink::PathSwitchRequested;
use crate::n2::uplink::SessionInfo;
use crate::n2::{Gnb, Handled, downlink, handover_uplink};
use crate::procedures::connection::nas_non_delivery;
use crate::procedures::registration::subscription_retrieval;
use crate::procedures::session::user_plane_activation::{N2, part};
use crate::ue::{Event, Ue};
use bytes::Bytes;
use futures_util::future::join_all;
use martlet_event_queue::TrySendError;
use martlet_log_limit as log_limit;
use martlet_ngap::inbound::Fault;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, NGAPPDU};
use martlet_ngap::transfer::PathSwitchUnsuccessful;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::UserLocation;
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateData, SmContextUpdateError, SmContextUpdatedData,
};
use std::sync::Arc;

/// Gives PATH SWITCH REQUEST to the task of the UE that the source AMF UE NGAP ID names.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
    let request =
        handover_uplink::path_switch_request(pdu, data).map_err(|error| Fault::of(pdu, &error))?;
    let unknown = match amf.tables.by_amf_id(request.amf_id) {
        None => Event::PathSwitch(gnb.clone(), request.into()),
        Some(ue) => match ue.sender.try_send(Event::PathSwitch(gnb.clone(), request.into())) {
            Ok(()) => return Ok(Vec::new()),
            Err(TrySendError::Full(event) | TrySendError::Closed(event)) => event,
        },
    };
    if let Event::PathSwitch(gnb, request) = unknown {
        let cause = CauseRadioNetwork::unknown_local_UE_NGAP_ID;
        martlet_nf::spawn(async move { reject(&gnb, &request, cause).await });
    }
    Ok(Vec::new())
}

/// Switches the path of the UE's sessions to the target gNB, or rejects the request.
pub(crate) async fn run(ue: &mut Ue, gnb: Arc<Gnb>, request: PathSwitchRequested) {
    let procedure = Procedure::start("path_switch");
    let ready = ue.connection.as_ref().filter(|connection| connection.amf_id == request.amf_id);
    if ready.is_none_or(|connection| !connection.context_is_set_up) {
        procedure.failed("no_context");
        return reject(&gnb, &request, CauseRadioNetwork::unknown_local_UE_NGAP_ID).await;
    }
    if !is_neighbour(ue, &gnb) {
        procedure.failed("not_a_neighbour");
        return reject(&gnb, &request, CauseRadioNetwork::ho_target_not_allowed).await;
    }
    // An N2 handover to such an area is rejected, too (TS 23.501, 5.3.4.1.1). There the UE would be
    // rejected when it registers.
    let tai = request.location.map(|location| location.tai);
    if tai.is_some_and(|tai| subscription_retrieval::is_forbidden(ue, tai)) {
        procedure.failed("forbidden_area");
        return reject(&gnb, &request, CauseRadioNetwork::ho_target_not_allowed).await;
    }
    let location = request.location.map(|location| location.to_sbi());
    let known = |(psi, _): &&SessionInfo| {
        ue.sessions.get(psi).is_some_and(|session| !session.state.is_releasing())
    };
    let switched: Vec<_> = request.switched.iter().filter(known).collect();
    let answers = join_all(switched.iter().map(|info| switch(ue, info, location.clone()))).await;
    let (mut done, mut released) = (Vec::new(), Vec::new());
    for ((psi, _), answer) in switched.iter().zip(answers) {
        match answer {
            Ok(transfer) => done.push((*psi, transfer)),
            Err(problem) => {
                if let Some(suppressed) = log_limit::line("path_switch_smf", ue.gnb_address()) {
                    tracing::warn!(
                        supi = ue.label(), psi, %problem, suppressed,
                        "path switch failed at the SMF"
                    );
                }
                released.push((*psi, unsuccessful(problem)));
            }
        }
    }
    for (psi, _) in
        request.switched.iter().filter(|(psi, _)| switched.iter().all(|(known, _)| known != psi))
    {
        released.push((*psi, refusal(CauseRadioNetwork::unknown_PDU_session_ID)));
    }
    if done.is_empty() {
        procedure.failed("no_session");
        if let Some(suppressed) = log_limit::line("path_switch_failed", gnb.address.ip()) {
            tracing::warn!(
                supi = ue.label(),
                gnb = gnb.label(),
                suppressed,
                "path switch failed for all sessions"
            );
        }
        let failure =
            handover_downlink::path_switch_failure(request.amf_id, request.ran_id, &released);
        return send(&gnb, request.amf_id, failure).await;
    }
    let before = ue.gnb();
    let source =
        ue.connection.as_ref().map(|connection| (connection.gnb.clone(), connection.ran_id));
    let moved = ue.connection.as_mut().is_some_and(|connection| {
        ue.amf.tables.move_connection(connection.amf_id, gnb.number, request.ran_id) && {
            connection.move_to(gnb.clone(), request.ran_id, request.location);
            true
        }
    });
    if !moved {
        // The connection was lost meanwhile.
        procedure.failed("connection_lost");
        return reject(&gnb, &request, CauseRadioNetwork::unknown_local_UE_NGAP_ID).await;
    }
    deactivate_unswitched(ue, &request, &done, location).await;
    acknowledge(ue, &request, &done, &released).await;
    if let Some((source, ran_id)) = source.filter(|(source, _)| source.number != gnb.number) {
        martlet_nf::spawn(release_source(ue.amf.clone(), source, request.amf_id, ran_id));
    }
    nas_non_delivery::send_again(ue).await;
    ue.publish();
    tracing::info!(
        supi = ue.label(),
        from = before,
        gnb = ue.gnb(),
        sessions = done.len(),
        "path switched"
    );
    procedure.succeeded();
}

/// Whether the gNB may take over the UE by a path switch.
fn is_neighbour(ue: &Ue, target: &Gnb) -> bool {
    let Some(source) = ue.connection.as_ref().map(|connection| &connection.gnb) else {
        return false;
    };
    if source.number == target.number {
        return true;
    }
    let n2 = &ue.amf.config.n2;
    let is_listed = || match (source.setup(), target.setup()) {
        (Some(source), Some(target)) => n2.are_neighbours(&source.id, &target.id),
        _ => false,
    };
    match n2.xn_neighbours {
        XnNeighbours::Any => true,
        XnNeighbours::SameTac => source.shares_area_with(target) || is_listed(),
        XnNeighbours::List => is_listed(),
    }
}

/// Releases the UE's context at the source gNB, unless the UE is back, or another UE has the
/// identity.
async fn release_source(amf: Arc<Amf>, source: Arc<Gnb>, amf_id: u64, ran_id: u32) {
    tokio::time::sleep(amf.config.timers.ngap()).await;
    let is_back = amf.tables.gnb_of(amf_id) == Some(source.number);
    if is_back || source.setup().is_none() || amf.tables.has_ran_id(source.number, ran_id) {
        return;
    }
    let cause = Cause::radioNetwork(CauseRadioNetwork::successful_handover);
    let command = downlink::ue_context_release(amf_id, Some(ran_id), cause);
    send(&source, amf_id, command).await;
}

/// Sends the target's transfer to the SMF and returns the SMF's transfer.
async fn switch(
    ue: &Ue,
    (psi, info): &SessionInfo,
    location: Option<UserLocation>,
) -> Result<Bytes, Problem> {
    let change = SmContextUpdateData {
        to_be_switched: Some(true),
        n2_sm_info: part(N2),
        n2_sm_info_type: Some(N2SmInfoType::PathSwitchReq),
        ue_location: location,
        ..Default::default()
    };
    let answer = ue
        .update_session(*psi, Multipart::new(change).part(N2, content_type::NGAP, info.clone()))
        .await?;
    transfer(answer.as_ref())
        .ok_or_else(|| Problem::system_failure("the SMF's answer has no N2 information"))
}

fn transfer(answer: Option<&Multipart<SmContextUpdatedData>>) -> Option<Bytes> {
    let answer = answer?;
    answer.find(&answer.json.n2_sm_info.as_ref()?.content_id).cloned()
}

/// The unsuccessful transfer of a session that the SMF did not switch.
fn unsuccessful(mut problem: Problem) -> Bytes {
    let of_smf = SmContextUpdateError::from_problem(&mut problem)
        .and_then(|error| error.find(&error.json.n2_sm_info.as_ref()?.content_id).cloned());
    of_smf.unwrap_or_else(|| refusal(CauseRadioNetwork::unspecified))
}

fn refusal(cause: CauseRadioNetwork) -> Bytes {
    let transfer = PathSwitchUnsuccessful { cause: Cause::radioNetwork(cause) };
    transfer.encode().unwrap_or_default().into()
}

/// Deactivates the sessions that the target did not take over.
async fn deactivate_unswitched(
    ue: &mut Ue,
    request: &PathSwitchRequested,
    done: &[SessionInfo],
    location: Option<UserLocation>,
) {
    let known = |(psi, _): &&SessionInfo| ue.sessions.contains_key(psi);
    let failed: Vec<_> = request.failed.iter().filter(known).collect();
    let updates = failed.iter().map(|(psi, info)| {
        let change = SmContextUpdateData {
            failed_to_be_switched: Some(true),
            n2_sm_info: part(N2),
            n2_sm_info_type: Some(N2SmInfoType::PathSwitchSetupFail),
            ue_location: location.clone(),
            ..Default::default()
        };
        ue.update_session(*psi, Multipart::new(change).part(N2, content_type::NGAP, info.clone()))
    });
    let answers = join_all(updates).await;
    for ((psi, _), answer) in failed.iter().zip(answers) {
        if let Err(problem) = answer {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "failed-to-be-switched report to the SMF failed"
            );
        }
    }
    let reported: Vec<u8> = failed.iter().map(|(psi, _)| *psi).collect();
    let mut missing = Vec::new();
    for (psi, session) in ue.sessions.iter_mut() {
        let switched = done.iter().any(|(switched, _)| switched == psi);
        if session.state.is_active() && !switched && !reported.contains(psi) {
            missing.push(*psi);
        }
        match switched {
            true => session.state.activate(),
            false => session.state.deactivate(),
        }
    }
    if !missing.is_empty() {
        ue.deactivate_sessions(&missing, None).await;
    }
}

async fn acknowledge(
    ue: &mut Ue,
    request: &PathSwitchRequested,
    done: &[SessionInfo],
    released: &[SessionInfo],
) {
    let Some(capability) = ue.capabilities.security.clone() else { return };
    // The gNB's security capabilities are compared with the stored ones (TS 33.501, 6.7.3.1); the
    // stored ones are sent in any case.
    if request.capability != downlink::security_capabilities(&capability) {
        metrics::ngap_error("security_capabilities");
        if let Some(suppressed) = log_limit::line("security_capabilities", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                suppressed,
                "security capability mismatch in the path switch request"
            );
        }
    }
    let Some(connection) = &mut ue.connection else { return };
    let Some(chain) = &mut connection.next_hop else { return };
    let nh = chain.advance();
    let ncc = chain.ncc;
    let path = PathSwitched {
        capability: &capability,
        nh,
        ncc,
        allowed: &ue.registration.allowed,
        switched: done,
        released,
    };
    let acknowledge = handover_downlink::path_switch_acknowledge(connection, path);
    connection.send(acknowledge).await;
}

/// Sends PATH SWITCH REQUEST FAILURE for all sessions.
pub(crate) async fn reject(gnb: &Gnb, request: &PathSwitchRequested, why: CauseRadioNetwork) {
    metrics::ngap_error("path_switch");
    if let Some(suppressed) = log_limit::line("path_switch", gnb.address.ip()) {
        tracing::warn!(
            gnb = gnb.label(), amf_id = request.amf_id, ran_id = request.ran_id, cause = ?why,
            suppressed, "path switch rejected"
        );
    }
    let released: Vec<_> = request.switched.iter().map(|(psi, _)| (*psi, refusal(why))).collect();
    let failure = handover_downlink::path_switch_failure(request.amf_id, request.ran_id, &released);
    send(gnb, request.amf_id, failure).await;
}

/// Sends a message about a connection that is not the UE's current one, on its stream.
async fn send(gnb: &Gnb, amf_id: u64, message: downlink::Built) {
    match message {
        Ok(message) => drop(gnb.send(gnb.stream(amf_id), &message).await),
        Err(error) => tracing::error!(gnb = gnb.label(), %error, "NGAP message not encodable"),
    }
}

//! The SMFs' part of a handover (TS 29.502, 5.2.2.3.4): hoState PREPARING, PREPARED, COMPLETED and
//! CANCELLED.
use crate::n2::Gnb;
use crate::n2::handover_uplink::{HandoverAdmitted, HandoverRequired};
use crate::n2::uplink::{SessionInfo, SessionOutcome};
use crate::procedures::session::user_plane_activation::{N2, part};
use crate::served::Tai;
use crate::ue::Ue;
use bytes::Bytes;
use futures_util::future::join_all;
use martlet_nas::identifiers::Slice;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    HandoverPreparationUnsuccessful, HandoverResourceAllocationUnsuccessful,
};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::namf_communication::NgRanTargetId;
use martlet_sbi_api::nsmf_pdusession::{
    HoState, N2SmInfoType, SmContextUpdateData, SmContextUpdatedData,
};

/// Result of the preparation at the SMFs.
#[derive(Default)]
pub(crate) struct Prepared {
    /// Session, slice and PDU Session Resource Setup Request Transfer.
    pub requests: Vec<(u8, Slice, Bytes)>,
    /// Failed sessions, each with its Handover Preparation Unsuccessful Transfer.
    pub failed: Vec<SessionInfo>,
}

type Updated = Option<Multipart<SmContextUpdatedData>>;

/// The N2 information of an answer, if it has this type.
fn info(answer: Updated, kind: &N2SmInfoType) -> Result<Bytes, Problem> {
    let found = answer
        .filter(|answer| answer.json.n2_sm_info_type.as_ref() == Some(kind))
        .and_then(|answer| {
            let part = answer.json.n2_sm_info.as_ref()?;
            answer.find(&part.content_id).cloned()
        });
    found.ok_or_else(|| Problem::system_failure(format!("the SMF gave no {}", kind.as_str())))
}

fn preparation_unsuccessful() -> Bytes {
    let cause = Cause::radioNetwork(
        CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system,
    );
    HandoverPreparationUnsuccessful { cause }.encode().unwrap_or_default().into()
}

async fn update(
    ue: &Ue,
    psi: u8,
    change: SmContextUpdateData,
    info: Bytes,
) -> Result<Updated, Problem> {
    let change = SmContextUpdateData { n2_sm_info: part(N2), ..change };
    ue.update_session(psi, Multipart::new(change).part(N2, content_type::NGAP, info)).await
}

/// Prepares the sessions that the source names at their SMFs, concurrently.
pub(crate) async fn prepare(
    ue: &mut Ue,
    required: &HandoverRequired,
    gnb: &Gnb,
    tai: Tai,
) -> Prepared {
    let target = gnb
        .setup()
        .map(|setup| NgRanTargetId { ran_node_id: setup.global.clone(), tai: tai.to_sbi() });
    let known = |(psi, _): &&SessionInfo| {
        ue.sessions.get(psi).is_some_and(|session| !session.state.is_releasing())
    };
    let sessions: Vec<_> = required.sessions.iter().filter(known).collect();
    let updates = sessions.iter().map(|(psi, info)| {
        let change = SmContextUpdateData {
            ho_state: Some(HoState::Preparing),
            target_id: target.clone(),
            n2_sm_info_type: Some(N2SmInfoType::HandoverRequired),
            ..Default::default()
        };
        update(ue, *psi, change, info.clone())
    });
    let answers = join_all(updates).await;
    let mut prepared = Prepared::default();
    for ((psi, _), answer) in sessions.iter().zip(answers) {
        let slice = ue.sessions.get(psi).map(|session| session.slice);
        match (answer.and_then(|answer| info(answer, &N2SmInfoType::PduResSetupReq)), slice) {
            (Ok(transfer), Some(slice)) => prepared.requests.push((*psi, slice, transfer)),
            (outcome, _) => {
                let problem = outcome.err();
                tracing::warn!(
                    supi = ue.label(),
                    psi,
                    ?problem,
                    "handover preparation failed at the SMF"
                );
                prepared.failed.push((*psi, preparation_unsuccessful()));
            }
        }
    }
    prepared
}

/// Reports the target's response to the SMFs. Returns what the source gets for each session.
pub(crate) async fn admitted(ue: &Ue, asked: &[u8], admitted: &HandoverAdmitted) -> SessionOutcome {
    let of = |list: &[SessionInfo]| -> Vec<SessionInfo> {
        list.iter()
            .filter(|(psi, _)| asked.contains(psi) && ue.sessions.contains_key(psi))
            .cloned()
            .collect()
    };
    let (done, mut failed) = (of(&admitted.sessions.done), of(&admitted.sessions.failed));
    // A session missing in the response was not admitted.
    let answered = |psi: &u8| done.iter().chain(&failed).any(|(answered, _)| answered == psi);
    let missing: Vec<u8> = asked.iter().copied().filter(|psi| !answered(psi)).collect();
    let cause = Cause::radioNetwork(CauseRadioNetwork::unspecified);
    let unspecified: Bytes =
        HandoverResourceAllocationUnsuccessful { cause }.encode().unwrap_or_default().into();
    failed.extend(missing.into_iter().map(|psi| (psi, unspecified.clone())));
    let change = |kind| SmContextUpdateData {
        ho_state: Some(HoState::Prepared),
        n2_sm_info_type: Some(kind),
        ..Default::default()
    };
    let good = done
        .iter()
        .map(|(psi, info)| update(ue, *psi, change(N2SmInfoType::HandoverReqAck), info.clone()));
    let bad = failed.iter().map(|(psi, info)| {
        update(ue, *psi, change(N2SmInfoType::HandoverResAllocFail), info.clone())
    });
    let (good, bad) = tokio::join!(join_all(good), join_all(bad));
    let mut outcome = SessionOutcome::default();
    for ((psi, _), answer) in done.iter().zip(good) {
        match answer.and_then(|answer| info(answer, &N2SmInfoType::HandoverCmd)) {
            Ok(command) => outcome.done.push((*psi, command)),
            Err(problem) => {
                tracing::warn!(
                    supi = ue.label(), psi, %problem,
                    "handover command missing from the SMF"
                );
                outcome.failed.push((*psi, preparation_unsuccessful()));
            }
        }
    }
    for ((psi, _), answer) in failed.iter().zip(bad) {
        let transfer = answer.and_then(|answer| info(answer, &N2SmInfoType::HandoverPrepFail));
        outcome.failed.push((*psi, transfer.unwrap_or_else(|_| preparation_unsuccessful())));
    }
    outcome
}

/// Completes the handover of these sessions; the user planes of the others are deactivated.
pub(crate) async fn complete(ue: &mut Ue, done: &[u8]) {
    let location = ue.connection.as_ref().map(|connection| connection.location.to_sbi());
    let updates = done.iter().map(|psi| {
        let change = SmContextUpdateData {
            ho_state: Some(HoState::Completed),
            ue_location: location.clone(),
            ..Default::default()
        };
        ue.update_session(*psi, change.into())
    });
    let answers = join_all(updates).await;
    let mut inactive: Vec<u8> =
        ue.active_sessions().into_iter().filter(|psi| !done.contains(psi)).collect();
    for (psi, answer) in done.iter().zip(answers) {
        match answer {
            Ok(_) => {
                if let Some(session) = ue.sessions.get_mut(psi) {
                    session.state.activate();
                }
            }
            Err(problem) => {
                tracing::warn!(
                    supi = ue.label(), psi, %problem,
                    "handover completion failed at the SMF"
                );
                inactive.push(*psi);
            }
        }
    }
    if !inactive.is_empty() {
        ue.deactivate_sessions(&inactive, None).await;
    }
}

/// Cancels the handover at the SMFs.
pub(crate) async fn cancel(ue: &Ue) {
    let updates = ue.active_sessions().into_iter().map(|psi| {
        let change =
            SmContextUpdateData { ho_state: Some(HoState::Cancelled), ..Default::default() };
        ue.update_session(psi, change.into())
    });
    for answer in join_all(updates.collect::<Vec<_>>()).await {
        if let Err(problem) = answer {
            tracing::warn!(supi = ue.label(), %problem, "handover cancellation failed at the SMF");
        }
    }
}

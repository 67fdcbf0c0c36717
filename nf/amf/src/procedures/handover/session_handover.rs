//! A handover at the SMFs (TS 29.502, 5.2.2.3.4): what is prepared, what was admitted, and how it
//! ended.
use crate::concurrently::all;
use crate::n2::Gnb;
use crate::n2::handover_uplink::{HandoverAdmitted, HandoverRequired};
use crate::n2::uplink::{SessionInfo, SessionOutcome};
use crate::procedures::session::user_plane_activation::{N2, part};
use crate::served::Tai;
use crate::ue::Ue;
use bytes::Bytes;
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

/// What SMFs say to a preparation.
#[derive(Default)]
pub(crate) struct Prepared {
    /// Session, slice and what the target is to set up.
    pub requests: Vec<(u8, Slice, Bytes)>,
    /// Sessions that stay behind, each with what the source is told.
    pub failed: Vec<SessionInfo>,
}

type Updated = Option<Multipart<SmContextUpdatedData>>;

/// N2 information of an answer, if it is of this kind.
fn info(answer: Updated, kind: &N2SmInfoType) -> Result<Bytes, Problem> {
    let found = answer
        .filter(|answer| answer.json.n2_sm_info_type.as_ref() == Some(kind))
        .and_then(|answer| {
            let part = answer.json.n2_sm_info.as_ref()?;
            answer.find(&part.content_id).cloned()
        });
    found.ok_or_else(|| Problem::system_failure(format!("the SMF gave no {}", kind.as_str())))
}

fn left_behind() -> Bytes {
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

/// Preparation at the SMFs of all sessions that the source names, at the same time.
pub(crate) async fn prepare(
    ue: &mut Ue,
    required: &HandoverRequired,
    gnb: &Gnb,
    tai: Tai,
) -> Prepared {
    let target = gnb
        .setup()
        .map(|setup| NgRanTargetId { ran_node_id: setup.global.clone(), tai: tai.to_sbi() });
    let known =
        |(psi, _): &&SessionInfo| ue.sessions.get(psi).is_some_and(|session| !session.releasing);
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
    let answers = all(updates).await;
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
                    "the SMF does not prepare a session's handover"
                );
                prepared.failed.push((*psi, left_behind()));
            }
        }
    }
    prepared
}

/// Tells the SMFs what the target admits; what the source is told of each.
pub(crate) async fn admitted(ue: &Ue, asked: &[u8], admitted: &HandoverAdmitted) -> SessionOutcome {
    let of = |list: &[SessionInfo]| -> Vec<SessionInfo> {
        list.iter()
            .filter(|(psi, _)| asked.contains(psi) && ue.sessions.contains_key(psi))
            .cloned()
            .collect()
    };
    let (done, mut failed) = (of(&admitted.sessions.done), of(&admitted.sessions.failed));
    // Of what the target does not speak it has not taken.
    let said = |psi: &u8| done.iter().chain(&failed).any(|(said, _)| said == psi);
    let silent: Vec<u8> = asked.iter().copied().filter(|psi| !said(psi)).collect();
    let cause = Cause::radioNetwork(CauseRadioNetwork::unspecified);
    let unsaid: Bytes =
        HandoverResourceAllocationUnsuccessful { cause }.encode().unwrap_or_default().into();
    failed.extend(silent.into_iter().map(|psi| (psi, unsaid.clone())));
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
    let (good, bad) = tokio::join!(all(good), all(bad));
    let mut outcome = SessionOutcome::default();
    for ((psi, _), answer) in done.iter().zip(good) {
        match answer.and_then(|answer| info(answer, &N2SmInfoType::HandoverCmd)) {
            Ok(command) => outcome.done.push((*psi, command)),
            Err(problem) => {
                tracing::warn!(supi = ue.label(), psi, %problem, "the SMF does not go on with a session's handover");
                outcome.failed.push((*psi, left_behind()));
            }
        }
    }
    for ((psi, _), answer) in failed.iter().zip(bad) {
        let told = answer.and_then(|answer| info(answer, &N2SmInfoType::HandoverPrepFail));
        outcome.failed.push((*psi, told.unwrap_or_else(|_| left_behind())));
    }
    outcome
}

/// The UE is at the target with these sessions; the others have no user plane any more.
pub(crate) async fn complete(ue: &mut Ue, done: &[u8]) {
    let place = ue.connection.as_ref().map(|connection| connection.location.to_sbi());
    let updates = done.iter().map(|psi| {
        let change = SmContextUpdateData {
            ho_state: Some(HoState::Completed),
            ue_location: place.clone(),
            ..Default::default()
        };
        ue.update_session(*psi, change.into())
    });
    let answers = all(updates).await;
    let mut behind: Vec<u8> =
        ue.active_sessions().into_iter().filter(|psi| !done.contains(psi)).collect();
    for (psi, answer) in done.iter().zip(answers) {
        match answer {
            Ok(_) => {
                if let Some(session) = ue.sessions.get_mut(psi) {
                    session.active = true;
                }
            }
            Err(problem) => {
                tracing::warn!(supi = ue.label(), psi, %problem, "the SMF does not complete a session's handover");
                behind.push(*psi);
            }
        }
    }
    if !behind.is_empty() {
        ue.deactivate_sessions(&behind, None).await;
    }
}

/// The handover is given up: the SMFs let go of what they have prepared.
pub(crate) async fn cancel(ue: &Ue) {
    let updates = ue.active_sessions().into_iter().map(|psi| {
        let change =
            SmContextUpdateData { ho_state: Some(HoState::Cancelled), ..Default::default() };
        ue.update_session(psi, change.into())
    });
    for answer in all(updates.collect::<Vec<_>>()).await {
        if let Err(problem) = answer {
            tracing::warn!(supi = ue.label(), %problem, "an SMF was not told that a handover is cancelled");
        }
    }
}

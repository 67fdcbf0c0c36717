//! User plane activation (TS 23.502, 4.2.3.2, steps 4 to 15).
//!
//! ```text
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (ACTIVATING)
//! AMF -> gNB   sessions in INITIAL CONTEXT SETUP REQUEST or PDU SESSION RESOURCE SETUP REQUEST
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (PDU_RES_SETUP_RSP or PDU_RES_SETUP_FAIL)
//! ```
use crate::n2::downlink::SessionToSetUp;
use crate::n2::uplink::SessionOutcome;
use crate::ue::{SessionState, Ue};
use bytes::Bytes;
use futures_util::future::join_all;
use martlet_nas::GmmCause;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{AccessType, RatType, RefToBinaryData};
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateData, SmContextUpdatedData, UpCnxState,
};

/// Result of the request to the SMFs.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    pub sessions: Vec<SessionToSetUp>,
    /// Sessions without a user plane, and why (TS 24.501, 9.11.3.43).
    pub failed: Vec<(u8, GmmCause)>,
    /// Whether a session has ended: AMF or SMF do not have it. The UE learns it from the PDU
    /// session status.
    pub has_ended: bool,
}

/// Content ID of N2 information. Any would do (TS 29.571, 5.4), but OAI's SMF finds the part
/// by this one alone.
pub(crate) const N2: &str = "n2msg";
/// Content ID of a 5GSM message, likewise.
pub(crate) const N1: &str = "n1SmMsg";

/// A reference to a binary part.
pub(crate) fn part(id: &str) -> Option<RefToBinaryData> {
    Some(RefToBinaryData { content_id: id.into() })
}

/// Asks the SMFs to activate the user planes concurrently. Active sessions are skipped, since the
/// gNB would reject a second setup (TS 38.413, 8.2.1.4), and so are those being released.
pub(crate) async fn request(ue: &mut Ue, sessions: &[u8]) -> Activation {
    let wanted = |psi: &u8| {
        ue.sessions.get(psi).is_some_and(|session| session.state == SessionState::Deactivated)
    };
    let known: Vec<u8> = sessions.iter().copied().filter(wanted).collect();
    let location = ue.connection.as_ref().map(|connection| connection.location.to_sbi());
    let requests = known.iter().map(|psi| {
        let change = SmContextUpdateData {
            up_cnx_state: Some(UpCnxState::Activating),
            an_type: Some(AccessType::ThreeGppAccess),
            rat_type: Some(RatType::Nr),
            ue_location: location.clone(),
            ..Default::default()
        };
        ue.update_session(*psi, change.into())
    });
    let answers = join_all(requests).await;
    // Such a session was released while the UE was idle. Not each UE reports its sessions.
    let has_ended = sessions.iter().any(|psi| !ue.sessions.contains_key(psi));
    let mut activation = Activation { has_ended, ..Activation::default() };
    for (psi, answer) in known.into_iter().zip(answers) {
        match answer.and_then(transfer) {
            Ok(transfer) => {
                let Some(session) = ue.sessions.get_mut(&psi) else { continue };
                session.is_unannounced = false;
                session.state.activate();
                activation.sessions.push(SessionToSetUp {
                    psi,
                    slice: session.slice,
                    transfer,
                    nas: None,
                });
            }
            Err(problem) => {
                tracing::warn!(
                    supi = ue.label(), psi, %problem,
                    "user plane activation failed at the SMF"
                );
                if problem.status() == 404 {
                    ue.sessions.remove(&psi);
                    activation.has_ended = true;
                }
                activation
                    .failed
                    .push((psi, GmmCause::InsufficientUserPlaneResourcesForThePduSession));
            }
        }
    }
    activation
}

/// The PDU Session Resource Setup Request Transfer.
fn transfer(answer: Option<Multipart<SmContextUpdatedData>>) -> Result<Bytes, Problem> {
    let answer =
        answer.ok_or_else(|| Problem::system_failure("the SMF's answer has no N2 information"))?;
    let found = answer.json.n2_sm_info.as_ref().and_then(|part| answer.find(&part.content_id));
    found.cloned().ok_or_else(|| Problem::system_failure("the SMF's answer has no N2 information"))
}

/// Reports the gNB's result to the SMFs. Sessions without a result have failed.
pub(crate) async fn report(ue: &mut Ue, expected: &[u8], outcome: SessionOutcome) {
    let silent = expected.iter().filter(|psi| {
        let is_answered = |list: &[(u8, Bytes)]| list.iter().any(|(answered, _)| answered == *psi);
        !is_answered(&outcome.done) && !is_answered(&outcome.failed)
    });
    let silent: Vec<u8> = silent.copied().collect();
    let done = outcome.done.into_iter().map(|info| (info, N2SmInfoType::PduResSetupRsp));
    let failed = outcome.failed.into_iter().map(|info| (info, N2SmInfoType::PduResSetupFail));
    let reports: Vec<_> =
        done.chain(failed).filter(|((psi, _), _)| expected.contains(psi)).collect();
    let updates =
        reports.iter().map(|((psi, info), kind)| forward_n2(ue, *psi, info.clone(), kind.clone()));
    let answers = join_all(updates).await;
    let mut down = silent;
    for (((psi, _), kind), answer) in reports.iter().zip(answers) {
        if let Err(problem) = &answer {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "SM context update with the gNB's response failed"
            );
        }
        let down = *kind == N2SmInfoType::PduResSetupFail || answer.is_err();
        if let Some(session) = ue.sessions.get_mut(psi).filter(|_| down) {
            session.state.deactivate();
        }
    }
    down.retain(|psi| ue.sessions.contains_key(psi));
    if !down.is_empty() {
        if let Some(suppressed) = martlet_log_limit::line("sessions_missing", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), sessions = ?down, suppressed,
                "sessions missing in the gNB's response"
            );
        }
        ue.deactivate_sessions(&down, None).await;
    }
}

/// Forwards the gNB's N2 information of a session to its SMF.
pub(crate) async fn forward_n2(
    ue: &Ue,
    psi: u8,
    info: Bytes,
    kind: N2SmInfoType,
) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
    let change = SmContextUpdateData {
        n2_sm_info: part(N2),
        n2_sm_info_type: Some(kind),
        ue_location: ue.connection.as_ref().map(|connection| connection.location.to_sbi()),
        ..Default::default()
    };
    ue.update_session(psi, Multipart::new(change).part(N2, content_type::NGAP, info)).await
}

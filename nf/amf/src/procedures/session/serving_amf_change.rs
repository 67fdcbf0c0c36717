//! Change of the serving AMF at the SMFs (TS 23.502, 4.2.2.2.2, step 17; TS 29.502, 5.2.2.3.5).
//!
//! ```text
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (serving NF, GUAMI, status URI)
//! ```
use crate::ue::Ue;
use futures_util::future::join_all;
use martlet_sbi_api::nsmf_pdusession::{SmContextUpdateData, UpCnxState};

/// Tells the SMFs of all sessions that this AMF serves the UE. With `idle`, their user planes are
/// not active here. A session that its SMF does not have ends. An SMF that does not take the change
/// otherwise, such as one that is overloaded, learns it with the next update.
pub(crate) async fn run(ue: &mut Ue, idle: bool) {
    let updates = ue.sessions.iter().map(|(psi, session)| {
        let mut change = SmContextUpdateData {
            up_cnx_state: idle.then_some(UpCnxState::Deactivated),
            ..Default::default()
        };
        ue.announce(*psi, session, &mut change);
        ue.update_session(*psi, change.into())
    });
    let outcomes = join_all(updates.collect::<Vec<_>>()).await;
    let known: Vec<u8> = ue.sessions.keys().copied().collect();
    for (psi, outcome) in known.into_iter().zip(outcomes) {
        let Some(session) = ue.sessions.get_mut(&psi) else { continue };
        session.is_unannounced = outcome.is_err();
        if let Err(problem) = outcome {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "an SMF does not take another AMF for its session"
            );
            if problem.status() == 404 {
                ue.sessions.remove(&psi);
            }
        }
    }
}

//! PDU session resource notify (TS 38.413, 8.2.4): changed QoS flows, and sessions released by the
//! gNB.
//!
//! ```text
//! gNB -> AMF  PDU SESSION RESOURCE NOTIFY
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext (PDU_RES_NTY or PDU_RES_NTY_REL)
//! ```
use super::user_plane_activation::forward_n2;
use crate::n2::uplink::SessionInfo;
use crate::ue::Ue;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;

/// Forwards each session to its SMF.
pub(crate) async fn run(ue: &mut Ue, changed: Vec<SessionInfo>, released: Vec<SessionInfo>) {
    for (psi, _) in &released {
        if let Some(session) = ue.sessions.get_mut(psi) {
            session.state.deactivate();
        }
    }
    let changed = changed.into_iter().map(|info| (info, N2SmInfoType::PduResNty));
    let released = released.into_iter().map(|info| (info, N2SmInfoType::PduResNtyRel));
    for ((psi, info), kind) in changed.chain(released) {
        if let Err(problem) = forward_n2(ue, psi, info, kind).await
            && let Some(suppressed) = martlet_log_limit::line("notification", ue.gnb_address())
        {
            tracing::warn!(
                supi = ue.label(), psi, %problem, suppressed,
                "SM context update with the gNB's notification failed"
            );
        }
    }
}

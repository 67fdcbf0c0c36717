//! PDU session resource notify (TS 38.413, 8.2.4): QoS flows that cannot be kept, sessions that the
//! gNB released.
use super::user_plane_activation::tell;
use crate::n2::uplink::SessionInfo;
use crate::ue::Ue;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;

/// Brings each to its SMF.
pub(crate) async fn run(ue: &mut Ue, changed: Vec<SessionInfo>, released: Vec<SessionInfo>) {
    for (psi, _) in &released {
        if let Some(session) = ue.sessions.get_mut(psi) {
            session.active = false;
        }
    }
    let changed = changed.into_iter().map(|info| (info, N2SmInfoType::PduResNty));
    let released = released.into_iter().map(|info| (info, N2SmInfoType::PduResNtyRel));
    for ((psi, info), kind) in changed.chain(released) {
        if let Err(problem) = tell(ue, psi, info, kind).await {
            tracing::warn!(supi = ue.label(), psi, %problem, "the SMF did not take what the gNB notifies");
        }
    }
}

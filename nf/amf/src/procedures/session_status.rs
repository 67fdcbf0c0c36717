//! What became of a session context at its SMF (TS 29.502, 5.2.2.5).
use crate::ue::Ue;
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification};

/// Forgets a session that the SMF has released.
pub(crate) fn run(ue: &mut Ue, psi: u8, notification: &SmContextStatusNotification) {
    let status = &notification.status_info;
    tracing::debug!(supi = ue.label(), gnb = ue.gnb(), psi, status = %status.resource_status, "a session has changed");
    if status.resource_status == ResourceStatus::Released {
        ue.sessions.remove(&psi);
    }
}

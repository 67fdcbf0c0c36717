//! What became of a session context at its SMF (TS 29.502, 5.2.2.5).
use super::pdu_session_resource_release;
use crate::ue::{Stop, Ue};
use martlet_nf::Criteria;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification};

/// Forgets a session whose context the SMF has released. A later session may have its identity by
/// now, and stays: the UE is free to use an identity again as soon as it has let go of it. Where
/// the gNB still has the session's resources, it releases them.
pub(crate) async fn run(
    ue: &mut Ue,
    psi: u8,
    number: u64,
    notification: &SmContextStatusNotification,
) -> Result<(), Stop> {
    let status = &notification.status_info;
    let current = ue.sessions.get(&psi).is_some_and(|session| session.number == number);
    let (supi, gnb) = (ue.label(), ue.gnb());
    tracing::debug!(supi, gnb, psi, number, current, status = %status.resource_status, "a session has changed");
    if current && status.resource_status == ResourceStatus::Updated {
        smf_changed(ue, psi, notification).await;
        return Ok(());
    }
    let released = current && status.resource_status == ResourceStatus::Released;
    match released.then(|| ue.sessions.remove(&psi)).flatten() {
        Some(session) if session.active => pdu_session_resource_release::alone(ue, &[psi]).await,
        _ => Ok(()),
    }
}

/// Another SMF of the set has the session (TS 29.502, 5.2.2.5.1): it is asked from now on.
async fn smf_changed(ue: &mut Ue, psi: u8, notification: &SmContextStatusNotification) {
    let Some(id) = notification.new_smf_id.clone() else { return };
    let criteria = Criteria { nf_instance_id: Some(id), ..Default::default() };
    match ue.amf.context.discover(NfType::Smf, "nsmf-pdusession", &criteria).await {
        Ok(smf) => {
            tracing::info!(supi = ue.label(), psi, smf = %smf.root(), "another SMF has the session");
            if let Some(session) = ue.sessions.get_mut(&psi) {
                session.context.root = smf.root().clone();
            }
        }
        Err(problem) => {
            tracing::warn!(supi = ue.label(), psi, %problem, "the new SMF of a session is not found")
        }
    }
}

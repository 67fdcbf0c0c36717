//! SM context status notification (TS 29.502, 5.2.2.5).
//!
//! ```text
//! SMF -> AMF  Nsmf_PDUSession_SMContextStatusNotify
//! AMF -> gNB  PDU SESSION RESOURCE RELEASE COMMAND, if the gNB still has the resources
//! ```
use super::pdu_session_resource_release;
use crate::ue::{Stop, Ue};
use martlet_nf::Criteria;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification};

/// Removes a session that the SMF has released. `number` distinguishes it from a newer session with
/// the same identity.
pub(crate) async fn run(
    ue: &mut Ue,
    psi: u8,
    number: u64,
    notification: &SmContextStatusNotification,
) -> Result<(), Stop> {
    let status = &notification.status_info;
    let current = ue.sessions.get(&psi).is_some_and(|session| session.number == number);
    let (supi, gnb) = (ue.label(), ue.gnb());
    tracing::debug!(
        supi, gnb, psi, number, current, status = %status.resource_status,
        "SM context status notification"
    );
    if current && status.resource_status == ResourceStatus::Updated {
        smf_changed(ue, psi, notification).await;
        return Ok(());
    }
    let released = current && status.resource_status == ResourceStatus::Released;
    match released.then(|| ue.sessions.remove(&psi)).flatten() {
        Some(session) if session.state.is_active() => {
            pdu_session_resource_release::at_gnb_only(ue, &[psi]).await
        }
        _ => Ok(()),
    }
}

/// Another SMF of the set serves the session now (TS 29.502, 5.2.2.5.1).
async fn smf_changed(ue: &mut Ue, psi: u8, notification: &SmContextStatusNotification) {
    let Some(id) = notification.new_smf_id.clone() else { return };
    let criteria = Criteria { nf_instance_id: Some(id), ..Default::default() };
    match ue.amf.context.discover(NfType::Smf, "nsmf-pdusession", &criteria).await {
        Ok(smf) => {
            // An audit of the session reports the SMF that serves it already.
            let Some(session) = ue.sessions.get_mut(&psi) else { return };
            if session.context.root != *smf.root() {
                session.context.root = smf.root().clone();
                let supi = ue.label();
                tracing::info!(supi, psi, smf = %smf.root(), "SMF of the session changed");
            }
        }
        Err(problem) => {
            tracing::warn!(supi = ue.label(), psi, %problem, "new SMF of the session not found")
        }
    }
}

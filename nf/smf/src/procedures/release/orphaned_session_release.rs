//! A session of which nothing has been heard for long (`smf.audit_s`): whether anybody has it
//! still. An AMF that was killed just after a session came up does not know it, and cannot release
//! it when its UE goes.
use crate::procedures::release::pdu_session_release;
use crate::session::Session;
use martlet_nf::Criteria;
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_uecm::{FeaturesQuery, UdmUeContextManagementClient};

/// Asks the UDM whether an AMF serves the UE (Nudm_UECM_Get, TS 29.503, 5.3.2.5). A session of a UE
/// that nobody serves is released; false where that is so.
pub async fn run(session: &mut Session) -> bool {
    let Err(problem) = is_served(session).await else { return true };
    if problem.status() != 404 {
        tracing::debug!(supi = %session.supi, session = session.id, %problem, "whether the UE is served is not known");
        return true;
    }
    tracing::info!(supi = %session.supi, session = session.id, "no AMF serves the UE any more: its session is released");
    pdu_session_release::finish(session, true).await;
    false
}

async fn is_served(session: &Session) -> Result<(), Problem> {
    let udm = session.smf.context.discover(NfType::Udm, "nudm-uecm", &Criteria::default()).await?;
    let udm = UdmUeContextManagementClient::new(udm.about(&session.supi));
    udm.get_3gpp_registration(&session.supi, FeaturesQuery::default()).await.map(|_| ())
}

//! Release of a session without events for `smf.audit_s` that no AMF has (TS 23.527, 4.3). An AMF
//! that is killed just after the establishment does not know the session, and cannot release it.
use super::pdu_session_release;
use crate::procedures::subscription::smf_registration;
use crate::session::Session;
use martlet_sbi::Problem;
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification, StatusInfo};
use std::time::Duration;

/// Time between the two audits that find a session unknown at its AMF: the UE may be changing its
/// AMF, and the new one has not reported itself yet.
pub const CONFIRMATION: Duration = Duration::from_secs(10);

/// Asks the UDM whether an AMF serves the UE, and whether another SMF serves a session with this
/// identity: an AMF that did not reach this SMF has established it there. Asks the AMF whether it
/// has the session. Releases the session if none has it. Returns `false` if the session has ended.
pub async fn run(session: &mut Session) -> bool {
    let (supi, id) = (session.supi.clone(), session.id);
    if let Err(problem) = smf_registration::check_amf_registration(session).await {
        if problem.status() != 404 {
            tracing::debug!(%supi, session = id, %problem, "check for a serving AMF failed");
            return true;
        }
        tracing::info!(%supi, session = id, "no AMF serves the UE, releasing its session");
        pdu_session_release::finish(session, true).await;
        return false;
    }
    if smf_registration::is_at_other_smf(session).await {
        tracing::info!(%supi, session = id, "another SMF serves the session, releasing it here");
        // The AMF knows the other one by this identity.
        pdu_session_release::finish(session, false).await;
        return false;
    }
    let was_denied = session.amf.denies_session;
    session.amf.denies_session = is_denied_by_amf(session).await;
    if was_denied && session.amf.denies_session {
        tracing::info!(%supi, session = id, "the AMF does not know the session, releasing it");
        pdu_session_release::finish(session, true).await;
        return false;
    }
    true
}

/// Whether the AMF of a session answers that it does not have it.
async fn is_denied_by_amf(session: &Session) -> bool {
    let answer = ask_amf(session).await;
    answer.is_err_and(|problem| problem.transport.is_none() && problem.status() == 404)
}

/// Asks the AMF of a session whether it has it. The notification says what the AMF knows already:
/// this SMF serves the session (TS 29.502, 5.2.2.5).
pub async fn ask_amf(session: &Session) -> Result<(), Problem> {
    let mut body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Updated));
    body.new_smf_id = Some(session.smf.instance_id.clone());
    body.new_smf_set_id = session.smf.set_id();
    let peer = session.smf.context.callback_peer().about(&session.supi);
    let amf = AmfCallbackClient::new(peer);
    amf.sm_context_status_notify(&session.amf.status_uri, body).await
}

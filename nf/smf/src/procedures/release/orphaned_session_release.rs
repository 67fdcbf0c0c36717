//! Release of a session without events for `smf.audit_s` whose UE no AMF serves (TS 23.527, 4.3).
//! An AMF that is killed just after the establishment does not know the session, and cannot release
//! it.
use super::pdu_session_release;
use crate::procedures::subscription::smf_registration;
use crate::session::Session;

/// Asks the UDM whether an AMF serves the UE, and releases the session if none does. Returns
/// `false` if the session has ended.
pub async fn run(session: &mut Session) -> bool {
    let Err(problem) = smf_registration::check_amf_registration(session).await else {
        return true;
    };
    let (supi, id) = (&session.supi, session.id);
    if problem.status() != 404 {
        tracing::debug!(%supi, session = id, %problem, "check for a serving AMF failed");
        return true;
    }
    tracing::info!(%supi, session = id, "no AMF serves the UE, releasing its session");
    pdu_session_release::finish(session, true).await;
    false
}

//! Release of a session without events for `smf.audit_s` whose UE no AMF serves (TS 23.527, 4.3).
//! An AMF that is killed just after the establishment does not know the session, and cannot release
//! it.
use super::pdu_session_release;
use crate::procedures::subscription::smf_registration;
use crate::session::Session;

/// Asks the UDM whether an AMF serves the UE, and whether another SMF serves a session with this
/// identity: an AMF that did not reach this SMF has established it there. Releases the session
/// then. Returns `false` if the session has ended.
pub async fn run(session: &mut Session) -> bool {
    let (supi, id) = (&session.supi, session.id);
    let Err(problem) = smf_registration::check_amf_registration(session).await else {
        if !smf_registration::is_at_other_smf(session).await {
            return true;
        }
        tracing::info!(%supi, session = id, "another SMF serves the session, releasing it here");
        // The AMF knows the other one by this identity.
        pdu_session_release::finish(session, false).await;
        return false;
    };
    if problem.status() != 404 {
        tracing::debug!(%supi, session = id, %problem, "check for a serving AMF failed");
        return true;
    }
    tracing::info!(%supi, session = id, "no AMF serves the UE, releasing its session");
    pdu_session_release::finish(session, true).await;
    false
}

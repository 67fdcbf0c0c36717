//! Return of sessions to a UPF that is associated again after a failure, the reverse of
//! [`super::upf_failover`].
//!
//! A session returns while its UE is in CM-IDLE, with the UE's address (SSC mode 1 too): the SMF
//! establishes it at the UPF that it left, then deletes it at the other one. No gNB needs a
//! message. A session of a connected UE returns after its AN release.
use super::{n4_session_establishment, n4_session_release};
use crate::metrics;
use crate::procedures::charging::quota_management;
use crate::session::{Session, UpConnection};
use crate::session_event::SessionEvent;
use crate::user_plane_path::{UpfSession, UserPlanePath};
use std::net::SocketAddr;
use std::time::Instant;

/// Schedules the return if the UE is idle and the UPF that the session left is associated. The
/// session stays where it is for a heartbeat interval at least, in case the UPF fails again.
pub fn schedule(session: &mut Session) {
    if session.user_plane.is_return_scheduled || destination(session).is_none() {
        return;
    }
    let n4 = &session.smf.n4;
    let Some(delay) = session.smf.return_pace.reserve(Instant::now()) else { return };
    session.send_to_self_after(n4.heartbeat() + delay, || SessionEvent::ReturnToUpf);
    session.user_plane.is_return_scheduled = true;
}

/// The UPF to return to, and the session's N4 session now.
fn destination(session: &Session) -> Option<(SocketAddr, UpfSession)> {
    let user_plane = &session.user_plane;
    let (left, path) = user_plane.left_upf.zip(user_plane.path())?;
    let UserPlanePath::Anchor(current) = path else { return None };
    let (n4, criteria) = (&session.smf.n4, session.upf_criteria());
    let is_idle = user_plane.connection == UpConnection::Deactivated;
    let fits = n4.accepts_sessions(left, &criteria)
        && n4.rank(left, &criteria) <= n4.rank(current.upf, &criteria);
    (is_idle && fits && left != current.upf && !session.gsm.is_releasing())
        .then_some((left, current))
}

/// Moves the session back. If the UPF does not establish it, it stays where it is. Returns `false`
/// if the session has ended, because its credit is used up.
pub async fn run(session: &mut Session) -> bool {
    session.user_plane.is_return_scheduled = false;
    let Some((left, current)) = destination(session) else { return true };
    let started = Instant::now();
    match n4_session_establishment::establish_at(session, left).await {
        Ok(upf) => {
            session.set_path(UserPlanePath::Anchor(upf));
            session.set_left_upf(None);
            let usage = n4_session_release::release(session, current).await;
            metrics::procedure("upf_return", "ok", started);
            tracing::info!(
                supi = %session.supi, session = session.id, upf = %left, from = %current.upf,
                "session returned to its UPF"
            );
            quota_management::upf_left(session, usage.unwrap_or_default()).await
        }
        Err(error) => {
            metrics::procedure("upf_return", "failed", started);
            tracing::warn!(
                supi = %session.supi, session = session.id, upf = %left, %error,
                "session not returned to its UPF"
            );
            true
        }
    }
}

//! Graceful release of a UPF's association (TS 29.244, 5.18): the UPF is drained or stops. Another
//! UPF takes the session over, with the UE's address.
//!
//! ```text
//! UPF 1 -> SMF    association update request (release requested)
//! SMF -> UPF 2    session establishment
//! SMF -> AMF      the tunnel endpoint of UPF 2, for the gNB of a connected UE
//! SMF -> UPF 1    session deletion
//! ```
//!
//! The session returns when UPF 1 is associated again, see [`super::upf_return`].
use super::{n3_tunnel_update, n4_session_establishment, n4_session_release};
use crate::metrics;
use crate::procedures::charging::quota_management;
use crate::procedures::release::pdu_session_release;
use crate::session::Session;
use crate::user_plane_path::{UpfSession, UserPlanePath};
use martlet_nas::GsmCause;
use std::net::SocketAddr;
use std::time::Instant;

/// Moves a session away from a UPF that is leaving. A session that has two UPFs, or finds no other
/// one, is released: the UE establishes it again. Returns `false` if the session has ended.
pub async fn run(session: &mut Session, leaving: SocketAddr) -> bool {
    let Some(path) = session.user_plane.path().filter(|path| path.uses(leaving)) else {
        return true;
    };
    if session.gsm.is_releasing() {
        return true;
    }
    if let UserPlanePath::Anchor(current) = path
        && let Some(is_alive) = move_session(session, current).await
    {
        return is_alive;
    }
    pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await
}

/// Moves a session to another UPF. Returns `None` if it stays where it is, and `false` if it has
/// ended, because its credit is used up.
async fn move_session(session: &mut Session, current: UpfSession) -> Option<bool> {
    let started = Instant::now();
    let other = session.smf.n4.select(&session.upf_criteria(), Some(current.upf)).ok()?;
    match n4_session_establishment::establish_at(session, other).await {
        Ok(upf) => {
            session.set_path(UserPlanePath::Anchor(upf));
            // It returns to the first UPF that it left.
            let left = session.user_plane.left_upf.unwrap_or(current.upf);
            session.set_left_upf((left != other).then_some(left));
            n3_tunnel_update::send(session).await;
            let usage = n4_session_release::release(session, current).await;
            metrics::procedure("upf_graceful_release", "ok", started);
            tracing::info!(
                supi = %session.supi, session = session.id, upf = %other, from = %current.upf,
                "session moved to another UPF"
            );
            Some(quota_management::upf_left(session, usage.unwrap_or_default()).await)
        }
        Err(error) => {
            metrics::procedure("upf_graceful_release", "failed", started);
            let (supi, id) = (&session.supi, session.id);
            tracing::warn!(%supi, session = id, upf = %other, %error, "session not moved");
            None
        }
    }
}

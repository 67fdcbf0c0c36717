//! Failure of a session's UPF (TS 23.527, 4.2): another UPF takes the session over, with the UE's
//! address.
use super::{n3_tunnel_update, n4_session_establishment, restoration};
use crate::metrics;
use crate::procedures::release::pdu_session_release;
use crate::session::Session;
use crate::user_plane_path::UserPlanePath;
use martlet_nas::GsmCause;
use std::net::SocketAddr;
use std::time::Instant;

/// Moves a session away from a UPF that does not respond. Without another UPF, a session with one
/// UPF waits for it. A session with two UPFs is established again, or released with reactivation.
/// Returns `false` if the session has ended.
pub async fn run(session: &mut Session, failed: SocketAddr) -> bool {
    let Some(path) = session.user_plane.path().filter(|path| path.uses(failed)) else {
        return true;
    };
    if session.gsm.is_releasing() || session.smf.n4.is_up(failed) {
        return true;
    }
    let started = Instant::now();
    if path.has_two_upfs() {
        return match restoration::reestablish(session).await {
            Ok(()) => {
                metrics::procedure("upf_failover", "ok", started);
                true
            }
            Err(_) => {
                metrics::procedure("upf_failover", "released", started);
                pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await
            }
        };
    }
    let Ok(other) = session.smf.n4.select(&session.upf_criteria(), Some(failed)) else {
        return true;
    };
    let (supi, id) = (&session.supi, session.id);
    match n4_session_establishment::establish_at(session, other).await {
        Ok(upf) => {
            tracing::info!(%supi, session = id, upf = %other, "session moved to another UPF");
            session.set_path(UserPlanePath::Anchor(upf));
            // It returns to the first UPF that it left.
            let left = session.user_plane.left_upf.unwrap_or(failed);
            session.set_left_upf((left != other).then_some(left));
            n3_tunnel_update::send(session).await;
            metrics::procedure("upf_failover", "ok", started);
        }
        Err(error) => {
            metrics::procedure("upf_failover", "failed", started);
            tracing::warn!(%supi, session = id, upf = %other, %error, "UPF failover failed");
        }
    }
    true
}

//! Deactivation of the user plane connection in an AN release (TS 23.502, 4.2.6, steps 5 to 7), or
//! because the gNB has released its resources.
use super::n4_session_modification::modify_downlink;
use super::{downlink_data_notification, upf_return};
use crate::metrics;
use crate::n4::buffer;
use crate::procedures::handover::forwarding_release;
use crate::procedures::n1_n2_transfer::{connection_state, peer_not_responding};
use crate::session::Session;
use crate::session_event::UpdateResponse;
use martlet_sbi_api::nsmf_pdusession::UpCnxState;
use std::time::Instant;

/// The UE becomes idle: the UPF buffers the downlink.
pub async fn by_amf(session: &mut Session) -> UpdateResponse {
    let started = Instant::now();
    let data_waiting = session.user_plane.connection.deactivate();
    forwarding_release::release(session).await;
    let outcome = modify_downlink(session, buffer()).await;
    // Data that arrived during an activation were not delivered.
    if data_waiting {
        downlink_data_notification::notify(session);
    }
    metrics::procedure("up_deactivation", if outcome.is_ok() { "ok" } else { "failed" }, started);
    outcome.map_err(peer_not_responding)?;
    upf_return::schedule(session);
    connection_state(UpCnxState::Deactivated)
}

/// The gNB has no resources for the session: it has released them (TS 38.413, 8.2.4), or the target
/// of a path switch did not set them up (TS 23.502, 4.9.1.2, step 2).
pub async fn by_gnb(session: &mut Session) -> UpdateResponse {
    session.user_plane.connection.deactivate();
    let outcome = modify_downlink(session, buffer()).await;
    metrics::procedure("path_switch", "not taken over", Instant::now());
    outcome.map_err(peer_not_responding)?;
    connection_state(UpCnxState::Deactivated)
}

//! GTP-U error indication of a gNB (TS 23.527, 5.3.2): the gNB has lost the session's N3 tunnel.
use super::n4_session_modification::modify_downlink;
use crate::n4::buffer;
use crate::session::Session;

/// Buffers the downlink until the gNB has resources again.
pub async fn run(session: &mut Session) {
    if !session.user_plane.connection.lose_tunnel() {
        return;
    }
    if let Some(suppressed) = martlet_log_limit::line("error_indication", &session.supi) {
        tracing::warn!(
            supi = %session.supi, session = session.id, suppressed,
            "N3 tunnel lost by gNB"
        );
    }
    let _ = modify_downlink(session, buffer()).await;
}

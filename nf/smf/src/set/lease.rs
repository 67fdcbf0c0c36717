//! The lease of this SMF on its sessions. A session that another member of the set has taken over
//! is dropped here without any message.
use crate::metrics;
use crate::session::Session;
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use martlet_nf::{Shutdown, StartError};
use std::sync::Arc;

/// Wakes the task of each session that another SMF takes over. Ends with an error when another
/// process has this SMF's identity.
pub async fn watch(smf: &Arc<Smf>, shutdown: &Shutdown) -> Result<(), StartError> {
    let revoked = |id: &str| {
        if let Some(session) = smf.sessions.get(id) {
            session.send(SessionEvent::TakenOver);
        }
    };
    tokio::select! {
        () = shutdown.wait() => Ok(()),
        superseded = smf.contexts.watch(revoked) => Err(StartError::Superseded(superseded.into())),
    }
}

/// Drops a session that another SMF has taken over. Its addresses stay in use until it ends there.
pub fn drop_session(session: &Session) {
    tracing::warn!(
        supi = %session.supi, session = session.id, "session taken over by another SMF of the set"
    );
    metrics::taken_over();
    if session.parameters.is_in_pool {
        session.smf.pools.retain(session.reference, &session.dnn, &session.parameters.addresses);
    }
    session.smf.sessions.remove(session.reference);
}

//! N4 session modification (TS 23.502, 4.4.1.3).
use super::restoration;
use crate::n4::N4Error;
use crate::session::Session;
use crate::user_plane_path::UpfSession;
use martlet_pfcp::ie::Cause;
use martlet_pfcp::{Message, SessionModificationRequest};

/// Modifies the N4 session at the UPF that gNBs send to. A UPF that has lost the session gets all
/// its rules again, in their new state.
pub async fn modify(
    session: &mut Session,
    change: SessionModificationRequest,
) -> Result<(), N4Error> {
    let access = session.user_plane.access().ok_or(N4Error::NoUpf)?;
    modify_at(session, access, change).await
}

/// Modifies the N4 session at one of two UPFs.
pub async fn modify_at(
    session: &mut Session,
    at: UpfSession,
    change: SessionModificationRequest,
) -> Result<(), N4Error> {
    if !session.is_owned().await {
        return Err(N4Error::NoUpf);
    }
    match request(session, at, change).await {
        Err(N4Error::Rejected(cause)) if cause == Cause::SESSION_CONTEXT_NOT_FOUND.0 => {
            tracing::warn!(
                supi = %session.supi, session = session.id, upf = %at.upf,
                "N4 session lost by UPF, restoring it"
            );
            restoration::restore(session).await
        }
        outcome => outcome,
    }
}

/// Sends a modification request without restoring a lost session.
pub async fn request(
    session: &Session,
    at: UpfSession,
    change: SessionModificationRequest,
) -> Result<(), N4Error> {
    match session.smf.n4.request(at.upf, Some(at.seid), change).await? {
        Message::SessionModificationResponse(response) if response.cause.is_accepted() => Ok(()),
        Message::SessionModificationResponse(response) => Err(N4Error::Rejected(response.cause.0)),
        other => Err(N4Error::Unexpected(other.name())),
    }
}

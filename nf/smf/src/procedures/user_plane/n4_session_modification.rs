//! N4 session modification (TS 23.502, 4.4.1.3).
use super::restoration;
use crate::n4::{N4Error, RETRY_INTERVAL, buffer, forward_to_gnb};
use crate::session::{Session, UpConnection};
use crate::session_event::SessionEvent;
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

/// Changes where the downlink of a session goes, according to its user plane connection. An
/// associated UPF that does not answer gets the change later. It would forward to a gNB without
/// resources otherwise, or buffer for one that has them. For AMF and gNB the change is complete.
pub async fn modify_downlink(
    session: &mut Session,
    change: SessionModificationRequest,
) -> Result<(), N4Error> {
    let error = match modify(session, change).await {
        Err(error) if error.is_unanswered() => error,
        outcome => return outcome,
    };
    let upf = session.user_plane.access().map(|access| access.upf);
    let Some(upf) = upf.filter(|upf| session.smf.n4.is_up(*upf)) else { return Err(error) };
    if let Some(suppressed) = martlet_log_limit::line("downlink", upf) {
        let (supi, id) = (&session.supi, session.id);
        tracing::warn!(%supi, session = id, %upf, %error, suppressed, "downlink not changed yet");
    }
    session.send_to_self_after(RETRY_INTERVAL, || SessionEvent::DownlinkUnchanged);
    Ok(())
}

/// Sends the UPF a change of the downlink again that it did not answer, as the user plane
/// connection is now.
pub async fn modify_downlink_again(session: &mut Session) {
    let change = match session.user_plane.connection {
        UpConnection::Activated((teid, address)) => forward_to_gnb(teid, address),
        UpConnection::Deactivated | UpConnection::TunnelLost => buffer(),
        // The gNB's response changes it.
        UpConnection::Activating { .. } => return,
    };
    if let Err(error) = modify_downlink(session, change).await {
        tracing::debug!(supi = %session.supi, session = session.id, %error, "downlink not changed");
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

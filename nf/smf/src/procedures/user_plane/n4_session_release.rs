//! N4 session release (TS 23.502, 4.4.1.4).
use crate::n4::{N4Error, deletion};
use crate::session::Session;
use crate::usage::Usage;
use crate::user_plane_path::UpfSession;
use martlet_pfcp::Message;

/// Deletes an N4 session, and returns the usage since its last report. If the UPF does not respond,
/// the deletion is requested again later.
pub async fn release(session: &Session, at: UpfSession) -> Result<Usage, N4Error> {
    let mut usage = Usage::default();
    let n4 = &session.smf.n4;
    let response = n4.request(at.upf, Some(at.seid), deletion()).await.inspect_err(|error| {
        if !matches!(error, N4Error::Rejected(_)) {
            n4.delete_later(at.upf, at.generation, at.seid);
        }
    })?;
    if let Message::SessionDeletionResponse(response) = response {
        usage.add(response.usage_reports.iter().map(|report| (report.urr_id, report.volume)));
    }
    Ok(usage)
}

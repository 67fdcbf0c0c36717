//! A subscriber has one context. A new one replaces the previous one and takes its sessions.
use super::{Event, Session, Ue};
use martlet_sbi_api::nsmf_pdusession::Cause;
use std::time::Duration;
use tokio::sync::oneshot;

/// Limit for the previous context's task to give its sessions.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Ue {
    /// Makes this task the one that serves the SUPI. Returns the sessions of the previous context.
    pub async fn replace_previous_context(&mut self) -> Vec<(u8, Session)> {
        let Some(supi) = &self.identity.supi else { return Vec::new() };
        let Some(previous) = self.amf.tables.claim_supi(supi, &self.handle) else {
            return Vec::new();
        };
        let (answer, sessions) = oneshot::channel();
        let asked = async {
            previous.sender.send(Event::Replaced(answer)).await.ok()?;
            sessions.await.ok()
        };
        tokio::time::timeout(TIMEOUT, asked).await.ok().flatten().unwrap_or_default()
    }

    /// Gives the sessions to the context that replaces this one. Releases them if that one waits no
    /// longer: no context would have them.
    pub async fn give_sessions(&mut self, answer: oneshot::Sender<Vec<(u8, Session)>>) {
        let sessions = std::mem::take(&mut self.sessions).into_iter().collect();
        let Err(sessions) = answer.send(sessions) else { return };
        if !sessions.is_empty() {
            self.release_sessions(sessions, Some(Cause::RelDueToUnspecifiedReason)).await;
        }
    }
}

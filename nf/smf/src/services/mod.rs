//! The services that the SMF produces, and what other NFs call back.
mod callback;
mod pdu_session;

use crate::session_event::SessionEvent;
use crate::session_table::SessionHandle;
use crate::set::takeover;
use crate::shared::Smf;
use martlet_interop::SbiQuirk;
use martlet_sbi::Problem;

/// The problem for an unknown SM context.
fn not_found(reference: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("SM context {reference} does not exist"))
}

impl Smf {
    /// Finds a session, and takes it over if it belongs to a failed member of the set.
    async fn find(&self, reference: &str) -> Result<SessionHandle, Problem> {
        let reference = match reference.strip_prefix("urn:uuid:") {
            Some(bare) if self.context.tolerates(SbiQuirk::PrefixedSmContextReference, "AMF") => {
                bare
            }
            _ => reference,
        };
        let found = match (self.sessions.get(reference), self.itself.upgrade()) {
            (None, Some(smf)) if smf.config.set.is_some() => {
                // A task of its own: a cancelled request must not lose the context.
                let reference = reference.to_string();
                martlet_nf::spawn(async move { takeover::take_over(&smf, &reference).await })
                    .await
                    .ok()
                    .flatten()
            }
            (found, _) => found,
        };
        found.ok_or_else(|| not_found(reference))
    }

    /// Sends a session an event.
    ///
    /// # Errors
    /// 404 if the session does not exist, 503 if its queue is full.
    async fn send(&self, reference: &str, event: SessionEvent) -> Result<(), Problem> {
        let session = self.find(reference).await?;
        match session.send(event) {
            true => Ok(()),
            false => Err(Problem::new(503, "NF_CONGESTION").detail("the session's queue is full")),
        }
    }
}

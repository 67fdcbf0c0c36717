//! The services that the SMF produces, and what other NFs call back.
mod callback;
mod pdu_session;

use crate::session::SessionEvent;
use crate::sessions::SessionHandle;
use crate::{Smf, set};
use martlet_sbi::Problem;

fn unknown(reference: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND")
        .detail(format!("there is no session context {reference}"))
}

impl Smf {
    /// A session: of this SMF, or of one of its set that is gone.
    async fn find(&self, reference: &str) -> Result<SessionHandle, Problem> {
        // free5GC's AMF puts this before whatever the location of a context has.
        let reference = reference.strip_prefix("urn:uuid:").unwrap_or(reference);
        let found = match (self.sessions.get(reference), self.itself.upgrade()) {
            (None, Some(smf)) if smf.config.set.is_some() => {
                // What it takes from the store is this SMF's to keep, whoever gives up meanwhile.
                let reference = reference.to_string();
                tokio::spawn(async move { set::take_over(&smf, &reference).await })
                    .await
                    .ok()
                    .flatten()
            }
            (found, _) => found,
        };
        found.ok_or_else(|| unknown(reference))
    }

    /// Sends a session an event: 404 where there is none.
    async fn tell(&self, reference: &str, event: SessionEvent) -> Result<(), Problem> {
        let session = self.find(reference).await?;
        match session.send(event) {
            true => Ok(()),
            false => Err(Problem::new(503, "NF_CONGESTION")
                .detail("the session has too many requests waiting")),
        }
    }
}

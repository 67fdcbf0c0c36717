//! An AMF that was taken for gone, and lives: UEs that another AMF of the set went on with
//! meanwhile are that one's. Nothing is sent or written for them any more, and nobody is told of
//! their end.
use crate::Amf;
use crate::ue::{Event, Ue};
use martlet_nf::{Shutdown, StartError};
use std::sync::Arc;

impl Amf {
    /// Whether a UE is this AMF's still. It waits for the place of the contexts where this AMF was
    /// not heard of there for a while.
    pub(crate) async fn has(&self, number: u64) -> bool {
        match &self.journal {
            Some(journal) => journal.is_ours(number).await,
            None => true,
        }
    }

    /// Whether a connection's UE is.
    pub(crate) async fn has_connection(&self, amf_id: u64) -> bool {
        match self.tables.owner_of(amf_id) {
            Some(number) => self.has(number).await,
            None => true,
        }
    }
}

/// Wakes the tasks of UEs that another AMF has taken; ends with an error where another process has
/// this AMF's name.
pub(crate) async fn watch(amf: &Arc<Amf>, shutdown: &Shutdown) -> Result<(), StartError> {
    let Some(journal) = &amf.journal else {
        shutdown.wait().await;
        return Ok(());
    };
    let taken = |id: &str| {
        if let Some(ue) = id.parse().ok().and_then(|number| amf.tables.by_number(number)) {
            let _ = ue.sender.try_send(Event::Taken);
        }
    };
    tokio::select! {
        () = shutdown.wait() => Ok(()),
        () = journal.watch(taken) => {
            let what = "another AMF of the same region, set and pointer has started with the same `amf.state`: this one ends";
            Err(StartError(what.into()))
        }
    }
}

impl Ue {
    /// Whether another AMF has gone on with the UE; then there is nothing of it here any more.
    pub(crate) async fn is_lost_to_another(&mut self) -> bool {
        if self.amf.has(self.handle.number).await {
            return false;
        }
        if self.registered {
            tracing::warn!(
                supi = self.label(),
                gnb = self.gnb(),
                "another AMF of the set has gone on with the UE: it ends here"
            );
            crate::metrics::taken();
        }
        // Without a word to anybody: sessions, subscription and policy are the other AMF's.
        self.sessions.clear();
        self.watched.clear();
        self.waiting.clear();
        self.leave_connection();
        self.pending.clear();
        (self.connection, self.target, self.security) = (None, None, None);
        (self.subscription, self.policy, self.idle) = (None, None, None);
        self.set_registered(false);
        true
    }
}

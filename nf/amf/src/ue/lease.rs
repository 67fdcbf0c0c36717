//! The lease of this AMF on its UE contexts. A UE that another AMF of the set has taken over is
//! dropped here without any message: its session, subscription and policy belong to that AMF.
use super::{Event, Ue};
use crate::Amf;
use crate::n2::UeLayer;
use martlet_nf::{Shutdown, StartError};
use std::sync::Arc;

impl Amf {
    /// Whether this AMF still owns a UE context. Waits for the database if the lease has expired.
    async fn owns(&self, number: u64) -> bool {
        self.contexts.is_owner(number).await
    }
}

impl UeLayer for Amf {
    async fn owns_connection(&self, amf_id: u64) -> bool {
        match self.tables.owner_of(amf_id) {
            Some(number) => self.owns(number).await,
            None => true,
        }
    }

    fn disconnect(&self, amf_id: u64) {
        self.tables.disconnect(amf_id);
    }
}

/// Wakes the task of each UE that another AMF takes over. Ends with an error when another process
/// has this AMF's identity.
pub(crate) async fn watch(amf: &Arc<Amf>, shutdown: &Shutdown) -> Result<(), StartError> {
    let revoked = |id: &str| {
        if let Some(ue) = id.parse().ok().and_then(|number| amf.tables.by_number(number)) {
            let _ = ue.sender.try_send(Event::Taken);
        }
    };
    tokio::select! {
        () = shutdown.wait() => Ok(()),
        superseded = amf.contexts.watch(revoked) => Err(StartError::Superseded(superseded.into())),
    }
}

impl Ue {
    /// Whether another AMF has taken the UE over. If so, clears this context.
    pub(super) async fn is_taken_over(&mut self) -> bool {
        if self.amf.owns(self.handle.number).await {
            return false;
        }
        if self.is_registered() {
            tracing::warn!(
                supi = self.label(),
                gnb = self.gnb(),
                "UE taken over by another AMF of the set"
            );
            crate::metrics::taken_over();
        }
        self.sessions.clear();
        self.last_reports.clear();
        self.task.deferred.clear();
        self.leave_connection();
        self.pending.clear();
        drop(self.enter_cm_idle());
        (self.target, self.security) = (None, None);
        (self.registration.subscription, self.registration.policy, self.idle) = (None, None, None);
        self.deregister();
        true
    }
}

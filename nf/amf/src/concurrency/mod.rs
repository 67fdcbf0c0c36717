//! How many procedures of a kind are at work at the same time. What comes beyond the limit waits
//! its turn, first come first served; what finds the queue full is told to come back later.
//! Processors that switch between many half-done procedures finish each of them later than those
//! that finish some first.
mod adaptive;
mod gate;

pub use adaptive::Adaptive;
pub use gate::{Full, Gate, Slot};

use crate::config::{ConcurrencyConfig, Limit};
use std::time::Duration;

/// A kind of procedure that is limited. What gives resources back is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Registration, initial, by mobility or periodic.
    Registration,
    /// Service request, of the UE's own or after paging.
    ServiceRequest,
    /// PDU session establishment, until the SMF has the UE's request.
    PduSessionEstablishment,
}

impl Kind {
    /// Its name in metrics and the status.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Registration => "registration",
            Kind::ServiceRequest => "service_request",
            Kind::PduSessionEstablishment => "pdu_session_establishment",
        }
    }
}

/// The limits of all kinds.
pub struct Concurrency {
    registration: Gate,
    service_request: Gate,
    pdu_session_establishment: Gate,
    /// How long a procedure may wait for its UE before it gives its slot to another.
    pub patience: Duration,
}

impl Concurrency {
    pub fn new(config: &ConcurrencyConfig) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let gate = |kind: Kind, limit: Limit| match limit {
            Limit::Fixed(limit) => Gate::new(kind.name(), limit, config.queue, None),
            Limit::Auto => Gate::new(
                kind.name(),
                Adaptive::first(cores),
                config.queue,
                Some(Adaptive::new(cores)),
            ),
        };
        Concurrency {
            registration: gate(Kind::Registration, config.registration),
            service_request: gate(Kind::ServiceRequest, config.service_request),
            pdu_session_establishment: gate(
                Kind::PduSessionEstablishment,
                config.pdu_session_establishment,
            ),
            patience: Duration::from_millis(config.patience_ms.into()),
        }
    }

    /// The gate of a kind.
    pub fn of(&self, kind: Kind) -> &Gate {
        match kind {
            Kind::Registration => &self.registration,
            Kind::ServiceRequest => &self.service_request,
            Kind::PduSessionEstablishment => &self.pdu_session_establishment,
        }
    }

    /// Each kind's limit, and how many are at work and wait.
    pub fn status(&self) -> serde_json::Value {
        let kinds = [Kind::Registration, Kind::ServiceRequest, Kind::PduSessionEstablishment];
        kinds.into_iter().map(|kind| (kind.name().to_string(), self.of(kind).status())).collect()
    }
}

//! Concurrency limits per kind of procedure. Procedures beyond the limit wait in order of arrival;
//! when the queue is full, they are rejected with a back-off time. Running few procedures to their
//! end is faster than switching among many.
mod adaptive;
mod gate;

pub use adaptive::Adaptive;
pub use gate::{Full, Gate, Slot};

use crate::config::{ConcurrencyConfig, Limit};
use std::time::Duration;

/// A kind of procedure with a limit. Procedures that free resources have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Registration: initial, mobility or periodic.
    Registration,
    /// Service request, also in answer to paging.
    ServiceRequest,
    /// PDU session establishment, until the SMF has the UE's request.
    PduSessionEstablishment,
}

impl Kind {
    /// The name in metrics and in the status.
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
    /// How long a procedure may wait for its UE before it loses its slot.
    pub slot_timeout: Duration,
}

impl Concurrency {
    pub fn new(config: &ConcurrencyConfig) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let gate = |kind: Kind, limit: Limit| match limit {
            Limit::Fixed(limit) => Gate::new(kind.name(), limit, config.queue, None),
            Limit::Auto => Gate::new(
                kind.name(),
                Adaptive::first(cpus),
                config.queue,
                Some(Adaptive::new(cpus)),
            ),
        };
        Concurrency {
            registration: gate(Kind::Registration, config.registration),
            service_request: gate(Kind::ServiceRequest, config.service_request),
            pdu_session_establishment: gate(
                Kind::PduSessionEstablishment,
                config.pdu_session_establishment,
            ),
            slot_timeout: Duration::from_millis(config.slot_timeout_ms.into()),
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

    /// The limit of each kind, and how many run and wait.
    pub fn status(&self) -> serde_json::Value {
        let kinds = [Kind::Registration, Kind::ServiceRequest, Kind::PduSessionEstablishment];
        kinds.into_iter().map(|kind| (kind.name().to_string(), self.of(kind).status())).collect()
    }
}

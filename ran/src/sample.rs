//! Latency of procedures, measured at the gNB.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A procedure that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Procedure {
    /// NG SETUP REQUEST sent to NG SETUP RESPONSE received.
    NgSetup,
    /// REGISTRATION REQUEST sent to REGISTRATION ACCEPT received; in total until REGISTRATION
    /// COMPLETE is sent.
    Registration,
    /// PDU SESSION ESTABLISHMENT REQUEST sent to its ACCEPT received; in total until the tunnel is
    /// ready and the resource setup answered.
    PduSessionEstablishment,
    /// PDU SESSION RELEASE REQUEST sent to its COMMAND received; in total until the COMPLETE is
    /// sent.
    PduSessionRelease,
    /// SERVICE REQUEST sent to SERVICE ACCEPT received; in total until the context setup is
    /// answered.
    ServiceRequest,
    /// PAGING received to SERVICE ACCEPT received; in total until the context setup is answered.
    PagingResponse,
    /// DEREGISTRATION REQUEST sent to DEREGISTRATION ACCEPT received.
    Deregistration,
    /// UE CONTEXT RELEASE REQUEST sent to UE CONTEXT RELEASE COMMAND received; in total until
    /// COMPLETE is sent.
    AnRelease,
    /// HANDOVER REQUIRED sent to HANDOVER COMMAND received; in total until the source's UE CONTEXT
    /// RELEASE COMMAND is received.
    Handover,
    /// PATH SWITCH REQUEST sent to its ACKNOWLEDGE received.
    PathSwitch,
}

impl Procedure {
    /// All procedures.
    pub const ALL: [Procedure; 10] = [
        Procedure::NgSetup,
        Procedure::Registration,
        Procedure::PduSessionEstablishment,
        Procedure::PduSessionRelease,
        Procedure::ServiceRequest,
        Procedure::PagingResponse,
        Procedure::Deregistration,
        Procedure::AnRelease,
        Procedure::Handover,
        Procedure::PathSwitch,
    ];

    /// The name in reports and CSV files.
    pub fn name(self) -> &'static str {
        match self {
            Procedure::NgSetup => "ng_setup",
            Procedure::Registration => "registration",
            Procedure::PduSessionEstablishment => "pdu_session_establishment",
            Procedure::PduSessionRelease => "pdu_session_release",
            Procedure::ServiceRequest => "service_request",
            Procedure::PagingResponse => "paging_response",
            Procedure::Deregistration => "deregistration",
            Procedure::AnRelease => "an_release",
            Procedure::Handover => "handover",
            Procedure::PathSwitch => "path_switch",
        }
    }
}

/// One run of a procedure.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The procedure.
    pub procedure: Procedure,
    /// SUPI of the UE, or name of the gNB.
    pub subject: Arc<str>,
    /// When its first uplink message was passed to the transport (paging: when it was received).
    pub start: Instant,
    /// Until the final downlink message was received.
    pub latency: Duration,
    /// Until the last message of the procedure was passed to the transport; at least `latency`.
    pub total: Duration,
    /// The part of `latency` that was spent waiting for the core: all but the time from each
    /// downlink message to the uplink message that followed it, and that of RRC messages.
    pub core: Duration,
    /// The failure; `None` on success.
    pub failure: Option<String>,
}

/// Collects samples; clones share them. Bounded: beyond the limit samples are counted and dropped.
#[derive(Debug, Clone)]
pub struct Samples(Arc<Mutex<Collected>>);

#[derive(Debug)]
struct Collected {
    samples: Vec<Sample>,
    limit: usize,
    dropped: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Samples::with_limit(4_000_000)
    }
}

impl Samples {
    /// A collector that keeps `limit` samples between two calls of [`Samples::take`].
    pub fn with_limit(limit: usize) -> Self {
        Samples(Arc::new(Mutex::new(Collected { samples: Vec::new(), limit, dropped: 0 })))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a sample.
    pub fn push(&self, sample: Sample) {
        let mut collected = self.lock();
        match collected.samples.len() < collected.limit {
            true => collected.samples.push(sample),
            false => collected.dropped += 1,
        }
    }

    /// Takes the collected samples.
    pub fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.lock().samples)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.lock().samples.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of samples dropped because of the limit.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_beyond_the_limit_are_dropped_and_counted() {
        let samples = Samples::with_limit(1);
        for _ in 0..3 {
            samples.push(Sample {
                procedure: Procedure::Registration,
                subject: "imsi-1".into(),
                start: Instant::now(),
                latency: Duration::ZERO,
                total: Duration::ZERO,
                core: Duration::ZERO,
                failure: None,
            });
        }
        assert_eq!((samples.len(), samples.dropped()), (1, 2));
        assert_eq!(samples.take().len(), 1);
        assert!(samples.is_empty());
    }
}

//! Latency of procedures as a gNB sees it.
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
    /// RELEASE COMMAND came.
    Handover,
    /// PATH SWITCH REQUEST sent to its ACKNOWLEDGE received.
    PathSwitch,
}

impl Procedure {
    /// All, in the order of a UE's life.
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

    /// Its name in reports and CSV files.
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
    /// Which.
    pub procedure: Procedure,
    /// SUPI of the UE, or name of the gNB.
    pub subject: Arc<str>,
    /// When its first uplink message was handed to the transport (paging: when it was received).
    pub start: Instant,
    /// Until the final downlink message was received.
    pub latency: Duration,
    /// Until the last message of the procedure was handed to the transport; at least `latency`.
    pub total: Duration,
    /// The part of `latency` that was spent waiting for the core: from each uplink message to the
    /// downlink message that followed it.
    pub core: Duration,
    /// What went wrong; `None`: nothing.
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

    /// Add one.
    pub fn push(&self, sample: Sample) {
        let mut collected = self.lock();
        match collected.samples.len() < collected.limit {
            true => collected.samples.push(sample),
            false => collected.dropped += 1,
        }
    }

    /// Take what has been collected.
    pub fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.lock().samples)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().samples.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many were dropped because the limit was reached.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_kept_and_what_is_beyond_is_counted() {
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

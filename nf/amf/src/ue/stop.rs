//! Reasons for the early end of a procedure.
use super::Work;
use bytes::Bytes;
use martlet_nas::identifiers::Slice;
use martlet_nas::{GmmCause, RejectedNssaiCause};

/// Content of a NAS reject.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reject {
    pub cause: GmmCause,
    /// Back-off time, seconds (T3346).
    pub back_off: Option<u32>,
    /// Rejected S-NSSAIs.
    pub slices: Vec<(Slice, RejectedNssaiCause)>,
}

impl From<GmmCause> for Reject {
    fn from(cause: GmmCause) -> Self {
        Reject { cause, back_off: None, slices: Vec::new() }
    }
}

/// Reasons for the early end of a procedure.
pub(crate) enum Stop {
    /// The UE's connection, or its gNB, is lost.
    ConnectionLost,
    /// The UE did not answer; the timer that expired the maximum number of times.
    NoAnswer(&'static str),
    /// Other work takes precedence and runs next.
    Preempted(Work),
    /// The UE is rejected.
    Reject(Reject),
    /// The authentication failed: AUTHENTICATION REJECT, with EAP-Failure for EAP.
    NotAuthentic(Option<Bytes>),
    /// The UE has arrived at the gNB of another AMF.
    HandedOver,
    /// The UE's slices belong to another AMF set: MCC, MNC, region and set.
    Reroute(String),
    /// The procedure cannot continue and sends nothing to the UE; a metrics label.
    Abandoned(&'static str),
}

impl Stop {
    /// A reject with a cause only.
    pub fn reject(cause: GmmCause) -> Self {
        Stop::Reject(cause.into())
    }

    /// The metrics and log label.
    pub fn label(&self) -> String {
        match self {
            Stop::ConnectionLost => "connection_lost".into(),
            Stop::NoAnswer(timer) => format!("{timer}_expired"),
            Stop::Preempted(_) => "preempted".into(),
            Stop::Reject(reject) => format!("cause_{}", reject.cause.as_u8()),
            Stop::NotAuthentic(_) => "not_authentic".into(),
            Stop::HandedOver => "handed_over".into(),
            Stop::Reroute(_) => "rerouted".into(),
            Stop::Abandoned(why) => (*why).into(),
        }
    }
}

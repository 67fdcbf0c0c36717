//! Why a procedure does not reach its end.
use super::Work;
use bytes::Bytes;
use martlet_nas::GmmCause;
use martlet_nas::identifiers::Slice;

/// What a reject says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reject {
    pub cause: GmmCause,
    /// Seconds until the UE may try again (T3346).
    pub back_off: Option<u32>,
    /// Slices that are not available.
    pub slices: Vec<Slice>,
}

impl From<GmmCause> for Reject {
    fn from(cause: GmmCause) -> Self {
        Reject { cause, back_off: None, slices: Vec::new() }
    }
}

/// Why a procedure does not reach its end.
pub(crate) enum Stop {
    /// The UE's connection, or its gNB, is gone.
    ConnectionLost,
    /// The UE did not answer; the timer that expired as often as it may.
    NoAnswer(&'static str),
    /// Something else comes first, and is done next.
    Preempted(Work),
    /// The UE is refused.
    Reject(Reject),
    /// The UE is not who it says it is: AUTHENTICATION REJECT, with EAP-Failure where there is one.
    NotAuthentic(Option<Bytes>),
    /// The UE has come to the gNB of another AMF.
    Arrived,
    /// Another AMF set is for the UE's slices: MCC, MNC, region and set.
    Reroute(String),
    /// The procedure cannot go on, and there is nothing to tell the UE; a word for the metrics.
    Abandoned(&'static str),
}

impl Stop {
    /// A refusal with a cause alone.
    pub fn reject(cause: GmmCause) -> Self {
        Stop::Reject(cause.into())
    }

    /// A word of a fixed set: for metrics and logs.
    pub fn label(&self) -> String {
        match self {
            Stop::ConnectionLost => "connection_lost".into(),
            Stop::NoAnswer(timer) => format!("{timer}_expired"),
            Stop::Preempted(_) => "preempted".into(),
            Stop::Reject(reject) => format!("cause_{}", reject.cause.as_u8()),
            Stop::NotAuthentic(_) => "not_authentic".into(),
            Stop::Arrived => "arrived_elsewhere".into(),
            Stop::Reroute(_) => "rerouted".into(),
            Stop::Abandoned(why) => (*why).into(),
        }
    }
}

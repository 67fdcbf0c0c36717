//! 5GSM state of the PDU sessions of a UE (TS 24.501, 6.1.3).
use super::action::PduSession;
use super::config::Slice;
use martlet_nas::{Nas5gsMessage, PduSessionTypeValue, QosFlowDescription, QosRule, SscModeValue};

/// 5GSM state of a PDU session (TS 24.501, 6.1.3.2). PDU SESSION INACTIVE is the absence of the
/// session.
pub(super) enum SessionState {
    /// PDU SESSION ACTIVE PENDING: the establishment request is not answered.
    ActivePending(PendingRequest),
    /// PDU SESSION ACTIVE.
    Active,
    /// PDU SESSION MODIFICATION PENDING: the modification request is not answered.
    ModificationPending(PendingRequest),
    /// PDU SESSION INACTIVE PENDING: the release request is not answered.
    InactivePending(PendingRequest),
}

/// A 5GSM request that is not answered.
pub(super) struct PendingRequest {
    /// UL NAS TRANSPORT with the request.
    pub(super) message: Nas5gsMessage,
    /// How often it was sent.
    pub(super) sent: u8,
}

impl PendingRequest {
    /// A request that was sent once.
    pub(super) fn new(message: Nas5gsMessage) -> Self {
        PendingRequest { message, sent: 1 }
    }
}

/// A PDU session.
pub(super) struct Session {
    /// Procedure transaction identity of the UE's last request.
    pub(super) pti: u8,
    pub(super) state: SessionState,
    pub(super) info: PduSession,
}

/// The parameters of a PDU session establishment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PduSessionRequest {
    /// PDU session identity, 1 to 15; `None`: the lowest free one.
    pub psi: Option<u8>,
    /// DNN; `None`: the network's default.
    pub dnn: Option<String>,
    /// S-NSSAI; `None`: the network's default.
    pub slice: Option<Slice>,
    /// PDU session type.
    pub session_type: PduSessionTypeValue,
    /// Session and service continuity mode; `None`: the network's choice.
    pub ssc_mode: Option<SscModeValue>,
    /// Old PDU session ID: the session that this one replaces (TS 24.501, 5.4.5.2.2).
    pub replaces: Option<u8>,
    /// Whether it requests an existing PDU session, such as one that was in LTE. `psi` names it,
    /// also if the UE has it.
    pub existing: bool,
}

impl Default for PduSessionRequest {
    fn default() -> Self {
        PduSessionRequest {
            psi: None,
            dnn: None,
            slice: None,
            session_type: PduSessionTypeValue::Ipv4,
            ssc_mode: None,
            replaces: None,
            existing: false,
        }
    }
}

/// The parameters of a PDU session modification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModificationRequest {
    /// Operations on QoS rules; a new rule has the identifier 0.
    pub rules: Vec<QosRule>,
    /// Operations on QoS flows; a new flow has the identifier 0.
    pub flows: Vec<QosFlowDescription>,
    /// Whether the UE requests an always-on PDU session.
    pub always_on: bool,
}

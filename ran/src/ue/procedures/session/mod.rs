//! PDU session procedures (TS 24.501, 6.3 and 6.4).
pub(crate) mod pdu_session;
pub(crate) mod pdu_session_establishment;
pub(crate) mod pdu_session_modification;
pub(crate) mod pdu_session_release;

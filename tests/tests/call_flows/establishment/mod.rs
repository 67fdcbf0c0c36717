//! PDU session establishment at the SMF (TS 23.502, 4.3.2).
pub mod negotiation;
pub mod pdu_session_establishment;
pub mod rejection;

//! PDU session release (TS 23.502, 4.3.4).
pub mod gsm_status;
pub mod pdu_session_release;

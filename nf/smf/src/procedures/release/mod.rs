//! PDU session release (TS 23.502, 4.3.4).
pub mod address_loss;
pub mod address_reclaim;
pub mod orphaned_session_release;
pub mod pdu_session_release;

//! PDU session modification (TS 23.502, 4.3.3).
pub mod network_requested_modification;
pub mod ue_requested_modification;

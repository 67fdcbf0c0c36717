//! Sets of network functions (TS 23.501, 5.21 and 5.22).
pub mod amf_takeover;

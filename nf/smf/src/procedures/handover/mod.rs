//! Handover (TS 23.502, 4.9.1).
pub mod forwarding_release;
pub mod n2_handover;
pub mod xn_handover;

//! Handover (TS 23.502, 4.9.1).
mod intermediate_upf;
mod malformed;
pub mod n2_and_xn;

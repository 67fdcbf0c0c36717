//! SM policy (TS 23.502, 4.16).
pub mod sm_policy_association;

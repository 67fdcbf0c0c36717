//! Charging of a session (TS 32.255).
pub mod converged_charging;

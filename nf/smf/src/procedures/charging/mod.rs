//! Converged charging of a session (TS 32.255; TS 32.290).
pub mod charging_session;
pub mod quota_management;
pub mod unanswered_release;

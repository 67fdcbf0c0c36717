//! SMF sets (TS 23.501, 5.22; TS 29.244, 5.22). The members share one context store
//! (`smf.context_store.database`).
pub mod health_check;
pub mod lease;
mod peers;
pub mod takeover;

pub use peers::{all_sessions, open};

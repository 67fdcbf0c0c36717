//! Nsmf_PDUSession: PDU sessions of UEs, for AMFs (TS 29.502).
mod kinds;

pub use kinds::*;

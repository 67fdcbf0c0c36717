//! The SMF and its UPFs (TS 29.244).
pub mod malformed;
mod upf_restart;

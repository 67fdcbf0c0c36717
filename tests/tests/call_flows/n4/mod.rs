//! N4: the SMF and its UPFs (TS 29.244).
pub mod association_release;
pub mod malformed;
pub mod overload;
pub mod upf_failure;
pub mod upf_restart;

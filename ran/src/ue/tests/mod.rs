//! The UE with a simulated network.
mod authentication;
mod idle;
pub(crate) mod network;
mod registration;
mod security_mode;
mod sessions;

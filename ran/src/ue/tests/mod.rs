//! The UE against a network made by hand.
mod authentication;
mod idle;
pub(crate) mod network;
mod registration;
mod security_mode;
mod sessions;

//! The UE against a network made by hand.
mod authentication;
mod idle;
mod network;
mod registration;
mod security_mode;
mod sessions;

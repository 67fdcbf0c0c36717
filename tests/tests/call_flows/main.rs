//! Whole call flows: simulated gNBs and phones against a whole core.
//!
//! Each test runs in a network namespace of its own; without the right to make one it says that it
//! is skipped.
mod bystander;
mod captures;
mod conformance;
mod connection;
mod handover;
mod n2;
mod n4;
mod positioning;
mod registration;
mod sbi;
mod security;
mod session;
mod sets;
mod ue_lifecycle;
mod user_plane;

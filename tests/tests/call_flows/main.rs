//! Call flows of simulated gNBs and UEs with a complete core, in a folder for each group of
//! procedures.
//!
//! Each test runs in its own network namespace. Without the privilege to create one it prints that
//! it is skipped.
mod branching;
mod bystander;
mod captures;
mod charging;
mod conformance;
mod conformance_bench;
mod connection;
mod establishment;
mod function_restart;
mod handover;
mod modification;
mod n2;
mod n4;
mod positioning;
mod quirks;
mod registration;
mod release;
mod sbi;
mod security;
mod session;
mod ue_lifecycle;
mod user_plane;

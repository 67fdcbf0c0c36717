//! The security functions of 5GS: MILENAGE (TS 35.206), key derivation and SUCI (TS 33.501), NEA and NIA.
//!
//! A thin layer over the crate that the workspace pins; nothing outside `wire/` names that crate.
pub use oxirush_security::*;

//! NGAP messages (TS 38.413, aligned PER): octets in, values out.
//!
//! A thin layer over the codec crate that the workspace pins; nothing outside `wire/` names that crate.
pub use oxirush_ngap::{aper, build_ngap, extract_ngap_ies, helpers, ngap};

//! NAS-5GS messages (TS 24.501): octets in, values out.
//!
//! A thin layer over the codec crate that the workspace pins; nothing outside `wire/` names that crate.
pub use oxirush_nas::nas_5gs::*;

//! NGAP messages (TS 38.413, aligned PER): octets in, values out.
//!
//! A thin layer over the codec crate that the workspace pins; nothing outside `wire/` names that crate.
pub use oxirush_ngap::{
    BitString, Bits, Decode, Deviation, Encode, Error, ErrorKind, Message, NgapPduKind, Octets, aper, build_ngap,
    build_ngap_ie, extract_ngap_ies, helpers, identity, ie, ngap, with_ngap_ie_mut,
};

pub mod transfer;

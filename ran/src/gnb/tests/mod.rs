//! The gNB and its UEs against an AMF made by hand.
pub(crate) mod amf;
mod faults;
pub(crate) mod life;
mod many;

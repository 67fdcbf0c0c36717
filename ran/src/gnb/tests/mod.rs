//! The gNB and its UEs with a simulated AMF.
pub(crate) mod amf;
mod faults;
pub(crate) mod life;
mod many;

//! The gNB and its UEs with a simulated AMF.
pub(crate) mod amf;
mod faults;
mod many;
pub(crate) mod ue_lifecycle;

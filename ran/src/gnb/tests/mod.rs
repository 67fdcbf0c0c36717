//! The gNB and its UEs against an AMF made by hand.
mod amf;
mod faults;
mod life;

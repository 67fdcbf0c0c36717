//! Malformed PFCP, and more than a UPF can handle (TS 29.244).
pub mod malformed;
pub mod overload;

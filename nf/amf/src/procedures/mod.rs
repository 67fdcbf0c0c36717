//! The procedures of the AMF. A folder is a group of TS 23.502 or TS 38.413; a file is a procedure
//! and has its name.
pub(crate) mod connection;
pub(crate) mod handover;
pub(crate) mod n2;
pub(crate) mod positioning;
pub(crate) mod registration;
pub(crate) mod session;

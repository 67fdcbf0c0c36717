pub(crate) mod common;
pub(crate) mod connection;
pub(crate) mod registration;
pub(crate) mod session;

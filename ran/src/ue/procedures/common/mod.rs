//! 5GMM common procedures (TS 24.501, 5.4).
pub(crate) mod authentication;
pub(crate) mod configuration_update;
pub(crate) mod eap_aka_prime;
pub(crate) mod identification;
pub(crate) mod nas_transport;
pub(crate) mod security_mode_control;
pub(crate) mod status;

//! The procedures of the AMF, each in the file that has its name (TS 23.502, 4; TS 38.413, 8; TS 24.501, 5).
pub(crate) mod error_indication;
pub(crate) mod ng_reset;
pub(crate) mod ng_setup;
pub(crate) mod ran_configuration_update;

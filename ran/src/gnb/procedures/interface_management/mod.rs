pub(crate) mod amf_configuration_update;
pub(crate) mod error_indication;
pub(crate) mod ng_reset;
pub(crate) mod ng_setup;

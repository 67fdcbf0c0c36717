//! Management of the N2 interface (TS 38.413, 8.7).
pub(crate) mod amf_configuration_update;
pub(crate) mod amf_status_indication;
pub(crate) mod error_indication;
pub(crate) mod ng_reset;
pub(crate) mod ng_setup;
pub(crate) mod overload_control;
pub(crate) mod planned_removal;
pub(crate) mod ran_configuration_update;

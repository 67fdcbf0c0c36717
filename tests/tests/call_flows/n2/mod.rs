//! NG interface procedures (TS 38.413, 8).
pub mod amf_configuration_update;
pub mod amf_status_indication;
mod element_order;
pub mod gnb_failure;
pub mod malformed;
pub mod ng_reset;
pub mod ng_setup;
pub mod overload_control;
pub mod pdu_session_resource;
pub mod ran_configuration_update;
pub mod unchecked_sctp;

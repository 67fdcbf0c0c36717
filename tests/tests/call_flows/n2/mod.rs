//! NG interface procedures (TS 38.413, 8).
pub mod amf_status;
pub mod element_order;
pub mod gnb_failure;
pub mod malformed;
pub mod nas_non_delivery;
pub mod ng_reset;
pub mod ng_setup;
pub mod overload;
pub mod pdu_session_resource;
pub mod ue_radio_capability;

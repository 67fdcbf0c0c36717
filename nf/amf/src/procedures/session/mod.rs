//! The AMF's part of PDU session procedures (TS 23.502, 4.3; TS 38.413, 8.2).
pub(crate) mod pdu_session_establishment;
pub(crate) mod pdu_session_resource_modify;
pub(crate) mod pdu_session_resource_modify_indication;
pub(crate) mod pdu_session_resource_notify;
pub(crate) mod pdu_session_resource_release;
pub(crate) mod pdu_session_resource_setup;
pub(crate) mod pdu_session_update;
pub(crate) mod serving_amf_change;
pub(crate) mod sm_context_status;
pub(crate) mod user_plane_activation;

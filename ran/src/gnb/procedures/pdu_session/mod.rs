//! PDU session management (TS 38.413, 8.2).
pub(crate) mod pdu_session_resource_modify;
pub(crate) mod pdu_session_resource_release;
pub(crate) mod pdu_session_resource_setup;
pub(crate) mod resources;

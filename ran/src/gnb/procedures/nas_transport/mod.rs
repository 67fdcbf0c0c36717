//! Transport of NAS messages (TS 38.413, 8.6).
pub(crate) mod downlink_nas_transport;
pub(crate) mod initial_ue_message;
mod nas_non_delivery_indication;
pub(crate) mod reroute_nas_request;
pub(crate) mod uplink_nas_transport;

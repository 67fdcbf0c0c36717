pub(crate) mod initial_ue_message;
pub(crate) mod reroute_nas_request;
pub(crate) mod uplink_downlink;

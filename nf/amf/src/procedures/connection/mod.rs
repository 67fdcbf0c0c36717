//! Connection management (TS 23.502, 4.2.3 and 4.2.6; TS 38.413, 8.3 and 8.6): service request,
//! paging, AN release, UE context at the gNB, NAS transport.
pub(crate) mod an_release;
pub(crate) mod dl_nas_transport;
pub(crate) mod initial_context_setup;
pub(crate) mod initial_ue_message;
pub(crate) mod n1_n2_message_transfer;
pub(crate) mod nas_non_delivery;
pub(crate) mod paging;
pub(crate) mod rrc_inactive;
pub(crate) mod service_request;
pub(crate) mod ue_context_modification;
pub(crate) mod ue_context_release;
pub(crate) mod ue_radio_capability_info;
pub(crate) mod ul_nas_transport;

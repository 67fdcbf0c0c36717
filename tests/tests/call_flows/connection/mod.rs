//! Service request, paging, AN release (TS 23.502, 4.2.3 and 4.2.6) and NAS transport.
pub mod an_release;
pub mod malformed_nas;
pub mod nas_non_delivery;
pub mod paging;
pub mod service_request;
pub mod ue_context_release;
pub mod ue_radio_capability_info;

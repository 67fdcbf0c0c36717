//! Registration, deregistration and UE configuration update (TS 23.502, 4.2.2 and 4.2.4).
pub mod amf_reallocation;
pub mod amf_set_takeover;
pub mod configuration_update;
pub mod deregistration;
pub mod general_registration;
pub mod identification;
pub mod nas_rekeying;
pub mod overload;
pub mod rejection;
pub mod security_mode_control;
pub mod service_area;
pub mod subscription_change;
pub mod suci;
pub mod ue_context_transfer;

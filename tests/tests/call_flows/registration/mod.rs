//! Registration, deregistration and UE configuration update (TS 23.502, 4.2.2 and 4.2.4).
pub mod amf_change;
pub mod amf_reallocation;
pub mod configuration_update;
pub mod deregistration;
pub mod initial;
pub mod mobility;
pub mod overload;
pub mod rejection;
pub mod service_area;
pub mod suci;

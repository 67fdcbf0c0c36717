//! Registration and the UE configuration update (TS 23.502, 4.2.2 and 4.2.4).
pub mod amf_change;
mod configuration_update;
mod initial;
mod rejected;
mod subscription_changes;

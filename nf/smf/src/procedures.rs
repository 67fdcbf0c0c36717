//! The procedures of the SMF, one file each, as TS 23.502 has their call flows.
pub mod audit;
pub mod charging;
pub mod downlink_data;
pub mod establishment;
pub mod handover;
pub mod intermediate_upf;
pub mod modification;
pub mod negotiation;
pub mod path_switch;
pub mod release;
pub mod relocation;
pub mod requested_modification;
pub mod transfer;
pub mod update;
pub mod user_plane;

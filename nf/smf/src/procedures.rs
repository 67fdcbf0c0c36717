//! The procedures of the SMF, one file each, as TS 23.502 has their call flows.
pub mod audit;
pub mod downlink_data;
pub mod establishment;
pub mod handover;
pub mod modification;
pub mod path_switch;
pub mod release;
pub mod transfer;
pub mod update;
pub mod user_plane;

//! The procedures of the SMF: one file each, in the groups of TS 23.502, 4.2 to 4.9.
pub mod branching;
pub mod charging;
pub mod establishment;
pub mod handover;
pub mod modification;
pub mod n1_n2_transfer;
pub mod release;
pub mod user_plane;

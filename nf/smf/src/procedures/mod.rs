//! The procedures of the SMF, in the groups of TS 23.502, 4.2 to 4.16. Each file is one procedure.
pub mod branching;
pub mod charging;
pub mod establishment;
pub mod handover;
pub mod modification;
pub mod n1_n2_transfer;
pub mod policy;
pub mod release;
pub mod subscription;
pub mod user_plane;

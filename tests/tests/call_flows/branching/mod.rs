//! Sessions with two UPFs, and the relocation of anchors (TS 23.502, 4.3.5 and 4.9.1).
pub mod anchor_relocation;
pub mod intermediate_upf;
pub mod uplink_classifier;

//! N2: gNBs, their associations, and NGAP messages to and from them (TS 38.413).
mod association;
mod connection;
mod dispatch;
pub(crate) mod downlink;
mod gnb;
pub(crate) mod handover_downlink;
pub(crate) mod handover_uplink;
mod link;
mod listener;
pub(crate) mod uplink;
mod uplink_parts;

#[cfg(test)]
pub(crate) use association::serve;
pub(crate) use connection::{Connection, Location};
pub(crate) use gnb::{Area, Gnb, GnbSetup, Gnbs};
pub(crate) use link::Link;
pub(crate) use listener::{accept, listen};

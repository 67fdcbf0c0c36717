//! N2: gNBs, their associations, and NGAP messages to and from them (TS 38.413).
use martlet_ngap::inbound::Fault;
use martlet_ngap::ngap::NGAP_PDU;

mod connection;
pub(crate) mod downlink;
mod gnb;
pub(crate) mod handover_downlink;
pub(crate) mod handover_uplink;
mod link;
mod listener;
pub(crate) mod uplink;
mod uplink_parts;

pub(crate) use connection::{Connection, Location, Reporting};
pub(crate) use gnb::{Area, Gnb, GnbSetup, Gnbs};
pub(crate) use link::Link;
pub(crate) use listener::listen;

/// Responses for the gNB on stream 0, or the fault of its message.
pub(crate) type Handled = Result<Vec<NGAP_PDU>, Box<Fault>>;

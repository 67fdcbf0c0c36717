//! N2 (TS 38.413): gNBs, their connections, and NGAP messages in both directions.
use martlet_ngap::inbound::Fault;
use martlet_ngap::ngap::NGAP_PDU;

mod claim;
mod connection;
pub(crate) mod downlink;
mod gnb;
pub(crate) mod handover_downlink;
pub(crate) mod handover_uplink;
mod link;
mod listener;
mod next_hop;
pub(crate) mod probe;
pub(crate) mod signalling;
mod transfer_lists;
pub(crate) mod uplink;

pub(crate) use connection::{Connection, Location, Reporting, UeLayer};
pub(crate) use gnb::{Area, Gnb, GnbSetup, Gnbs, Unverified};
pub(crate) use link::Link;
pub(crate) use listener::listen;
pub use listener::prepare_raw_socket;
pub(crate) use next_hop::NextHop;

/// Responses for the gNB on stream 0, or the fault of its message.
pub(crate) type Handled = Result<Vec<NGAP_PDU>, Box<Fault>>;

//! N2 (TS 38.413): gNBs, their connections, and NGAP messages in both directions.
use martlet_ngap::inbound::Fault;
use martlet_ngap::ngap::NGAP_PDU;

mod assistance;
mod claim;
mod connection;
pub(crate) mod downlink;
mod encoded;
mod gnb;
mod gnbs;
pub(crate) mod handover_downlink;
pub(crate) mod handover_uplink;
mod link;
mod listener;
mod next_hop;
pub(crate) mod probe;
mod session_uplink;
pub(crate) mod signalling;
mod transfer_lists;
pub(crate) mod uplink;

pub(crate) use assistance::Assistance;
pub(crate) use connection::{Connection, Location, Reporting, UeLayer};
pub(crate) use encoded::Encoded;
pub(crate) use gnb::{Area, Gnb, GnbSetup, Unverified};
pub(crate) use gnbs::Gnbs;
pub(crate) use link::Link;
pub(crate) use listener::listen;
pub use listener::prepare_raw_socket;
pub(crate) use next_hop::NextHop;

/// Responses for the gNB, or the fault of its message.
pub(crate) type Handled = Result<Vec<NGAP_PDU>, Box<Fault>>;

/// What tests count, in the thread of the test.
#[cfg(test)]
pub(crate) mod counted {
    use std::cell::{Cell, RefCell};

    thread_local! {
        /// The procedure name of each message that was encoded.
        pub static ENCODED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
        /// How often setup data of a gNB were read.
        pub static SETUPS_READ: Cell<usize> = const { Cell::new(0) };
    }
}

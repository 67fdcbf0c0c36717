//! LPP with a UE (TS 37.355).
mod capabilities;
mod dl_tdoa;
mod ecid;
mod gnss;
mod multi_rtt;
mod prs;
mod transaction;

pub(crate) use capabilities::capabilities;
pub(crate) use dl_tdoa::dl_tdoa;
pub(crate) use ecid::{HeardCell, nr_ecid};
pub(crate) use gnss::gnss;
pub(crate) use multi_rtt::{RoundTrip, multi_rtt};
pub(crate) use prs::MOST_CELLS;
pub(crate) use transaction::{Conversation, failed};

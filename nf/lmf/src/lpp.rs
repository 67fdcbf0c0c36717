//! LPP with a UE (TS 37.355).
mod capabilities;
mod dl_tdoa;
mod ecid;
mod gnss;
mod transaction;

pub(crate) use capabilities::capabilities;
pub(crate) use dl_tdoa::dl_tdoa;
pub(crate) use ecid::nr_ecid;
pub(crate) use gnss::gnss;
pub(crate) use transaction::{Conversation, failed};

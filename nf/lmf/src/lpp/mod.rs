//! LPP with a UE (TS 37.355): the session that carries it over the user plane or NAS, its
//! transactions, and the procedures.
mod assistance_data;
mod capability_transfer;
mod control_plane;
mod dl_tdoa;
mod gnss;
mod multi_rtt;
mod nr_ecid;
mod session;
mod transaction;

pub(crate) use assistance_data::MAX_CELLS;
pub(crate) use capability_transfer::request_capabilities;
pub(crate) use control_plane::{ControlPlaneSessions, Delivery};
pub(crate) use dl_tdoa::dl_tdoa;
pub(crate) use gnss::gnss;
pub(crate) use multi_rtt::{RoundTrip, multi_rtt};
pub(crate) use nr_ecid::{MeasuredCell, nr_ecid};
pub(crate) use session::{Carrier, Session, next_identity};
pub(crate) use transaction::{Transactions, late, positioning_failed};

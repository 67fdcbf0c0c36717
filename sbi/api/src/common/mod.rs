//! Types that all services share (TS 29.571).
mod data;
pub(crate) mod decimal_tac;
mod identities;
mod links;
mod location;
mod network;
mod not_valid;
mod octets;
mod qos;
mod slice;
mod time;

pub use data::*;
pub use identities::*;
pub use links::Links;
pub use location::*;
pub use network::*;
pub use not_valid::NotValid;
pub use octets::*;
pub use qos::*;
pub use slice::*;
pub use time::DateTime;

/// Identity of a PDU session: 1 to 15 where the UE allocated it (TS 29.571, 5.4).
pub type PduSessionId = u8;

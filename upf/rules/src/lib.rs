//! The rules of a PFCP session (TS 29.244, 5.2): PDR, FAR, QER, URR and BAR, checked and ready for
//! a datapath.
mod application;
mod bar;
mod by_id;
pub mod dns;
mod error;
mod ethernet;
mod extras;
mod far;
mod flow;
mod frame_rule;
mod pdr;
mod qer;
mod sdf;
mod session;
mod shared;
mod stored;
mod urr;

pub use application::Application;
pub use bar::Bar;
pub use by_id::ById;
pub use error::RuleError;
pub use ethernet::EthernetHeader;
pub use extras::{PdrExtras, Prefix};
pub use far::{Action, Far, Tunnel};
pub use flow::Flow;
pub use frame_rule::FrameRule;
pub use pdr::{Found, LocalTunnel, Pdr, UeAddress};
pub use qer::{BitRate, Qer};
pub use sdf::{Network, SdfRule, SdfRuleError, Side};
pub use session::{RuleLimits, Session, SessionKind};
pub use shared::{SharedById, shared};
pub use stored::StoredSession;
pub use urr::{Urr, VolumeLimit};

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

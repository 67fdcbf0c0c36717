//! The rules of a PFCP session (TS 29.244, 5.2): PDR, FAR, QER, URR and BAR, checked and ready for
//! a datapath.
mod application;
mod bar;
mod by_id;
pub mod dns;
mod endpoint;
mod error;
mod ethernet;
mod expression;
mod extras;
mod far;
mod flow;
mod frame_rule;
mod local_tunnel;
mod pdr;
mod predefined;
mod qer;
mod redirect;
mod sdf;
mod session;
mod shared;
mod stored;
pub mod url;
mod urr;

pub use application::Application;
pub use bar::Bar;
pub use by_id::ById;
pub use endpoint::Endpoint;
pub use error::RuleError;
pub use ethernet::{
    ETHERTYPE_C_TAG, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_S_TAG, EthernetHeader,
};
pub use extras::{PdrExtras, Prefix};
pub use far::{Action, Duplicate, Far, Tunnel};
pub use flow::{Flow, Fragment};
pub use frame_rule::FrameRule;
pub use local_tunnel::LocalTunnel;
pub use pdr::{Found, Pdr, UeAddress};
pub use predefined::PredefinedRule;
pub use qer::{BitRate, PacketRate, Qer};
pub use redirect::Redirect;
pub use sdf::{Network, SdfRule, SdfRuleError, Side};
pub use session::{RuleLimits, Session, SessionKind};
pub use shared::{SharedById, shared};
pub use stored::StoredSession;
pub use urr::{Subsequent, Urr, VolumeLimit};

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

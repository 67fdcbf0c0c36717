//! The N2 SM information: what SMF and gNB exchange about one PDU session, in bytes that the AMF
//! forwards unread (TS 38.413, 9.3.4; TS 23.502, 4.3.2).
//!
//! Each transfer is a struct of plain Rust values with `encode` and `decode`. Addresses are
//! [`std::net::IpAddr`], TEIDs are numbers, bit rates are bit/s.
//!
//! ```
//! use martlet_ngap::transfer::{
//!     Arp, FlowTunnel, GtpTunnel, QosFlow, SessionType, SetupRequest, SetupResponse,
//! };
//!
//! // The SMF: the tunnel for uplink, and the default QoS flow (QFI 1, 5QI 9).
//! let request = SetupRequest::new(
//!     GtpTunnel::new([127, 0, 0, 8].into(), 0x1),
//!     SessionType::Ipv4,
//!     vec![QosFlow::standard(1, 9, Arp::level(8))],
//! )
//! .with_ambr(200_000_000, 100_000_000);
//! let bytes = request.encode()?;
//!
//! // The gNB reads it, and answers with the tunnel for downlink.
//! let request = SetupRequest::decode(&bytes)?;
//! assert_eq!(request.uplink.teid, 1);
//! let response =
//!     SetupResponse::new(FlowTunnel::new(GtpTunnel::new([127, 0, 0, 2].into(), 0x10), vec![1]));
//! assert_eq!(SetupResponse::decode(&response.encode()?)?, response);
//! # Ok::<(), martlet_ngap::transfer::TransferError>(())
//! ```
//!
//! Elements that are not modelled are skipped on decoding and never encoded: the tunnels of
//! redundant transmission, MBS, usage reports of a secondary RAT, RAN data forwarding per DRB,
//! time-sensitive networking.

mod error;
mod handover;
mod indication;
mod modify;
mod path_switch;
mod qos;
mod release;
mod security;
mod setup;
mod tunnel;

pub use error::TransferError;
pub use handover::{
    HandoverCommand, HandoverPreparationUnsuccessful, HandoverRequestAcknowledge, HandoverRequired,
    HandoverResourceAllocationUnsuccessful,
};
pub use indication::{
    FlowNotification, ModifyConfirm, ModifyIndication, ModifyIndicationUnsuccessful, Notify,
    NotifyReleased,
};
pub use modify::{
    FlowChange, ModifyRequest, ModifyResponse, ModifyUnsuccessful, UplinkTunnelChange,
};
pub use path_switch::{
    PathSwitchAcknowledge, PathSwitchRequest, PathSwitchSetupFailed, PathSwitchUnsuccessful,
};
pub use qos::{
    Ambr, Arp, DynamicFiveQi, FailedFlow, FiveQi, GuaranteedBitRate, QosFlow, QosParameters,
};
pub use release::{ReleaseCommand, ReleaseResponse};
pub use security::{Protection, SecurityOutcome, UserPlaneSecurity};
pub use setup::{SessionType, SetupRequest, SetupResponse, SetupUnsuccessful};
pub use tunnel::{FlowTunnel, GtpTunnel};

#[cfg(test)]
mod tests;

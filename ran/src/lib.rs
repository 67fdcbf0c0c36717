#![doc = include_str!("../README.md")]
pub mod cli;
pub mod gnb;
pub mod nrppa;
pub mod positioning;
pub mod sample;
pub mod scenario;
pub mod ue;
pub mod user_plane;

pub use gnb::{
    Gnb, GnbConfig, GnbError, HandoverOutcome, HandoverPlan, HandoverTurn, Ue, UeError, UeEvent,
    UeStatus, XnPlan,
};
pub use martlet_sctp::Options as SctpOptions;
pub use positioning::{Positioning, PositioningConfig, Surroundings};
pub use sample::{Procedure, Sample, Samples};
pub use ue::{
    IdleBehaviour, NasTimers, OperatorKey, PduSession, PduSessionRequest, RegistrationOutcome,
    RegistrationType, ServicePurpose, Slice, SuciScheme, UeConfig,
};
pub use user_plane::Netns;

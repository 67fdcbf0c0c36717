#![doc = include_str!("../README.md")]
pub mod cli;
pub mod conformance;
pub mod gnb;
pub mod positioning;
pub mod radio_environment;
pub mod sample;
pub mod scenario;
pub mod ue;
pub mod user_plane;

pub use gnb::{
    Deviations, ElementOrder, Gnb, GnbConfig, GnbError, HandoverOutcome, HandoverPlan,
    HandoverScript, Trp, Ue, UeError, UeEvent, UeStatus, XnHandoverPlan,
};
pub use martlet_sctp::Options as SctpOptions;
pub use positioning::{Positioning, PositioningConfig};
pub use radio_environment::RadioEnvironment;
pub use sample::{Procedure, Sample, Samples};
pub use ue::{
    IdleBehaviour, NasTimers, OperatorKey, PduSession, PduSessionRequest, RegistrationOutcome,
    RegistrationType, ServicePurpose, Slice, SuciScheme, UeConfig,
};
pub use user_plane::Netns;

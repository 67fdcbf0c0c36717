//! The UE: USIM, NAS security and the NAS procedures, without I/O.
//!
//! [`UeNas`] takes NAS messages, timer expiries and wishes, each with the time, and gives
//! [`Action`]s. What carries the messages, and what an interface of the UE does with packets, is
//! elsewhere.
mod action;
mod authentication;
mod back_off;
mod config;
mod configuration_update;
mod deregistration;
mod eap;
mod identity;
mod nas;
mod nas_transport;
mod pdu_session;
mod pdu_session_establishment;
mod pdu_session_modification;
mod pdu_session_release;
mod registration;
mod security;
mod security_mode;
mod service_request;
mod status;
mod suci;
#[cfg(test)]
pub(crate) mod tests;
mod timers;
mod usim;

pub use action::{
    Abort, Action, EstablishmentCause, Event, Initial, PduSession, PositioningKind,
    RegistrationOutcome, SessionCause, mm_cause_name, sm_cause_name,
};
pub use config::{
    IdleBehaviour, NasTimers, OperatorKey, Slice, SuciScheme, UeConfig, UeConfigError,
};
pub use nas::{Given, MmState, NasRefused, UeNas, serving_network_name};
pub use pdu_session::PduSessionRequest;
pub use pdu_session_modification::ModificationRequest;
pub use registration::RegistrationType;
pub use security::{FullContext, Security};
pub use service_request::ServicePurpose;
pub use suci::conceal;
pub use usim::{Challenge, Usim};

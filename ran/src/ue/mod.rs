//! The UE: USIM, NAS security and the NAS procedures, without I/O.
//!
//! [`UeNas`] takes NAS messages, timer expiries and wishes, each with the time, and gives
//! [`Action`]s. What carries the messages, and what an interface of the UE does with packets, is
//! elsewhere.
mod action;
mod config;
mod nas;
mod procedures;
mod security;
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
pub use procedures::connection::service_request::ServicePurpose;
pub use procedures::registration::initial_and_mobility::RegistrationType;
pub use procedures::session::pdu_session::PduSessionRequest;
pub use procedures::session::pdu_session_modification::ModificationRequest;
pub use security::{FullContext, Security};
pub use suci::conceal;
pub use usim::{Challenge, Usim};

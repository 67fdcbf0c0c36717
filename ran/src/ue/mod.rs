//! The UE: USIM, NAS security and the NAS procedures, without I/O.
//!
//! [`UeNas`] takes NAS messages, timer expiries and requests, each with the time, and returns
//! [`Action`]s. The caller transports messages and moves user data.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `nas` | [`UeNas`], the state that the procedures share |
//! | `mm_state`, `sm_state` | 5GMM and 5GSM states (TS 24.501, 5.1.3 and 6.1.3) |
//! | `dispatch` | passes messages and timers to procedures |
//! | `procedures` | one file for each procedure of TS 24.501 |
//! | `security`, `usim`, `suci` | NAS security, authentication, identity concealment |
mod action;
mod back_off;
mod config;
mod dispatch;
mod mm_state;
mod nas;
mod procedures;
mod security;
mod sm_state;
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
pub use martlet_nas::RegistrationType;
pub use mm_state::{CmState, MmState, NetworkSettings};
pub use nas::{NasRefused, UeNas, serving_network_name};
pub use procedures::connection::service_request::ServicePurpose;
pub use security::{FullContext, Security};
pub use sm_state::{ModificationRequest, PduSessionRequest};
pub use suci::conceal;
pub use usim::{Challenge, Usim};

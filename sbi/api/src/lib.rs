//! The 3GPP services that Martlet's network functions offer each other: their data types (Release 18) and the
//! declaration of each operation.
//!
//! One module for each service, named after its OpenAPI file, and [`common`] for the types of TS 29.571. Types hold
//! the members that our network functions use or that others' commonly send; members that are not known are ignored
//! when they come in. Enumerations that 3GPP may extend keep values that are not known in `Other`.
//!
//! A service's module declares its operations through [`martlet_sbi::service!`], which makes the trait that producers
//! implement, the client that consumers call, and the table of operations.
#![forbid(unsafe_code)]

pub mod common;
mod macros;
mod query;

pub use query::{Json, TextList};
pub mod namf_callback;
pub mod namf_communication;
pub mod nausf_ueauthentication;
pub mod nnrf_nfdiscovery;
pub mod nnrf_nfmanagement;
pub mod nnrf_nfstatus_callback;
pub mod nnssf_ns_selection;
pub mod npcf_am_policy_control;
pub mod npcf_sm_policy_control;
pub mod nsmf_callback;
pub mod nsmf_pdusession;
pub mod nudm_sdm;
pub mod nudm_ueau;
pub mod nudm_uecm;
pub mod nudr_callback;
pub mod nudr_dr;

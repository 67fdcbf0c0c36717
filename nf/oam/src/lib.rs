//! Operation and maintenance: the northbound API at `/api/v1` and the console in the browser.
//!
//! The function has no rights of its own. It reads the status of the other functions and sends
//! them requests through [`CoreAccess`], which the program implements for one process and for one
//! process for each function. Subscribers, accounts and the audit log are in the store.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`api`] | the operations, each declared once with its OpenAPI 3.1 description |
//! | [`accounts`] | users, API tokens and sessions |
//! | [`authentication`] | who calls, and what the caller may do |
//! | [`audit`] | the append-only log of changes |
//! | [`backups`] | backups, and the restore that the next start carries out |
//! | [`events`] | the ring of events, read as Server-Sent Events with resume |
//! | [`oidc`] | sign-in with OpenID Connect |
//! | [`caller`] | how a request arrived, and who sent it |
//! | [`poll`] | the task that polls the core |
//! | [`monitor`] | figures of the core, alarms, and events from their differences |
//! | [`core_status`] | the parts of a core's status |
//! | [`traffic`] | rates by UPF, gNB and data network |
//! | [`UeFilter`] | selects the traced packets of a UE |
//! | [`server`] | the unix socket, and TCP with or without TLS |
//!
//! # Errors
//! Each refusal is a problem of RFC 9457 ([`problem::Failure`]) that names the field and the
//! remedy.
#![forbid(unsafe_code)]
// An error is the answer that a caller gets, and is rare.
#![allow(clippy::result_large_err)]

mod access_error;
pub mod accounts;
pub mod api;
pub mod audit;
pub mod authentication;
pub mod backups;
pub mod caller;
mod completion;
mod config;
mod config_error;
mod console;
mod core_access;
pub mod core_status;
mod difference;
mod event_stream;
pub mod events;
mod idempotency;
mod jobs;
mod location_requests;
mod metrics;
pub mod monitor;
pub mod oidc;
mod page;
pub mod poll;
pub mod polled;
pub mod problem;
mod reader;
mod reader_limits;
mod replays;
mod resource_path;
pub mod server;
mod signalling;
mod state;
mod static_addresses;
mod subscriber_groups;
mod throttle;
pub mod traffic;
mod ue_filter;

pub use access_error::AccessError;
pub use config::ApiConfig;
pub use config_error::ConfigError;
pub use core_access::{
    AppliedConfiguration, Configuration, ConfigurationEdit, CoreAccess, CoreFuture,
    ImportedSubscribers,
};
pub use state::{Oam, StartError};
pub use ue_filter::{NoUeAddress, UeFilter};

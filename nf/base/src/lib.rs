//! The base of every network function: common configuration, registration with the NRF, discovery
//! of producers, access tokens, metrics, traces and captures, and the start of functions in a
//! process.
#![forbid(unsafe_code)]

mod authorisation;
mod binding;
pub mod callbacks;
pub mod capture;
pub mod certificates;
mod config;
mod context;
mod discovery;
mod error;
mod failover;
mod function;
mod liveness_probe;
mod metrics;
mod network;
pub mod nf_set;
mod nrfs;
pub mod oam;
mod paths;
mod profiles;
mod registration;
mod shutdown;
pub mod signalling;
mod start;
mod status;
pub mod tokens;
mod tolerance;
pub mod traces;

pub use authorisation::{key_guard, may_read_status};
pub use binding::Binding;
pub use config::CommonConfig;
pub use context::NfContext;
pub use discovery::{Criteria, is_absence};
pub use error::{Cause, StartError};
pub use failover::{failover_request, refuse_while};
pub use function::{ConnectedNodes, NetworkFunction};
pub use martlet_outage::NotReady;
pub use martlet_sbi_http::{PeerCertificate, peer_certificate};
pub use martlet_tasks::{Tasks, spawn, spawn_essential};
pub use network::{Others, another_is_ready, others_by_readiness};
pub use nf_set::SetMember;
pub use shutdown::{Shutdown, ShutdownTrigger};
pub use start::{
    AskSource, Environment, NfHandle, NfIdentity, Ready, Reload, RunningNf, StatusSource, start,
};

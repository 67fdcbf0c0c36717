//! The simulated gNB: NGAP towards the AMF, GTP-U towards the UPF, and the UEs in its cells.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `node` | [`Gnb`]: its association with an AMF, its UEs, its user plane, its counters |
//! | `amf_selection` | which of several AMFs a UE gets |
//! | `connect` | how a gNB connects to AMFs and how UEs are created in it |
//! | `deviations` | what other vendors' gNBs do otherwise, to be played to a core |
//! | `dispatch` | reads NGAP messages and passes each to its procedure or its UE |
//! | `procedures` | one file for each procedure of TS 38.413 and TS 38.455 |
//! | `ue` | the task that owns a UE, and [`Ue`], its handle |
mod amf_selection;
mod config;
mod connect;
mod deviations;
mod dispatch;
mod error;
mod handover_plan;
mod link;
mod node;
mod procedures;
mod sounding_reference_signals;
#[cfg(test)]
pub(crate) mod tests;
mod ue;
mod ue_table;

pub(crate) use config::Identity;
pub use config::{GnbConfig, Trp};
pub use deviations::{Deviations, ElementOrder};
pub use error::{GnbError, UeError};
pub use handover_plan::{HandoverOutcome, HandoverPlan, HandoverScript, XnHandoverPlan};
pub use link::{LinkError, N2Link, N2Message, N2Peer};
pub use node::{AmfInfo, Gnb};
pub(crate) use ue::{Command, Reply};
pub use ue::{Ue, UeEvent, UeStatus};

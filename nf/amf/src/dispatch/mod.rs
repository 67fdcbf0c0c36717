//! Dispatch: NGAP messages to procedures and UE tasks, and the events of a UE's task to procedures.
//!
//! This module is on top. Procedures wait with the methods of [`Ue`](crate::ue::Ue) and do not
//! name it.
mod association;
mod ngap;
mod ue_task;
mod unsolicited;

pub(crate) use association::accept;
#[cfg(test)]
pub(crate) use association::serve;

//! LCS-UP connections (TS 24.572), UE side and LMF side, as state machines without I/O: inputs and
//! the clock go in, actions come out.
//!
//! [`UeSide`] is the UE's end: it receives an establishment command over NAS, connects, binds its
//! connection, and exchanges payloads. [`LmfSide`] is the LMF's end for all UEs: it sends each UE a
//! binding identity over NAS, identifies the UE's channel by it, and maintains one connection per
//! UE.
//!
//! Both are independent of the transport. Received bytes go in as they arrive, in pieces of any
//! size; whole messages come out.
//!
//! Order of use: pass each input (`upp_cm`, `connected`, `received`, `handle_timeout` …), then
//! execute `next_action` until it returns None, and call `handle_timeout` at `deadline`.
#![forbid(unsafe_code)]

mod actions;
mod lmf;
mod timers;
mod ue;

pub use actions::{
    ChannelId, DisconnectReason, LmfAction, LmfEvent, Payload, Rejection, UeAction, UeEvent,
};
pub use lmf::{LmfError, LmfLimits, LmfSide};
pub use timers::{Procedure, RETRANSMISSIONS, Timers};
pub use ue::{UeSide, UeState};

//! Positioning over the user plane (TS 24.572), UE side and LMF side, as state machines without
//! I/O: what came in and the clock go in, actions come out.
//!
//! [`UeSide`] is a UE's end: it is told over NAS to connect, connects, binds its connection, and
//! carries payloads. [`LmfSide`] is the end of all UEs of an LMF: it gives each a binding identity
//! over NAS, knows by it whose channel one is, and keeps one connection for each UE.
//!
//! Neither knows what a channel is made of. Octets go in as they come, in whatever pieces; what is
//! to be sent comes out as whole messages.
#![forbid(unsafe_code)]

mod actions;
mod lmf;
mod timers;
mod ue;

pub use actions::{ChannelId, LmfAction, LmfEvent, Loss, Payload, UeAction, UeEvent, Wrong};
pub use lmf::{LmfLimits, LmfSide, NotConnected};
pub use timers::{Procedure, RETRANSMISSIONS, Timers};
pub use ue::{UeSide, UeState};

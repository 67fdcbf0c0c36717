//! The UE context: its state, and the operations that procedures use.
//!
//! A UE names no procedure. What an event needs of one goes through [`ProcedureLayer`], which
//! `dispatch` implements.
mod by_session;
pub(crate) mod changes;
mod context;
mod event;
pub(crate) mod lease;
mod lifecycle;
mod nas;
pub(crate) mod positioning;
mod procedure_layer;
mod replacement;
mod security;
mod session;
pub(crate) mod signalling;
mod slot;
mod sm_contexts;
mod state;
mod stop;
pub(crate) mod tables;
pub(crate) mod unverified;
mod wait;

pub(crate) use context::{
    AmPolicy, Due, Idle, InitialMessages, Reallocation, Reported, Subscription, Ue,
};
pub(crate) use event::{
    Event, HandoverAnswer, InitialMessage, OperatorRequest, ReallocationAnswer, Transfer,
    TransferAnswer, UeHandle, Work,
};
pub(crate) use nas::{NasTimer, Protection, count};
pub(crate) use procedure_layer::{Interleaved, ProcedureLayer};
pub(crate) use security::Security;
pub(crate) use session::{Session, SessionState, SmContext};
pub(crate) use state::{CmState, ContextTransfer, HandoverPhase};
pub(crate) use stop::{Reject, Stop};
pub(crate) use wait::{Awaited, HandoverInput};

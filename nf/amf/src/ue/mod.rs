//! A UE's context and the task that it belongs to.
mod admission;
mod by_session;
mod context;
mod event;
mod inbox;
mod nas;
mod next_hop;
mod security;
mod sessions;
mod stop;
mod task;

pub(crate) use context::{AmPolicy, Due, Idle, Subscription, Ue};
pub(crate) use event::{Event, InitialMessage, Transfer, TransferAnswer, UeHandle, Work};
pub(crate) use inbox::Heard;
pub(crate) use nas::{NasTimer, Protection, count};
pub(crate) use next_hop::NextHop;
pub(crate) use security::Security;
pub(crate) use sessions::{Session, SmContext};
pub(crate) use stop::{Reject, Stop};

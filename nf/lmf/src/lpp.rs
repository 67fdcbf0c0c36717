//! LPP procedures (TS 37.355, 5).
mod ecid;
mod transaction;

pub(crate) use ecid::nr_ecid;
pub(crate) use transaction::Conversation;

//! Subscribers, and the contexts that network functions keep of them, in an SQLite file.
//!
//! One process holds a [`Store`]; others (such as `martlet subscriber`) may open the same file at the same time, and
//! what they change is seen by the next read.
#![forbid(unsafe_code)]

mod contexts;
mod error;
mod schema;
mod secret;
mod sqlite;
mod subscriber;
mod subscribers;

pub use error::StoreError;
pub use secret::Secret;
pub use sqlite::Store;
pub use subscriber::{DEFAULT_AMBR, InvalidSubscriber, SessionType, SubscribedDnn, SubscribedSlice, Subscriber};

//! Subscribers, and the contexts that network functions keep, in an SQLite file or a PostgreSQL
//! database.
//!
//! [`Store`] has the subscribers, their keys sealed with the operator's key. Several processes may
//! have it open (a running core, `martlet subscriber`), and what one changes is seen by the next
//! read of the others. [`Journal`] keeps the contexts of one network function, so that it can be
//! killed and started again. [`Inheritance`] is for another member of its set, which goes on with
//! what it left; a member that was only thought to be gone learns so before it does anything.
//!
//! | what is lost | in a file | with PostgreSQL |
//! | --- | --- | --- |
//! | when the program is killed | of [`Store`] nothing, unless it [gathers writes](Store::gather_writes); of [`Journal`] its interval | nothing; its interval |
//! | when power fails | the last moments before a checkpoint of the write-ahead log | what the server's `synchronous_commit` says |
//!
//! The operator's key is 64 hexadecimal digits in `MARTLET_STORE_KEY`, else in a file: one that is
//! named, or the one beside the database, which is made when it is missing. Keep it elsewhere than
//! the database's copies.
#![forbid(unsafe_code)]

mod backend;
mod config;
mod database;
mod error;
mod fence;
mod gathering;
mod identity;
mod inheritance;
mod journal;
mod place;
mod postgres;
mod schema;
mod seal;
mod secret;
mod sqlite;
mod store;
mod subscriber;
#[doc(hidden)]
pub mod testing;

pub use backend::Change;
pub use config::StateConfig;
pub use error::StoreError;
pub use identity::stable_uuid;
pub use inheritance::Inheritance;
pub use journal::{Journal, Kept, Timing};
pub use place::Place;
pub use seal::{KEY_VARIABLE, Seal};
pub use secret::Secret;
pub use store::Store;
pub use subscriber::{
    AuthenticationMethod, DEFAULT_AMBR, InvalidSubscriber, ServiceArea, SessionType, SubscribedDnn,
    SubscribedSlice, Subscriber, Tuak, UpProtection, UpSecurityPolicy,
};

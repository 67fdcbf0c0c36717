//! The subscriber database: identities, keys, subscriptions, and the contexts that the UDM and the
//! UDR store for each subscriber. In an SQLite file or a PostgreSQL database.
//!
//! Several processes may open one database: a running core, `martlet subscriber`. A change by one
//! is visible to the next read of the others.
//!
//! | failure | lost from an SQLite file | lost from PostgreSQL |
//! | --- | --- | --- |
//! | process killed | with [group commit](Store::group_commits) its interval | contexts of the flush interval of [`SubscriberData`] |
//! | power failure | writes since the last checkpoint | what `synchronous_commit` allows |
//!
//! Subscriber keys are encrypted with the operator's key ([`Seal`]): 64 hexadecimal digits in the
//! environment variable `MARTLET_STORE_KEY`, else in a file. A missing key file is created beside
//! the database. Back the key up separately from the database.
//!
//! ```
//! use martlet_store::{Secret, Store, Subscriber};
//!
//! let store = Store::in_memory().unwrap();
//! let key = Secret([0x46; 16]);
//! let opc = Secret([0xcd; 16]);
//! store.add(&[Subscriber::new("imsi-001010000000001", key, opc, "internet")], false).unwrap();
//! assert_eq!(store.count().unwrap(), 1);
//! ```
//!
//! # Errors
//!
//! [`StoreError`]: what failed, why, and what to do.
#![forbid(unsafe_code)]

pub mod connection;
mod database;
mod database_url;
mod error;
mod group_commit;
pub mod inspection;
mod postgres;
mod postgres_client;
mod postgres_connection;
mod postgres_pool;
mod postgres_tls;
mod remedy;
mod remote_subscribers;
mod schema;
mod seal;
mod secret;
mod sqlite;
mod sqn_block;
mod sqn_lease_ahead;
mod statements;
mod static_addresses;
mod store;
mod subscriber;
mod subscriber_cache;
mod subscriber_data;
#[doc(hidden)]
pub mod testing;
mod write_behind;

pub use database::Change;
pub use database_url::DatabaseUrl;
pub use error::StoreError;
pub use postgres_tls::{TlsClient, tls_clients};
pub use schema::SCHEMA_VERSION;
pub use seal::{KEY_VARIABLE, Seal};
pub use secret::{InvalidSecret, Secret};
pub use static_addresses::{AddressError, AddressPool, StaticAddresses, has_new_static_address};
pub use store::Store;
pub use subscriber::{
    AuthenticationMethod, DEFAULT_AMBR, InvalidSubscriber, MAX_SUPI, ServiceArea, SessionType,
    SubscribedDnn, SubscribedSlice, Subscriber, Tuak, UpProtection, UpSecurityPolicy, is_supi,
};
pub use subscriber_data::SubscriberData;
pub use write_behind::Urgency;

//! The contexts of a network function (NF), stored so that they outlive its process.
//!
//! An NF hands each changed context to its [`ContextStore`]. A thread writes the changes a moment
//! later, many in one transaction. After a restart [`ContextStore::open`] returns the stored
//! contexts, and [`restore`] gives them back to the NF.
//!
//! The members of an NF set (TS 23.501, 5.21) share one database. Each member holds a lease on its
//! contexts, which every write renews. When the lease expires, another member takes single contexts
//! over with [`PeerContexts::take_over`]. A member that was only stopped or cut off learns of each
//! takeover before it acts on that context again: [`ContextStore::is_owner`].
//!
//! | module | idea |
//! | --- | --- |
//! | `write_behind` | the NF's handle: stores, removes and checks contexts without a wait |
//! | `group_commit` | the thread that writes pending changes, many in one transaction |
//! | `lease` | whether this process still owns its contexts |
//! | `takeover` | contexts of another member of the set |
//! | `observed_leases` | whether another member's lease is over, without any wall clock |
//! | `persisted` | what an NF implements for the stored form of its contexts |
//! | `restoration` | gives stored contexts back to the NF after a restart |
//! | `database` | the SQL tables of contexts and members, in SQLite and PostgreSQL |
//!
//! ```
//! use martlet_context_store::{ContextStore, ContextStoreConfig};
//!
//! let folder = std::env::temp_dir().join(format!("martlet-example-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! let database = folder.join("martlet.amf.db").display().to_string();
//! let config = ContextStoreConfig { database, ..ContextStoreConfig::default() };
//! let (store, stored) = ContextStore::open(&config, "amf").unwrap();
//! assert!(stored.is_empty());
//! store.put("1", b"a UE context".to_vec());
//! drop(store); // Writes what is pending.
//! let (_store, stored) = ContextStore::open(&config, "amf").unwrap();
//! assert_eq!(stored, [("1".to_string(), b"a UE context".to_vec())]);
//! # drop(_store);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! ```
//!
//! # Durability
//!
//! A process that is killed loses the changes of the last flush interval
//! ([`ContextStoreConfig::flush_interval_ms`]). A process that ends in order loses nothing. After a
//! power failure SQLite may lack the transactions since the last checkpoint of its write-ahead log;
//! for PostgreSQL the server's `synchronous_commit` decides.
//!
//! # Errors
//!
//! [`StoreError`] when the database cannot be opened or read, or when its values were encrypted
//! with another operator's key. A write that fails later is retried, logged and counted
//! ([`ContextStore::status`]).
#![forbid(unsafe_code)]

mod config;
mod database;
mod group_commit;
mod instance_id;
mod lease;
mod observed_leases;
mod persisted;
mod queue;
mod restoration;
mod takeover;
mod write_behind;

pub use config::ContextStoreConfig;
pub use database::SetMember;
pub use instance_id::stable_instance_id;
pub use martlet_store::StoreError;
pub use persisted::PersistedContext;
pub use restoration::restore;
pub use takeover::{PeerContexts, SetContexts};
pub use write_behind::{ContextStore, StoredContexts, Superseded};

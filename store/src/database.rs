//! The operations that the store needs of a database. Values are as the store made them, with
//! secrets encrypted.
use crate::StoreError;
use crate::group_commit::GroupCommit;

/// A subscriber's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub supi: String,
    pub gpsi: Option<String>,
    pub sqn: u64,
    /// All other data, as JSON.
    pub profile: String,
}

/// A change of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the change; later changes have higher numbers.
    pub number: i64,
    /// SUPI of the subscriber that was added, changed or removed.
    pub supi: String,
}

/// Contexts of this kind outlive their subscriber, so that the subscribers to its data can be
/// notified of the removal.
pub(crate) const SDM_SUBSCRIPTION: &str = "sdm-subscription";

/// Changes that stay in the database for later readers.
pub(crate) const MAX_CHANGES: i64 = 100_000;

/// A database of subscribers and contexts.
pub(crate) trait Database: Send + Sync {
    /// Adds rows, all or none; with `replace`, in place of existing ones.
    fn add(&self, rows: Vec<Row>, replace: bool) -> Result<(), StoreError>;
    /// Replaces a row's profile if it still is `from`.
    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError>;
    /// Removes a subscriber and its contexts. Returns whether it existed.
    fn remove(&self, supi: &str) -> Result<bool, StoreError>;
    /// Returns a row.
    fn row(&self, supi: &str) -> Result<Option<Row>, StoreError>;
    /// Returns the SUPI of a GPSI.
    fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError>;
    /// Returns rows in the order of their SUPI, beginning after `after`.
    fn list(&self, after: &str, limit: usize) -> Result<Vec<Row>, StoreError>;
    /// Counts the rows.
    fn count(&self) -> Result<u64, StoreError>;
    /// Advances the sequence number from `from` to `to`. Returns `false` if it was not `from`.
    fn advance_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError>;
    /// Writes a context. Returns whether it is new.
    fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError>;
    /// Returns a context.
    fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError>;
    /// Returns all contexts of a kind with their keys.
    fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError>;
    /// Removes a context. Returns whether it existed.
    fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError>;
    /// Returns changes of subscribers after this one.
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError>;
    /// Returns the number of the last change.
    fn last_change(&self) -> Result<i64, StoreError>;
    /// Returns a number that changes when another connection has written; `None` if the database
    /// has none.
    fn version(&self) -> Result<Option<i64>, StoreError>;
    /// The group commit of a database that supports it.
    fn group_commit(&self) -> Option<&GroupCommit> {
        None
    }
    /// Turns group commit on or off.
    fn set_group_commit(&self, _on: bool) -> Result<(), StoreError> {
        Ok(())
    }
    /// Commits the open group of writes.
    fn commit(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

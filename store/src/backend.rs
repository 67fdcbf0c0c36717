//! What the store asks of a database: rows in, rows out. Values are what the store made of them,
//! sealed where they must be.
use crate::StoreError;
use crate::gathering::Gathering;

/// A subscriber's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub supi: String,
    pub gpsi: Option<String>,
    pub sqn: u64,
    /// The rest as JSON.
    pub profile: String,
}

/// A change of a subscriber, in the order of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the change.
    pub number: i64,
    /// Who was added, changed or removed.
    pub supi: String,
}

/// The kind of contexts that outlive their subscriber, until those who asked are told that it is
/// gone.
pub(crate) const TOLD_OF_CHANGES: &str = "sdm-subscription";

/// Changes that are kept for those who look for them.
pub(crate) const CHANGES_KEPT: i64 = 100_000;

/// A database with subscribers and contexts.
pub(crate) trait Backend: Send + Sync {
    /// Adds rows, all or none; with `replace`, in place of those that are there.
    fn add(&self, rows: Vec<Row>, replace: bool) -> Result<(), StoreError>;
    /// Replaces a row's profile alone, where it is still this one.
    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError>;
    /// Removes a subscriber with its contexts: whether it was there.
    fn remove(&self, supi: &str) -> Result<bool, StoreError>;
    /// A row.
    fn row(&self, supi: &str) -> Result<Option<Row>, StoreError>;
    /// The SUPI of a GPSI.
    fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError>;
    /// Rows in the order of their SUPI, from the one after `after` on.
    fn list(&self, after: &str, limit: usize) -> Result<Vec<Row>, StoreError>;
    /// How many rows there are.
    fn count(&self) -> Result<u64, StoreError>;
    /// Moves the sequence number on: false where it was not at `from` any more.
    fn move_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError>;
    /// Puts a context in its place: true where there was none before.
    fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError>;
    /// A context.
    fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError>;
    /// All contexts of a kind with their keys.
    fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError>;
    /// Takes a context away: whether it was there.
    fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError>;
    /// Changes of subscribers after this one.
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError>;
    /// The last change.
    fn last_change(&self) -> Result<i64, StoreError>;
    /// Moves on when another connection has written; `None` where that is not known.
    fn version(&self) -> Result<Option<i64>, StoreError>;
    /// What tells that writes are gathered, where they can be.
    fn gathering(&self) -> Option<&Gathering> {
        None
    }
    /// Has writes gathered from now on, or each written by itself again.
    fn gather(&self, _on: bool) -> Result<(), StoreError> {
        Ok(())
    }
    /// Writes what was gathered.
    fn commit(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

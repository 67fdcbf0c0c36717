//! The operations that the store needs of a database. Values are as the store made them, with
//! secrets encrypted.
use crate::{InvalidSubscriber, StoreError};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

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

/// Batches of rows.
pub(crate) type Batches<'a> = dyn Iterator<Item = Result<Vec<Row>, StoreError>> + 'a;

/// The rows of a batch, or its error.
pub(crate) fn rows_of(batch: Result<Vec<Row>, StoreError>) -> Vec<Result<Row, StoreError>> {
    match batch {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    }
}

/// Subscribers that rows of an import have removed, since they had the same GPSI, each with the
/// SUPI of such a row. The import has to add them again, with another GPSI.
#[derive(Debug, Default)]
pub(crate) struct Displaced(BTreeMap<String, String>);

impl Displaced {
    /// A row has removed a subscriber.
    pub fn add(&mut self, supi: String, by: &str) {
        self.0.insert(supi, by.into());
    }

    /// A subscriber was added.
    pub fn added(&mut self, supi: &str) {
        self.0.remove(supi);
    }

    /// At the end of the import.
    ///
    /// # Errors
    /// A subscriber would be removed.
    pub fn check(&self) -> Result<(), StoreError> {
        let Some((supi, by)) = self.0.first_key_value() else { return Ok(()) };
        let message = format!(
            "{by} has the MSISDN of {supi}, which would be removed: write another one, or change \
             {supi} first"
        );
        Err(InvalidSubscriber { field: "msisdn", message }.into())
    }
}

/// A database of subscribers and contexts.
pub(crate) trait Database: Send + Sync {
    /// Adds rows in batches, all or none; with `replace`, in place of existing ones with their
    /// SUPIs. No other subscriber is removed. An error of the iterator ends the call and adds
    /// nothing.
    fn add(&self, batches: &mut Batches<'_>, replace: bool) -> Result<(), StoreError>;
    /// Replaces a row's GPSI and profile, and records the change. The sequence number stays.
    fn change(
        &self,
        supi: &str,
        gpsi: Option<&str>,
        from: &str,
        to: &str,
    ) -> Result<(), StoreError>;
    /// Replaces a row's profile if it still is `from`.
    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError>;
    /// Removes a subscriber and its contexts. Returns whether it existed. With a `profile`, nothing
    /// is removed unless the row still has it.
    fn remove(&self, supi: &str, profile: Option<&str>) -> Result<bool, StoreError>;
    /// Returns a row.
    fn row(&self, supi: &str) -> Result<Option<Row>, StoreError>;
    /// Returns the SUPI of a GPSI.
    fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError>;
    /// Returns rows in the order of their SUPI, beginning after `after`.
    fn list(&self, after: &str, limit: usize) -> Result<Vec<Row>, StoreError>;
    /// Returns rows in the descending order of their SUPI, beginning before `before`.
    fn list_descending(&self, before: &str, limit: usize) -> Result<Vec<Row>, StoreError>;
    /// Counts the rows.
    fn count(&self) -> Result<u64, StoreError>;
    /// Advances the sequence number from `from` to `to`. Returns `false` if it was not `from`, and
    /// the group of writes if the change is part of an open one.
    fn advance_sqn(
        &self,
        supi: &str,
        from: u64,
        to: u64,
    ) -> Result<(bool, Option<Group>), StoreError>;
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
    /// Whether a call waits for a server.
    fn is_remote(&self) -> bool {
        false
    }
    /// The signal of opened groups of a database that supports group commit.
    fn group_signal(&self) -> Option<&GroupSignal> {
        None
    }
    /// Turns group commit on or off.
    fn set_group_commit(&self, _on: bool) -> Result<(), StoreError> {
        Ok(())
    }
    /// Commits the open group of writes. With `pause`, other processes can write afterwards before
    /// the next group begins.
    fn commit(&self, _pause: bool) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Signals that a group of writes was opened and has to be committed.
#[derive(Debug, Default)]
pub(crate) struct GroupSignal(Notify);

impl GroupSignal {
    /// A group was opened.
    pub fn open(&self) {
        self.0.notify_one();
    }

    /// Waits until a group is opened.
    pub async fn opened(&self) {
        self.0.notified().await;
    }
}

/// A group of writes that shares a transaction: once it has ended, whether it was committed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group(Arc<OnceLock<Result<(), Arc<StoreError>>>>);

impl Group {
    /// The group has ended.
    pub fn end(&self, outcome: Result<(), Arc<StoreError>>) {
        // A group ends once: it is taken from its database then.
        let _ = self.0.set(outcome);
    }

    /// Whether the group was committed. `None` while it is open.
    pub fn outcome(&self) -> Option<Result<(), StoreError>> {
        self.0.get().cloned().map(|outcome| outcome.map_err(StoreError::Group))
    }
}

//! Contexts of a function that is gone, for another one of its set to go on with.
use crate::database::{Database, Taking};
use crate::seal::Seal;
use crate::{Kept, Place, StoreError};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// What a lease is waited for beyond its end.
const MARGIN: Duration = Duration::from_millis(5);

/// What an owner has left in a place that several functions share. Each call waits for the
/// database: it is for threads that may.
pub struct Inheritance {
    database: Mutex<Database>,
    seal: Seal,
    owner: String,
}

impl Inheritance {
    /// Opens the place where `owner` kept its contexts.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn open(
        place: &Place,
        key_file: Option<&Path>,
        owner: &str,
    ) -> Result<Inheritance, StoreError> {
        let seal = Seal::at(place, key_file)?;
        Ok(Inheritance {
            database: Mutex::new(Database::open(place)?),
            seal,
            owner: owner.to_string(),
        })
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// All that is there.
    ///
    /// # Errors
    /// The database fails, or holds contexts that were sealed with another key.
    pub fn contexts(&self) -> Result<Kept, StoreError> {
        let sealed = self.database().load(&self.owner)?;
        let open = |(id, value): (String, Vec<u8>)| {
            let value = self.seal.open(&format!("{}/{id}", self.owner), &value)?;
            Ok((id, value))
        };
        sealed.into_iter().map(open).collect()
    }

    /// Everybody who has left something there and whose name begins so.
    ///
    /// # Errors
    /// The database fails.
    pub fn owners(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.database().owners(prefix)
    }

    /// One context.
    ///
    /// # Errors
    /// The database fails, or holds contexts that were sealed with another key.
    pub fn context(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sealed = self.database().get(&self.owner, id)?;
        sealed.map(|value| self.seal.open(&format!("{}/{id}", self.owner), &value)).transpose()
    }

    /// Takes a context away from who has it, and is the one that has it now: of all that try, one.
    /// Waits until the owner's lease is over; none for a context that is gone, or whose owner
    /// turns out to be at work.
    ///
    /// # Errors
    /// The database fails, or holds contexts that were sealed with another key.
    pub fn claim(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let open =
            |value: Vec<u8>| self.seal.open(&format!("{}/{id}", self.owner), &value).map(Some);
        let first = self.database().take(&self.owner, id)?;
        let patience = match first {
            Taking::Taken(value) => return open(value),
            Taking::Gone => return Ok(None),
            Taking::Leased(left) => left,
        };
        std::thread::sleep(patience + MARGIN);
        match self.database().take(&self.owner, id)? {
            Taking::Taken(value) => open(value),
            // It was renewed.
            Taking::Gone | Taking::Leased(_) => Ok(None),
        }
    }
}

//! Contexts of a function that is gone, for another one of its set to go on with.
use crate::journal::Database;
use crate::seal::Seal;
use crate::{Kept, Place, StoreError};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// What an owner has left in a place that several functions share. Each call waits for the database: it is for threads that
/// may.
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
    pub fn open(place: &Place, key_file: Option<&Path>, owner: &str) -> Result<Inheritance, StoreError> {
        let seal = Seal::at(place, key_file)?;
        Ok(Inheritance { database: Mutex::new(Database::open(place)?), seal, owner: owner.to_string() })
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

    /// Takes a context away: true for the one who does, of all that try.
    ///
    /// # Errors
    /// The database fails.
    pub fn claim(&self, id: &str) -> Result<bool, StoreError> {
        self.database().take(&self.owner, id)
    }
}

//! Where a network function keeps its contexts, in its section of the configuration.
use crate::{Journal, Kept, Place, StoreError, Timing};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Where a network function keeps its contexts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StateConfig {
    /// Whether contexts outlive the process.
    pub keep: bool,
    /// An SQLite file, or a `postgresql://` address; empty for a place beside the subscriber
    /// database.
    pub place: String,
    /// File of the operator's key with which contexts are sealed; empty for the one that belongs
    /// to the place.
    pub key_file: String,
    /// Milliseconds after which a change is written: what is lost when the process is killed.
    pub interval_ms: u32,
    /// Milliseconds for which nobody else of the set takes a context, counted from the last time
    /// that this process was seen by the database: 100 to 60,000. A function that was not seen
    /// for so long asks before it does anything.
    pub lease_ms: u32,
}

impl Default for StateConfig {
    fn default() -> Self {
        StateConfig {
            keep: true,
            place: String::new(),
            key_file: String::new(),
            interval_ms: 20,
            lease_ms: 1000,
        }
    }
}

impl StateConfig {
    /// Names the place beside that of the subscribers, where none is named.
    pub fn beside(&mut self, subscribers: &str, key_file: &str, function: &str) {
        if self.place.is_empty() {
            let place = Place::parse(subscribers);
            self.place = match place.beside(function) {
                Some(Place::File(file)) => file.display().to_string(),
                Some(Place::Postgres(address)) => address,
                _ => String::new(),
            };
            if self.key_file.is_empty() {
                // One key for all that belongs together.
                let own =
                    || place.key_file().map_or(String::new(), |file| file.display().to_string());
                self.key_file = if key_file.is_empty() { own() } else { key_file.to_string() };
            }
        }
    }

    /// Opens the place, and gives what `owner` has kept there; `None` where nothing is kept.
    ///
    /// # Errors
    /// The place cannot be opened.
    pub fn open(&self, owner: &str) -> Result<Option<(Journal, Kept)>, StoreError> {
        if !self.keep || self.place.is_empty() {
            return Ok(None);
        }
        let key_file = Some(Path::new(&self.key_file)).filter(|file| !file.as_os_str().is_empty());
        let ms = |ms: u32| Duration::from_millis(ms.into());
        let timing =
            Timing { interval: ms(self.interval_ms), lease: ms(self.lease_ms.clamp(100, 60_000)) };
        Journal::open(&Place::parse(&self.place), key_file, owner, timing).map(Some)
    }
}

//! The section `context_store` of a network function's configuration.
use martlet_store::DatabaseUrl;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Shortest and longest lease, in milliseconds.
const LEASE_MS: (u32, u32) = (100, 60_000);

/// Where and how a network function stores its contexts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextStoreConfig {
    /// Whether contexts outlive the process.
    pub enabled: bool,
    /// SQLite file or `postgresql://` URL; empty for one derived from the subscriber database.
    pub database: String,
    /// File with the operator's key, which encrypts the stored contexts; empty for the default of
    /// the database.
    pub key_file: String,
    /// Milliseconds between a change and its write. A killed process loses this much.
    pub flush_interval_ms: u32,
    /// Milliseconds after its last write for which no other member of the set takes over this
    /// process's contexts, from 100 to 60,000.
    pub lease_ms: u32,
}

impl Default for ContextStoreConfig {
    fn default() -> Self {
        ContextStoreConfig {
            enabled: true,
            database: String::new(),
            key_file: String::new(),
            flush_interval_ms: 20,
            lease_ms: 1000,
        }
    }
}

impl ContextStoreConfig {
    /// Sets an empty `database` to the default: `martlet.amf.db` beside `martlet.db`, or the same
    /// PostgreSQL database. An empty `key_file` becomes the subscriber database's.
    pub fn derive_database(&mut self, subscribers: &str, key_file: &str, function: &str) {
        if !self.database.is_empty() {
            return;
        }
        let subscribers = DatabaseUrl::parse(subscribers);
        self.database = match subscribers.for_function(function) {
            Some(DatabaseUrl::File(file)) => file.display().to_string(),
            Some(DatabaseUrl::Postgres(url)) => url,
            _ => String::new(),
        };
        if self.key_file.is_empty() {
            let default = || subscribers.key_file().map(|file| file.display().to_string());
            self.key_file = match key_file {
                "" => default().unwrap_or_default(),
                key_file => key_file.to_string(),
            };
        }
    }

    /// Whether contexts are stored at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled && !self.database.is_empty()
    }

    pub(crate) fn url(&self) -> DatabaseUrl {
        DatabaseUrl::parse(&self.database)
    }

    pub(crate) fn key_path(&self) -> Option<&Path> {
        Some(Path::new(&self.key_file)).filter(|file| !file.as_os_str().is_empty())
    }

    pub(crate) fn flush_interval(&self) -> Duration {
        Duration::from_millis(self.flush_interval_ms.into())
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms.clamp(LEASE_MS.0, LEASE_MS.1).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_database_is_derived_from_the_subscriber_database() {
        let derived = |subscribers: &str, key_file: &str| {
            let mut config = ContextStoreConfig::default();
            config.derive_database(subscribers, key_file, "amf");
            (config.database, config.key_file)
        };
        assert_eq!(
            derived("a/martlet.db", ""),
            ("a/martlet.amf.db".into(), "a/martlet.db.key".into())
        );
        assert_eq!(derived("martlet.db", "k"), ("martlet.amf.db".into(), "k".into()));
        assert_eq!(derived(":memory:", ""), (String::new(), String::new()));
    }
}

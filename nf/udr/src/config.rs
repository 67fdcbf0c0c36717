//! The UDR's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// The UDR's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UdrConfig {
    /// The subscriber database: an SQLite file, a `postgresql://` URL, or `:memory:` for a
    /// volatile one.
    pub path: String,
    /// File of the operator key that encrypts subscribers' keys, unless `MARTLET_STORE_KEY` is
    /// set. Empty: a file beside the database, created if missing.
    pub key_file: String,
    /// Maximum number of SDM subscriptions per subscriber.
    pub max_subscriptions: usize,
    /// Milliseconds for which writes share a transaction, at most 1000. A killed process loses
    /// this much, except sequence numbers. With 0 each write to an SQLite file is a transaction
    /// that precedes the response.
    pub flush_interval_ms: u32,
    /// Connections to a PostgreSQL server that requests share, from 1 to 64. The UDR has two more.
    pub connections: usize,
}

impl Default for UdrConfig {
    fn default() -> Self {
        UdrConfig {
            path: "martlet.db".into(),
            key_file: String::new(),
            max_subscriptions: 16,
            flush_interval_ms: 5,
            connections: 4,
        }
    }
}

impl UdrConfig {
    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.path.is_empty() {
            findings.push(Finding::new(
                "path",
                "the path of the subscriber database is empty: write one, such as martlet.db",
            ));
        }
        if self.max_subscriptions == 0 {
            findings.push(Finding::new(
                "max_subscriptions",
                "with 0 no AMF can register a UE: write 16",
            ));
        }
        if !(1..=64).contains(&self.connections) {
            findings.push(Finding::new(
                "connections",
                "a UDR has 1 to 64 connections to a PostgreSQL server: write 4",
            ));
        }
        if self.flush_interval_ms > 1000 {
            findings.push(Finding::new(
                "flush_interval_ms",
                "other processes that write to the file wait this long: write 1000 at most",
            ));
        }
        findings
    }
}

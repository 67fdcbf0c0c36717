//! The UDR's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Where the UDR keeps its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UdrConfig {
    /// The subscriber database: an SQLite file, a `postgresql://` address, or `:memory:` for one
    /// that ends with the process.
    pub path: String,
    /// File of the operator's key with which keys of subscribers are sealed, where
    /// `MARTLET_STORE_KEY` has none; empty for the one beside the database, which is made when
    /// it is missing.
    pub key_file: String,
    /// Subscriptions to a subscriber's data at a time.
    pub max_subscriptions: usize,
    /// Milliseconds for which writes to an SQLite file share a transaction, at most 1000. A killed
    /// process loses this much. With 0 each write is a transaction that precedes the response.
    pub flush_interval_ms: u32,
}

impl Default for UdrConfig {
    fn default() -> Self {
        UdrConfig {
            path: "martlet.db".into(),
            key_file: String::new(),
            max_subscriptions: 16,
            flush_interval_ms: 5,
        }
    }
}

impl UdrConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.path.is_empty() {
            findings.push(Finding::new(
                "path",
                "write the file of the subscriber database, such as martlet.db",
            ));
        }
        if self.max_subscriptions == 0 {
            findings
                .push(Finding::new("max_subscriptions", "0 lets no AMF register a UE: write 16"));
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

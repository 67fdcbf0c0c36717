//! The CHF's section of the configuration.
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use serde::{Deserialize, Serialize};

/// What the CHF needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChfConfig {
    /// Whether it is started. SMFs ask one with `smf.charging.mode`.
    pub enabled: bool,
    /// Octets that a session is granted at a time.
    pub grant: u64,
    /// Per cent of what is granted that are left when the SMF asks for more.
    pub threshold_percent: u8,
    /// Seconds after which the SMF asks anew, whatever was used; 0 for never.
    pub validity_s: u32,
    /// Octets that a subscriber has whose account says nothing; left out, as many as it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<u64>,
    /// Sessions that are charged at a time.
    pub max_sessions: usize,
    /// Records of sessions that have ended, the latest.
    pub max_records: usize,
    /// Where accounts and records are stored.
    pub context_store: ContextStoreConfig,
}

impl Default for ChfConfig {
    fn default() -> Self {
        ChfConfig {
            enabled: false,
            grant: 10_000_000,
            threshold_percent: 20,
            validity_s: 0,
            quota: None,
            max_sessions: 60_000,
            max_records: 100_000,
            context_store: ContextStoreConfig::default(),
        }
    }
}

impl ChfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: &str| findings.push(Finding::new(path, message));
        if self.grant == 0 {
            wrong("grant", "0 lets nobody use anything: write 10000000");
        }
        if self.threshold_percent > 90 {
            wrong("threshold_percent", "more than 90 has the SMF ask all the time: write 20");
        }
        if self.max_sessions == 0 {
            wrong("max_sessions", "0 lets no session be charged: write 60000");
        }
        if self.max_records == 0 {
            wrong("max_records", "0 keeps no record: write 100000");
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_right_and_mistakes_are_told_by_place() {
        assert_eq!(ChfConfig::default().check(), []);
        let config =
            ChfConfig { grant: 0, threshold_percent: 99, max_records: 0, ..ChfConfig::default() };
        let paths: Vec<_> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["grant", "threshold_percent", "max_records"]);
    }
}

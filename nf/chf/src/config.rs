//! The CHF's section of the configuration.
use crate::set::SetConfig;
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use serde::{Deserialize, Serialize};

/// The CHF's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChfConfig {
    /// Start the CHF. SMFs use it according to `smf.charging.mode`.
    pub enabled: bool,
    /// Bytes per grant.
    pub grant: u64,
    /// Remaining per cent of a grant at which the SMF requests the next one.
    pub threshold_percent: u8,
    /// Validity of a grant, seconds. 0: unlimited.
    pub validity_s: u32,
    /// Initial bytes of a subscriber without an account. Left out: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<u64>,
    /// Maximum number of active sessions.
    pub max_sessions: usize,
    /// Maximum number of records of ended sessions.
    pub max_records: usize,
    /// Membership in a CHF set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<SetConfig>,
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
            max_sessions: 400_000,
            max_records: 100_000,
            set: None,
            context_store: ContextStoreConfig::default(),
        }
    }
}

impl ChfConfig {
    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: &str| findings.push(Finding::new(path, message));
        if self.grant == 0 {
            wrong("grant", "with 0 no session gets a grant: write 10000000");
        }
        if self.threshold_percent > 90 {
            wrong("threshold_percent", "above 90 the SMF requests grants all the time: write 20");
        }
        if self.max_sessions == 0 {
            wrong("max_sessions", "with 0 no session can be charged: write 400000");
        }
        if self.max_records == 0 {
            wrong("max_records", "with 0 no record is stored: write 100000");
        }
        let set = self.set.iter().flat_map(|set| set.member().check());
        findings.extend(set.map(|finding| finding.within("set")));
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_path() {
        assert_eq!(ChfConfig::default().check(), []);
        let config =
            ChfConfig { grant: 0, threshold_percent: 99, max_records: 0, ..ChfConfig::default() };
        let paths: Vec<_> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["grant", "threshold_percent", "max_records"]);
    }
}

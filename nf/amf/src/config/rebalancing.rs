//! AMF load re-balancing.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// How registered UEs are moved to other AMFs of the set (TS 23.501, 5.19.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RebalancingConfig {
    /// Move UEs without a command, when they become inactive.
    pub automatic: bool,
    /// Registered UEs, in percent of this AMF's share by relative capacity, above which UEs are
    /// moved without a command.
    pub above_percent: u32,
    /// UEs above the share from which UEs are moved without a command.
    pub min_excess: usize,
    /// UEs that are moved in a second.
    pub max_per_s: u32,
}

impl Default for RebalancingConfig {
    fn default() -> Self {
        RebalancingConfig { automatic: false, above_percent: 120, min_excess: 100, max_per_s: 50 }
    }
}

impl RebalancingConfig {
    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !(101..=1000).contains(&self.above_percent) {
            findings.push(Finding::new("above_percent", "write 101 to 1000"));
        }
        if self.min_excess == 0 {
            findings.push(Finding::new("min_excess", "write 1 or more UEs"));
        }
        if !(1..=1000).contains(&self.max_per_s) {
            findings.push(Finding::new("max_per_s", "write 1 to 1000 UEs a second"));
        }
        findings
    }
}

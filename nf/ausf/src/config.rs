//! The AUSF's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Limits of the AUSF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AusfConfig {
    /// Authentications under way at a time; more are refused until some end.
    pub max_pending: usize,
    /// Seconds that a UE's answer may take before its authentication is forgotten.
    pub pending_s: u32,
}

impl Default for AusfConfig {
    fn default() -> Self {
        AusfConfig { max_pending: 20_000, pending_s: 60 }
    }
}

impl AusfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.max_pending == 0 {
            findings.push(Finding::new("max_pending", "0 lets nobody authenticate: write 20000"));
        }
        if self.pending_s == 0 {
            findings.push(Finding::new(
                "pending_s",
                "0 forgets every authentication at once: write 60",
            ));
        }
        findings
    }
}

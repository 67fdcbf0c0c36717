//! The AUSF's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Limits of the AUSF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AusfConfig {
    /// Maximum number of authentications in progress. More are rejected.
    pub max_pending: usize,
    /// Seconds until an authentication without a response from the UE is dropped.
    pub pending_s: u32,
    /// Answer the AMF only after the UDM has stored the result of an authentication, in the home
    /// network, too (TS 33.501, 6.1.4.1a). Other serving networks always wait.
    pub await_result: bool,
    /// Refuse deviations of UEs in EAP responses that are tolerated otherwise.
    pub strict: bool,
}

impl Default for AusfConfig {
    fn default() -> Self {
        AusfConfig { max_pending: 20_000, pending_s: 60, await_result: false, strict: false }
    }
}

impl AusfConfig {
    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.max_pending == 0 {
            findings
                .push(Finding::new("max_pending", "with 0 no UE can authenticate: write 20000"));
        }
        if self.pending_s == 0 {
            findings.push(Finding::new(
                "pending_s",
                "with 0 every authentication expires at once: write 60",
            ));
        }
        findings
    }
}

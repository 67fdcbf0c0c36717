//! The PCF's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Limits of the PCF, and what applies where a subscription says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcfConfig {
    /// UE policy associations at a time.
    pub max_am_policies: usize,
    /// Session policy associations at a time.
    pub max_sm_policies: usize,
    /// 5QI of a session's default flow where the subscription has none.
    pub default_5qi: u8,
    /// Allocation and retention priority level (1 to 15) likewise.
    pub default_arp: u8,
    /// Session AMBR likewise, such as `1 Gbps`.
    pub default_ambr: String,
}

impl Default for PcfConfig {
    fn default() -> Self {
        PcfConfig {
            max_am_policies: 20_000,
            max_sm_policies: 60_000,
            default_5qi: 9,
            default_arp: 8,
            default_ambr: "1 Gbps".into(),
        }
    }
}

impl PcfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: &str| findings.push(Finding::new(path, message));
        if self.max_am_policies == 0 {
            wrong("max_am_policies", "0 lets no UE register: write 20000");
        }
        if self.max_sm_policies == 0 {
            wrong("max_sm_policies", "0 lets no session come up: write 60000");
        }
        if self.default_5qi == 0 {
            wrong("default_5qi", "a 5QI is 1 to 255: write 9");
        }
        if !(1..=15).contains(&self.default_arp) {
            wrong("default_arp", "a priority level is 1 to 15: write 8");
        }
        if self.default_ambr.parse::<martlet_sbi_api::common::BitRate>().is_err() {
            wrong("default_ambr", "no bit rate: write for example 1 Gbps");
        }
        findings
    }
}

//! The PCF's section of the configuration.
use martlet_config::Finding;
use martlet_sbi_api::common::{Ambr, Arp, BitRate, PreemptionCapability, PreemptionVulnerability};
use serde::{Deserialize, Serialize};

/// Limits of the PCF, and what applies where neither the request nor the UDR says anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcfConfig {
    /// UE policy associations at a time.
    pub max_am_policies: usize,
    /// Session policy associations at a time.
    pub max_sm_policies: usize,
    /// Index to RAT and frequency selection priority (1 to 256) of UEs; left out, what is subscribed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_rfsp: Option<u16>,
    /// 5QI of a session's default flow.
    pub default_5qi: u8,
    /// Allocation and retention priority level (1 to 15).
    pub default_arp: u8,
    /// Session AMBR, such as `1 Gbps`.
    pub default_ambr: String,
}

impl Default for PcfConfig {
    fn default() -> Self {
        PcfConfig {
            max_am_policies: 20_000,
            max_sm_policies: 60_000,
            default_rfsp: None,
            default_5qi: 9,
            default_arp: 8,
            default_ambr: "1 Gbps".into(),
        }
    }
}

impl PcfConfig {
    /// Session AMBR where none is subscribed.
    pub(crate) fn ambr(&self) -> Ambr {
        let rate = || self.default_ambr.parse().unwrap_or_else(|_| BitRate::from_bps(1_000_000_000));
        Ambr { uplink: rate(), downlink: rate() }
    }

    /// Priority of the default flow where none is subscribed.
    pub(crate) fn arp(&self) -> Arp {
        Arp {
            priority_level: self.default_arp,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        }
    }

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
        if self.default_rfsp.is_some_and(|rfsp| !(1..=256).contains(&rfsp)) {
            wrong("default_rfsp", "an RFSP index is 1 to 256: write one of them, or leave it out");
        }
        if self.default_5qi == 0 {
            wrong("default_5qi", "a 5QI is 1 to 255: write 9");
        }
        if !(1..=15).contains(&self.default_arp) {
            wrong("default_arp", "a priority level is 1 to 15: write 8");
        }
        if self.default_ambr.parse::<BitRate>().is_err() {
            wrong("default_ambr", "no bit rate: write for example 1 Gbps");
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_right_and_mistakes_are_told_by_place() {
        assert_eq!(PcfConfig::default().check(), []);
        let config = PcfConfig {
            default_rfsp: Some(0),
            default_arp: 16,
            default_ambr: "fast".into(),
            max_sm_policies: 0,
            ..PcfConfig::default()
        };
        let paths: Vec<_> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["max_sm_policies", "default_rfsp", "default_arp", "default_ambr"]);
    }
}

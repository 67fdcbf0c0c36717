//! Limits of the AMF.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Limits. A request beyond a limit is rejected with the cause that the specification defines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// UE contexts. Further UEs are rejected with #22 (congestion).
    pub max_ues: usize,
    /// gNBs with a completed NG setup, and associations without one. A further NG setup is
    /// rejected; of further associations, the oldest without NG setup is aborted.
    pub max_gnbs: usize,
    /// Connections of one gNB whose UEs are not verified yet. Further UEs of this gNB are rejected
    /// with #22 (congestion), those of other gNBs are not.
    pub max_unverified_per_gnb: usize,
    /// PDU sessions of a UE, up to 15. Further ones are rejected with #65.
    pub max_sessions: u8,
    /// Events queued for one UE. Further ones are dropped and counted.
    pub ue_queue: usize,
    /// Milliseconds without a congestion reject after which an overload ends.
    pub overload_ms: u32,
    /// Back-off time after #22, seconds (T3346).
    pub back_off_s: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        LimitsConfig {
            max_ues: 100_000,
            max_gnbs: 1024,
            max_unverified_per_gnb: 1000,
            max_sessions: 15,
            ue_queue: 32,
            overload_ms: 10_000,
            back_off_s: 30,
        }
    }
}

impl LimitsConfig {
    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let nonzero = [
            ("max_ues", self.max_ues),
            ("max_gnbs", self.max_gnbs),
            ("max_unverified_per_gnb", self.max_unverified_per_gnb),
        ];
        for (name, value) in nonzero {
            if value == 0 {
                findings.push(Finding::new(name, "must not be 0; remove the key for the default"));
            }
        }
        if self.max_sessions > 15 {
            findings.push(Finding::new(
                "max_sessions",
                "a UE has 15 PDU sessions at most (TS 24.007, 11.2.3.1b)",
            ));
        }
        if !(4..=4096).contains(&self.ue_queue) {
            findings.push(Finding::new("ue_queue", "write 4 to 4096"));
        }
        findings
    }
}

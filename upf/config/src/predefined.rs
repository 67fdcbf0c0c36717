//! Predefined rules (TS 29.244, 5.19).
use martlet_pfcp::ie::SdfFilter;
use martlet_upf_rules::{BitRate, PredefinedRule, SdfRule};
use serde::{Deserialize, Serialize};

/// A rule that SMFs activate by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredefinedRuleConfig {
    /// Its name in Activate Predefined Rules (8.2.72).
    pub name: String,
    /// Flow descriptions, as `permit out 17 from any 53 to assigned`. Empty: all packets of the PDR
    /// that activates it.
    pub flows: Vec<String>,
    /// Whether its packets are dropped.
    pub drop: bool,
    /// Maximum bit rates in kilobits per second; 0: no limit.
    pub uplink_kbps: u64,
    /// To the UE.
    pub downlink_kbps: u64,
    /// QoS flow of downlink packets; 0: that of the PDR's QERs.
    pub qfi: u8,
}

impl PredefinedRuleConfig {
    /// The rule, with its number among the configured ones.
    pub fn rule(&self, number: usize) -> PredefinedRule {
        let unlimited = |kbps: u64| if kbps == 0 { u64::MAX / 1000 } else { kbps };
        let limited = self.uplink_kbps > 0 || self.downlink_kbps > 0;
        PredefinedRule {
            name: self.name.clone(),
            number: u16::try_from(number).unwrap_or(u16::MAX),
            filters: self.flows.iter().map(|text| filter(text)).collect(),
            drop: self.drop,
            mbr: limited.then(|| BitRate {
                uplink: unlimited(self.uplink_kbps).saturating_mul(1000),
                downlink: unlimited(self.downlink_kbps).saturating_mul(1000),
            }),
            qfi: (self.qfi > 0).then_some(self.qfi & 0x3f),
        }
    }

    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<String> {
        if self.name.is_empty() || self.name.len() > 255 {
            return Some("the name is empty or longer than 255 bytes: write another".into());
        }
        if self.qfi > 63 {
            return Some(format!("{} is no QFI: write 1 to 63", self.qfi));
        }
        let wrong = self.flows.iter().find_map(|text| SdfRule::of(&filter(text)).err());
        wrong.map(|error| format!("{error}: write one as `permit out 17 from any 53 to assigned`"))
    }
}

fn filter(text: &str) -> SdfFilter {
    SdfFilter { flow_description: Some(text.to_string()), ..SdfFilter::default() }
}

//! The PCF's section of the configuration.
use martlet_config::Finding;
use martlet_sbi_api::common::{Ambr, Arp, BitRate, PreemptionCapability, PreemptionVulnerability};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The PCF's configuration: limits, and defaults where neither request nor subscription decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcfConfig {
    /// Maximum number of UE policy associations.
    pub max_am_policies: usize,
    /// Maximum number of session policy associations.
    pub max_sm_policies: usize,
    /// Index to RAT/frequency selection priority (1 to 256) of UEs. Left out: as subscribed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_rfsp: Option<u16>,
    /// 5QI of a session's default flow.
    pub default_5qi: u8,
    /// Allocation and retention priority level (1 to 15).
    pub default_arp: u8,
    /// Session AMBR, such as `1 Gbps`.
    pub default_ambr: String,
    /// QoS flows of sessions besides the default one.
    pub flows: Vec<FlowConfig>,
    /// Limits of UE-requested QoS flows.
    pub ue_requests: UeRequestConfig,
}

/// Limits of what UEs request with PDU session modification (TS 23.502, 4.3.3.2, step 1a).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UeRequestConfig {
    /// Permitted 5QIs. Empty: none.
    pub five_qis: Vec<u8>,
    /// Maximum number of UE-requested flows per session.
    pub max_flows: u8,
    /// Maximum guaranteed bit rate of one flow in each direction, such as `1 Mbps`. Left out: no
    /// GBR flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<String>,
}

impl Default for UeRequestConfig {
    fn default() -> Self {
        // The non-GBR 5QIs except IMS signalling.
        UeRequestConfig { five_qis: vec![6, 7, 8, 9], max_flows: 4, guaranteed: None }
    }
}

/// A QoS flow for a part of a session's traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlowConfig {
    /// Its name.
    pub name: String,
    /// Data network of the sessions with this flow. Empty: all.
    pub dnn: String,
    /// Subscribers whose sessions have this flow, as `imsi-` and digits. Empty: all.
    pub supis: Vec<String>,
    /// 5QI.
    pub five_qi: u8,
    /// ARP priority level (1 to 15). 0: that of the session.
    pub arp: u8,
    /// Traffic, each an `IPFilterRule` for the downlink, such as `permit out 17 from 10.0.0.0/8
    /// 5060 to assigned`; of Ethernet sessions frames, such as `ethernet type 88f7 vlan 5 from
    /// 02-00-00-00-00-01`.
    pub filters: Vec<String>,
    /// Precedence of the rule, 0 to 254. The lowest is evaluated first.
    pub precedence: u8,
    /// Rating group. Left out: that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating_group: Option<u32>,
    /// Guaranteed bit rate uplink, such as `1 Mbps`. With guaranteed bit rates it is a GBR flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guaranteed_uplink: Option<String>,
    /// Guaranteed bit rate downlink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guaranteed_downlink: Option<String>,
    /// Maximum bit rate uplink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_uplink: Option<String>,
    /// Maximum bit rate downlink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_downlink: Option<String>,
}

impl FlowConfig {
    fn rates(&self) -> [(&'static str, &Option<String>); 4] {
        [
            ("guaranteed_uplink", &self.guaranteed_uplink),
            ("guaranteed_downlink", &self.guaranteed_downlink),
            ("maximum_uplink", &self.maximum_uplink),
            ("maximum_downlink", &self.maximum_downlink),
        ]
    }
}

impl Default for PcfConfig {
    fn default() -> Self {
        PcfConfig {
            max_am_policies: 200_000,
            max_sm_policies: 400_000,
            default_rfsp: None,
            default_5qi: 9,
            default_arp: 8,
            default_ambr: "1 Gbps".into(),
            flows: Vec::new(),
            ue_requests: UeRequestConfig::default(),
        }
    }
}

impl PcfConfig {
    /// The session AMBR if none is subscribed.
    pub(crate) fn ambr(&self) -> Ambr {
        let rate =
            || self.default_ambr.parse().unwrap_or_else(|_| BitRate::from_bps(1_000_000_000));
        Ambr { uplink: rate(), downlink: rate() }
    }

    /// The ARP of the default flow if none is subscribed.
    pub(crate) fn arp(&self) -> Arp {
        Arp {
            priority_level: self.default_arp,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        }
    }

    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: &str| findings.push(Finding::new(path, message));
        if self.max_am_policies == 0 {
            wrong("max_am_policies", "with 0 no UE can register: write 200000");
        }
        if self.max_sm_policies == 0 {
            wrong("max_sm_policies", "with 0 no session can be established: write 400000");
        }
        if self.default_rfsp.is_some_and(|rfsp| !(1..=256).contains(&rfsp)) {
            wrong("default_rfsp", "an RFSP index is 1 to 256: write one, or leave it out");
        }
        if self.default_5qi == 0 {
            wrong("default_5qi", "a 5QI is 1 to 255: write 9");
        }
        if !(1..=15).contains(&self.default_arp) {
            wrong("default_arp", "a priority level is 1 to 15: write 8");
        }
        if self.default_ambr.parse::<BitRate>().is_err() {
            wrong("default_ambr", "not a bit rate: write for example 1 Gbps");
        }
        if self.ue_requests.five_qis.contains(&0) {
            wrong("ue_requests.five_qis", "a 5QI is 1 to 255");
        }
        if self.ue_requests.guaranteed.as_ref().is_some_and(|rate| rate.parse::<BitRate>().is_err())
        {
            wrong("ue_requests.guaranteed", "not a bit rate: write for example 1 Mbps");
        }
        let mut names = HashSet::new();
        for (n, flow) in self.flows.iter().enumerate() {
            let mut wrong = |field: &str, message: &str| {
                findings.push(Finding::new(format!("flows[{n}].{field}"), message.to_string()));
            };
            if flow.name.is_empty() || flow.name == "default" {
                wrong("name", "the name of the flow is missing");
            }
            if !names.insert(&flow.name) {
                wrong("name", "two flows have this name");
            }
            if flow.five_qi == 0 {
                wrong(
                    "five_qi",
                    "a 5QI is 1 to 255: write 1 for voice, 2 for video, 5 for signalling",
                );
            }
            if flow.arp > 15 {
                wrong("arp", "a priority level is 1 to 15");
            }
            if flow.filters.is_empty() || flow.filters.len() > 15 {
                wrong(
                    "filters",
                    "a flow has 1 to 15 filters, such as permit out 17 from any to assigned",
                );
            }
            if let Some(why) =
                flow.filters.iter().find_map(|text| crate::ethernet_filter::parse(text).err())
            {
                wrong("filters", &why.to_string());
            }
            if flow.precedence == 255 {
                wrong("precedence", "255 is the precedence of the default flow: write 0 to 254");
            }
            for (field, rate) in flow.rates() {
                if rate.as_ref().is_some_and(|rate| rate.parse::<BitRate>().is_err()) {
                    wrong(field, "not a bit rate: write for example 1 Mbps");
                }
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_path() {
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

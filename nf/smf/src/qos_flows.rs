//! QoS flows of a session in addition to its default one (TS 23.501, 5.7): binding of PCC rules to
//! flows, and the identifiers of flows and rules.
use crate::packet_filter::{FilterError, PacketFilter};
use martlet_sbi_api::common::Arp;
use martlet_sbi_api::npcf_sm_policy_control::{ChargingData, PccRule, QosData, SmPolicyDecision};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// QFI of the default QoS flow.
pub const DEFAULT_QFI: u8 = 1;

/// The highest QFI (TS 23.501, 5.7.1.1).
const MAX_QFI: u8 = 63;
/// Packet filters of a QoS rule (TS 24.501, 9.11.4.13).
const MAX_FILTERS: usize = 15;

/// The PCC rules of a session with their QoS and charging data. Field names are part of the stored
/// format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyRules {
    // Boxed, because a B-tree node has room for eleven values.
    rules: BTreeMap<String, Box<PccRule>>,
    qos: BTreeMap<String, Box<QosData>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    charging: BTreeMap<String, Box<ChargingData>>,
}

impl PolicyRules {
    /// Merges a decision of the PCF: entries that it does not name stay, entries without a value
    /// are removed (TS 29.512, 4.2.6.2).
    pub fn merge(&mut self, decision: &SmPolicyDecision) {
        fn merge<T: Clone>(
            into: &mut BTreeMap<String, Box<T>>,
            from: &Option<BTreeMap<String, Option<T>>>,
        ) {
            for (id, value) in from.iter().flatten() {
                match value {
                    Some(value) => drop(into.insert(id.clone(), value.clone().into())),
                    None => drop(into.remove(id)),
                }
            }
        }
        merge(&mut self.rules, &decision.pcc_rules);
        merge(&mut self.qos, &decision.qos_decs);
        merge(&mut self.charging, &decision.chg_decs);
        // A rule without QoS data belongs to the default flow, which always exists.
        self.rules.retain(|_, rule| rule.ref_qos_data.is_some());
        // An empty map may still have a node.
        if self.rules.is_empty() {
            self.rules = BTreeMap::new();
        }
    }

    /// The rating group of a rule, if it has its own.
    fn rating_group(&self, rule: &PccRule) -> Option<u32> {
        let id = rule.ref_chg_data.as_ref()?.first()?;
        self.charging.get(id)?.rating_group
    }

    /// Removes rules that are not enforced.
    pub fn remove(&mut self, rules: &[String]) {
        self.rules.retain(|name, _| !rules.contains(name));
    }
}

/// Bit rates in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub uplink: u64,
    pub downlink: u64,
}

/// A QoS flow. Field names are part of the stored format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// QoS flow identifier, 2 to 63.
    pub qfi: u8,
    /// Identity of its QoS data at the PCF.
    pub qos: String,
    pub five_qi: u8,
    pub arp: Arp,
    /// Guaranteed bit rates of a GBR flow.
    pub guaranteed: Option<Rates>,
    pub maximum: Option<Rates>,
    pub rules: Vec<Rule>,
}

/// A QoS rule. Field names are part of the stored format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// QoS rule identifier, 2 to 255.
    pub id: u8,
    /// Identity of its PCC rule.
    pub pcc: String,
    /// Precedence, 0 (first) to 254.
    pub precedence: u8,
    pub filters: Vec<PacketFilter>,
    /// Its rating group, if it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating_group: Option<u32>,
}

/// The rating groups of flows, other than the default one.
pub fn rating_groups(flows: &[Flow]) -> BTreeSet<u32> {
    flows.iter().flat_map(|flow| &flow.rules).filter_map(|rule| rule.rating_group).collect()
}

/// Binds PCC rules to QoS flows (TS 23.503, 6.1.3.2.4). Existing flows and rules keep their
/// identifiers. A rule that cannot be enforced is logged and ignored.
pub fn bind(before: &[Flow], rules: &PolicyRules, default: &Arp) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for (name, rule) in &rules.rules {
        let Some(qos) = rule.ref_qos_data.as_ref().and_then(|all| all.first()) else { continue };
        let Some(data) = rules.qos.get(qos) else {
            tracing::warn!(rule = name, qos, "PCC rule ignored: unknown QoS data");
            continue;
        };
        let (Some(five_qi), false) = (data.five_qi, data.def_qos_flow_indication == Some(true))
        else {
            continue;
        };
        let filters = match filters(rule) {
            Ok(filters) => filters,
            Err(error) => {
                tracing::warn!(rule = name, %error, "PCC rule ignored");
                continue;
            }
        };
        let rates = |uplink: &Option<martlet_sbi_api::common::BitRate>, downlink: &Option<_>| {
            let bps = |rate: &Option<martlet_sbi_api::common::BitRate>| {
                rate.as_ref().map(|rate| rate.bps())
            };
            let (uplink, downlink) = (bps(uplink), bps(downlink));
            (uplink.is_some() || downlink.is_some())
                .then(|| Rates { uplink: uplink.unwrap_or(0), downlink: downlink.unwrap_or(0) })
        };
        let rule_id = |taken: &[Flow]| {
            let old = before
                .iter()
                .flat_map(|flow| &flow.rules)
                .find(|old| old.pcc == *name)
                .map(|old| old.id);
            let used = |id: &u8| {
                taken.iter().chain(before).flat_map(|flow| &flow.rules).any(|rule| rule.id == *id)
            };
            old.or_else(|| (2..=255).find(|id| !used(id)))
        };
        let precedence = rule.precedence.map_or(200, |precedence| precedence.min(254) as u8);
        let Some(id) = rule_id(&flows) else { continue };
        let rule = Rule {
            id,
            pcc: name.clone(),
            precedence,
            filters,
            rating_group: rules.rating_group(rule),
        };
        if let Some(flow) = flows.iter_mut().find(|flow| flow.qos == *qos) {
            flow.rules.push(rule);
            continue;
        }
        let old = before.iter().find(|flow| flow.qos == *qos).map(|flow| flow.qfi);
        let used = |qfi: &u8| flows.iter().chain(before).any(|flow| flow.qfi == *qfi);
        let Some(qfi) = old.or_else(|| (2..=MAX_QFI).find(|qfi| !used(qfi))) else {
            tracing::warn!(rule = name, max = MAX_QFI, "PCC rule ignored: too many QoS flows");
            continue;
        };
        flows.push(Flow {
            qfi,
            qos: qos.clone(),
            five_qi,
            arp: data.arp.clone().unwrap_or_else(|| default.clone()),
            guaranteed: rates(&data.gbr_ul, &data.gbr_dl),
            maximum: rates(&data.maxbr_ul, &data.maxbr_dl),
            rules: vec![rule],
        });
    }
    flows.sort_by_key(|flow| flow.qfi);
    flows
}

/// Why a PCC rule is not enforced.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("no packet filters; application detection is not supported")]
    NoFilters,
    #[error("{0} packet filters; a QoS rule has at most {MAX_FILTERS}")]
    TooManyFilters(usize),
    #[error("packet filter: {0}")]
    Filter(#[from] FilterError),
}

fn filters(rule: &PccRule) -> Result<Vec<PacketFilter>, RuleError> {
    let infos = rule.flow_infos.as_deref().unwrap_or_default();
    if infos.is_empty() {
        return Err(RuleError::NoFilters);
    }
    if infos.len() > MAX_FILTERS {
        return Err(RuleError::TooManyFilters(infos.len()));
    }
    Ok(infos.iter().map(PacketFilter::from_policy).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::{PreemptionCapability, PreemptionVulnerability};

    fn arp() -> Arp {
        Arp {
            priority_level: 8,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        }
    }

    fn decision(text: &str) -> SmPolicyDecision {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rules_of_the_same_qos_share_a_flow_and_flows_keep_their_identifiers() {
        let mut rules = PolicyRules::default();
        rules.merge(&decision(
            r#"{"pccRules": {
                "all": {"pccRuleId": "all",
                        "flowInfos": [{"flowDescription": "permit out ip from any to assigned"}]},
                "a": {"pccRuleId": "a", "precedence": 10, "refQosData": ["voice"],
                      "flowInfos": [{"flowDescription":
                        "permit out 17 from 10.0.0.0/8 5000-5010 to assigned"}]},
                "b": {"pccRuleId": "b", "refQosData": ["video"],
                      "flowInfos": [{"flowDescription": "permit out ip from any to assigned 80",
                                     "flowDirection": "DOWNLINK"}]},
                "c": {"pccRuleId": "c", "refQosData": ["voice"],
                      "flowInfos": [{"flowDescription":
                        "permit out ip from 2001:db8::/32 to assigned"}]}},
              "qosDecs": {"voice": {"qosId": "voice", "5qi": 1,
                                    "gbrUl": "1 Mbps", "gbrDl": "1 Mbps"},
                          "video": {"qosId": "video", "5qi": 7}}}"#,
        ));
        let first = bind(&[], &rules, &arp());
        let seen: Vec<_> =
            first.iter().map(|flow| (flow.qfi, flow.qos.as_str(), flow.rules.len())).collect();
        assert_eq!(seen, [(2, "voice", 2), (3, "video", 1)]);
        assert_eq!(first[0].guaranteed, Some(Rates { uplink: 1_000_000, downlink: 1_000_000 }));
        // Identifiers of removed flows are not reused at once; existing flows keep theirs.
        rules.merge(&decision(
            r#"{"pccRules": {"a": null, "c": null, "d": {"pccRuleId": "d", "refQosData": ["audio"],
                "flowInfos": [{"flowDescription": "permit out 6 from any to assigned"}]}},
                "qosDecs": {"voice": null, "audio": {"qosId": "audio", "5qi": 6}}}"#,
        ));
        let second = bind(&first, &rules, &arp());
        let seen: Vec<_> = second.iter().map(|flow| (flow.qfi, flow.qos.as_str())).collect();
        assert_eq!(seen, [(3, "video"), (4, "audio")]);
        assert_eq!(second[0].rules, first[1].rules);
    }
}

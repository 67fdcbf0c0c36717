//! QoS flows of a session beside its default one (TS 23.501, 5.7): which rules of the policy make
//! which flow, and under which identifiers UE, gNB and UPF know them.
use crate::filter::Filter;
use martlet_sbi_api::common::Arp;
use martlet_sbi_api::npcf_sm_policy_control::{ChargingData, PccRule, QosData, SmPolicyDecision};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Flows of a session at a time: QFI 1 is the default one's.
const MOST_FLOWS: u8 = 63;
/// Packet filters of one QoS rule (TS 24.501, 9.11.4.13).
const MOST_FILTERS: usize = 15;

/// What a PCF has decided beside the session's own rule, as of now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    // In boxes: a tree has room for eleven where there is one.
    rules: BTreeMap<String, Box<PccRule>>,
    qos: BTreeMap<String, Box<QosData>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    charging: BTreeMap<String, Box<ChargingData>>,
}

impl Decided {
    /// Takes a decision over: what it does not name stays, what it names without a value goes (TS
    /// 29.512, 4.2.6.2).
    pub fn take(&mut self, decision: &SmPolicyDecision) {
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
        // A rule without QoS of its own is about the default flow, which is there in any case; most
        // sessions have no other.
        self.rules.retain(|_, rule| rule.ref_qos_data.is_some());
    }

    /// The charging key of a rule, if it has one of its own.
    fn rating_group(&self, rule: &PccRule) -> Option<u32> {
        let id = rule.ref_chg_data.as_ref()?.first()?;
        self.charging.get(id)?.rating_group
    }

    /// Rules that are not carried out.
    pub fn forget(&mut self, rules: &[String]) {
        self.rules.retain(|name, _| !rules.contains(name));
    }
}

/// Bits per second each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub uplink: u64,
    pub downlink: u64,
}

/// A QoS flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// QoS flow identifier, 2 to 63.
    pub qfi: u8,
    /// Which of the policy's QoS data it has.
    pub qos: String,
    pub five_qi: u8,
    pub arp: Arp,
    /// Of a GBR flow.
    pub guaranteed: Option<Rates>,
    pub maximum: Option<Rates>,
    pub rules: Vec<Rule>,
}

/// What goes into a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// QoS rule identifier, 2 to 255.
    pub id: u8,
    /// The policy's rule.
    pub pcc: String,
    /// Looked at in this order, the lowest first: 0 to 254.
    pub precedence: u8,
    pub filters: Vec<Filter>,
    /// Its charging key, where that is not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating_group: Option<u32>,
}

/// The charging keys of flows that are not the session's, each once.
pub fn rating_groups(flows: &[Flow]) -> BTreeSet<u32> {
    flows.iter().flat_map(|flow| &flow.rules).filter_map(|rule| rule.rating_group).collect()
}

/// The flows of a decision; those that there were before keep their identifiers. A rule that cannot
/// be carried out is logged and left out.
pub fn bind(before: &[Flow], decided: &Decided, default: &Arp) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for (name, rule) in &decided.rules {
        let Some(qos) = rule.ref_qos_data.as_ref().and_then(|all| all.first()) else { continue };
        let Some(data) = decided.qos.get(qos) else {
            tracing::warn!(rule = name, qos, "a PCC rule names QoS that the policy does not have");
            continue;
        };
        let (Some(five_qi), false) = (data.five_qi, data.def_qos_flow_indication == Some(true))
        else {
            continue;
        };
        let filters = match filters(rule) {
            Ok(filters) => filters,
            Err(why) => {
                tracing::warn!(rule = name, why, "a PCC rule is not carried out");
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
            rating_group: decided.rating_group(rule),
        };
        if let Some(flow) = flows.iter_mut().find(|flow| flow.qos == *qos) {
            flow.rules.push(rule);
            continue;
        }
        let old = before.iter().find(|flow| flow.qos == *qos).map(|flow| flow.qfi);
        let used = |qfi: &u8| flows.iter().chain(before).any(|flow| flow.qfi == *qfi);
        let Some(qfi) = old.or_else(|| (2..=MOST_FLOWS).find(|qfi| !used(qfi))) else {
            tracing::warn!(rule = name, "a session has no more than {MOST_FLOWS} flows");
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

fn filters(rule: &PccRule) -> Result<Vec<Filter>, &'static str> {
    let infos = rule.flow_infos.as_deref().unwrap_or_default();
    if infos.is_empty() {
        return Err("it has no packet filters, and applications are not detected");
    }
    if infos.len() > MOST_FILTERS {
        return Err("a QoS rule has 15 packet filters at most");
    }
    infos.iter().map(Filter::of_policy).collect()
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
        let mut decided = Decided::default();
        decided.take(&decision(
            r#"{"pccRules": {
                "all": {"pccRuleId": "all", "flowInfos": [{"flowDescription": "permit out ip from any to assigned"}]},
                "a": {"pccRuleId": "a", "precedence": 10, "refQosData": ["voice"],
                      "flowInfos": [{"flowDescription": "permit out 17 from 10.0.0.0/8 5000-5010 to assigned"}]},
                "b": {"pccRuleId": "b", "refQosData": ["video"],
                      "flowInfos": [{"flowDescription": "permit out ip from any to assigned 80", "flowDirection": "DOWNLINK"}]},
                "c": {"pccRuleId": "c", "refQosData": ["voice"],
                      "flowInfos": [{"flowDescription": "permit out ip from 2001:db8::/32 to assigned"}]}},
              "qosDecs": {"voice": {"qosId": "voice", "5qi": 1, "gbrUl": "1 Mbps", "gbrDl": "1 Mbps"},
                          "video": {"qosId": "video", "5qi": 7}}}"#,
        ));
        let first = bind(&[], &decided, &arp());
        let seen: Vec<_> =
            first.iter().map(|flow| (flow.qfi, flow.qos.as_str(), flow.rules.len())).collect();
        assert_eq!(seen, [(2, "voice", 2), (3, "video", 1)]);
        assert_eq!(first[0].guaranteed, Some(Rates { uplink: 1_000_000, downlink: 1_000_000 }));
        // What goes leaves its identifiers to nobody else at once; what stays has its own.
        decided.take(&decision(
            r#"{"pccRules": {"a": null, "c": null, "d": {"pccRuleId": "d", "refQosData": ["audio"],
                "flowInfos": [{"flowDescription": "permit out 6 from any to assigned"}]}},
                "qosDecs": {"voice": null, "audio": {"qosId": "audio", "5qi": 6}}}"#,
        ));
        let second = bind(&first, &decided, &arp());
        let seen: Vec<_> = second.iter().map(|flow| (flow.qfi, flow.qos.as_str())).collect();
        assert_eq!(seen, [(3, "video"), (4, "audio")]);
        assert_eq!(second[0].rules, first[1].rules);
    }
}

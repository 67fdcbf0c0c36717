//! UE-initiated resource requests (TS 29.512, 4.2.4.17): granted within the configured limits, as
//! PCC rules of the session.
use crate::PcfConfig;
use martlet_sbi::{Compact, Problem};
use martlet_sbi_api::common::{Arp, BitRate};
use martlet_sbi_api::npcf_sm_policy_control::{
    FlowInformation, PacketFilterInfo, PccRule, QosData, RequestedQos, RuleOperation,
    UeInitiatedResourceRequest,
};

/// Maximum number of packet filters per rule (TS 24.501, 9.11.4.13).
const MAX_FILTERS: usize = 15;
/// The precedence if the UE names none: after the configured rules.
const DEFAULT_PRECEDENCE: u32 = 220;

/// A rule that a UE requested.
#[derive(Debug, Clone, PartialEq, Compact)]
pub struct Requested {
    number: u32,
    precedence: u32,
    qos: RequestedQos,
    filters: Vec<PacketFilterInfo>,
}

impl Requested {
    /// The identity of the PCC rule and of its QoS data.
    pub fn name(&self) -> String {
        format!("ue-{}", self.number)
    }

    /// The PCC rule.
    pub fn rule(&self) -> PccRule {
        let filter = |filter: &PacketFilterInfo| FlowInformation {
            flow_description: filter.pack_filt_cont.clone(),
            eth_flow_description: None,
            pack_filt_id: filter.pack_filt_id.clone(),
            packet_filter_usage: Some(true),
            tos_traffic_class: filter.tos_traffic_class.clone(),
            spi: filter.spi.clone(),
            flow_label: filter.flow_label.clone(),
            flow_direction: filter.flow_direction.clone(),
        };
        PccRule {
            pcc_rule_id: self.name(),
            precedence: Some(self.precedence),
            flow_infos: Some(self.filters.iter().map(filter).collect()),
            ref_qos_data: Some(vec![self.name()]),
            ..Default::default()
        }
    }

    /// Its QoS data.
    pub fn quality(&self, arp: Arp) -> QosData {
        QosData {
            qos_id: self.name(),
            five_qi: Some(self.qos.five_qi),
            arp: Some(arp),
            gbr_ul: self.qos.gbr_ul.clone(),
            gbr_dl: self.qos.gbr_dl.clone(),
            maxbr_ul: self.qos.gbr_ul.clone(),
            maxbr_dl: self.qos.gbr_dl.clone(),
            ..Default::default()
        }
    }
}

fn denied(reason: &str) -> Problem {
    Problem::new(403, "POLICY_CONTEXT_DENIED").detail(reason)
}

fn invalid(reason: &str) -> Problem {
    Problem::new(403, "ERROR_TRAFFIC_MAPPING_INFO_REJECTED").detail(reason)
}

/// Executes a request, completely or not at all.
///
/// # Errors
/// The request is not permitted (`POLICY_CONTEXT_DENIED`) or not valid
/// (`ERROR_TRAFFIC_MAPPING_INFO_REJECTED`).
pub fn execute(
    all: &mut Vec<Requested>,
    request: &UeInitiatedResourceRequest,
    config: &PcfConfig,
) -> Result<(), Problem> {
    let named = |all: &[Requested]| {
        let name = request.pcc_rule_id.as_deref();
        all.iter()
            .position(|r| Some(r.name().as_str()) == name)
            .ok_or_else(|| invalid("the rule is not one that the UE requested"))
    };
    if let RuleOperation::DeletePccRule = request.rule_op {
        all.remove(named(all)?);
        return Ok(());
    }
    let given = request.pack_filt_info.clone();
    if let RuleOperation::CreatePccRule = request.rule_op {
        let qos = request.req_qos.clone().ok_or_else(|| denied("the request has no QoS"))?;
        check_qos(&qos, config)?;
        if all.len() >= config.ue_requests.max_flows.into() {
            return Err(denied(
                "the number of UE-requested flows reached pcf.ue_requests.max_flows",
            ));
        }
        let number = (1..).find(|n| all.iter().all(|r| r.number != *n)).unwrap_or(1);
        let precedence = request.precedence.unwrap_or(DEFAULT_PRECEDENCE);
        let requested = Requested { number, precedence, qos, filters: given };
        check_filters(&requested)?;
        all.push(requested);
        return Ok(());
    }
    let index = named(all)?;
    let Some(mut changed) = all.get(index).cloned() else {
        return Err(invalid("the rule is not one that the UE requested"));
    };
    match request.rule_op {
        RuleOperation::ModifyPccRuleAndAddPacketFilters => changed.filters.extend(given),
        RuleOperation::ModifyPccRuleAndReplacePacketFilters => changed.filters = given,
        RuleOperation::ModifyPccRuleAndDeletePacketFilters => {
            let gone = |filter: &PacketFilterInfo| {
                given.iter().any(|g| g.pack_filt_id == filter.pack_filt_id)
            };
            changed.filters.retain(|filter| !gone(filter));
        }
        RuleOperation::ModifyPccRuleWithoutModifyPacketFilters => {}
        _ => return Err(invalid("unknown operation")),
    }
    if let Some(qos) = &request.req_qos {
        check_qos(qos, config)?;
        changed.qos = qos.clone();
    }
    changed.precedence = request.precedence.unwrap_or(changed.precedence);
    check_filters(&changed)?;
    if let Some(existing) = all.get_mut(index) {
        *existing = changed;
    }
    Ok(())
}

fn check_filters(requested: &Requested) -> Result<(), Problem> {
    match requested.filters.len() {
        0 => Err(invalid("the rule has no packet filters")),
        n if n > MAX_FILTERS => Err(invalid("the rule has more than 15 packet filters")),
        _ => Ok(()),
    }
}

fn check_qos(qos: &RequestedQos, config: &PcfConfig) -> Result<(), Problem> {
    let allowed = &config.ue_requests;
    if !allowed.five_qis.contains(&qos.five_qi) {
        return Err(denied("the 5QI is not in pcf.ue_requests.five_qis"));
    }
    let max = allowed
        .guaranteed
        .as_ref()
        .and_then(|rate| rate.parse::<BitRate>().ok())
        .map_or(0, |rate| rate.bps());
    let asked =
        [&qos.gbr_ul, &qos.gbr_dl].into_iter().flatten().map(|rate| rate.bps()).max().unwrap_or(0);
    if asked > max {
        return Err(denied("the guaranteed bit rate exceeds pcf.ue_requests.guaranteed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(id: &str) -> PacketFilterInfo {
        let cont = Some("permit out 17 from any to assigned".to_string());
        PacketFilterInfo {
            pack_filt_id: Some(id.into()),
            pack_filt_cont: cont,
            ..Default::default()
        }
    }

    fn request(op: RuleOperation, filters: &[&str]) -> UeInitiatedResourceRequest {
        let mut request =
            UeInitiatedResourceRequest::new(op, filters.iter().map(|id| filter(id)).collect());
        request.req_qos = Some(RequestedQos { five_qi: 7, ..Default::default() });
        request
    }

    #[test]
    fn rules_are_added_modified_and_removed_and_a_rejected_request_changes_nothing() {
        let (mut all, config) = (Vec::new(), PcfConfig::default());
        execute(&mut all, &request(RuleOperation::CreatePccRule, &["1"]), &config).unwrap();
        assert_eq!((all.len(), all[0].name().as_str()), (1, "ue-1"));
        let named = |op, filters: &[&str]| {
            let mut request = request(op, filters);
            (request.pcc_rule_id, request.req_qos) = (Some("ue-1".into()), None);
            request
        };
        execute(&mut all, &named(RuleOperation::ModifyPccRuleAndAddPacketFilters, &["2"]), &config)
            .unwrap();
        assert_eq!(all[0].rule().flow_infos.unwrap().len(), 2);
        execute(
            &mut all,
            &named(RuleOperation::ModifyPccRuleAndDeletePacketFilters, &["1"]),
            &config,
        )
        .unwrap();
        let before = all.clone();
        let none = named(RuleOperation::ModifyPccRuleAndDeletePacketFilters, &["2"]);
        assert_eq!(
            execute(&mut all, &none, &config).unwrap_err().cause(),
            "ERROR_TRAFFIC_MAPPING_INFO_REJECTED"
        );
        let mut greedy = request(RuleOperation::CreatePccRule, &["1"]);
        greedy.req_qos = Some(RequestedQos { five_qi: 1, ..Default::default() });
        assert_eq!(
            execute(&mut all, &greedy, &config).unwrap_err().cause(),
            "POLICY_CONTEXT_DENIED"
        );
        let rate = Some(BitRate::from_bps(1));
        greedy.req_qos = Some(RequestedQos { five_qi: 7, gbr_ul: rate, ..Default::default() });
        assert!(execute(&mut all, &greedy, &config).is_err() && all == before);
        execute(&mut all, &named(RuleOperation::DeletePccRule, &[]), &config).unwrap();
        assert!(
            all.is_empty()
                && execute(&mut all, &named(RuleOperation::DeletePccRule, &[]), &config).is_err()
        );
    }
}

//! PDU session modification requested by the UE (TS 24.501, 6.4.2; TS 23.502, 4.3.3.2, step 1a).
//!
//! The PCF decides about the request, and its decision is enforced like every other. A request has
//! one rule, because `UeInitiatedResourceRequest` (TS 29.512, 5.6.2.29) cannot hold more.
//!
//! ```text
//! UE                                   SMF                         PCF
//!  |-- MODIFICATION REQUEST ------------->|-- Npcf Update: request -->|  run, translate
//!  |                                      |<-- decision --------------|  apply, prepare
//!  |<-- MODIFICATION COMMAND or REJECT ---|                           |
//! ```
use super::network_requested_modification::{Commands, prepare};
use crate::packet_filter::PacketFilter;
use crate::procedures::n1_n2_transfer::{N1, N2, n1_response, reference};
use crate::procedures::policy::sm_policy_association::{apply, report_rejected_rules};
use crate::qos_flows::{DEFAULT_QFI, Flow, Rule};
use crate::session::{PolicyAssociation, Session};
use crate::session_event::UpdateResponse;
use crate::{metrics, n1};
use martlet_nas::{
    GsmCause, NasPduSessionModificationRequest, QosFlowDescription, QosFlowOpCode,
    QosFlowParameter, QosPacketFilter, QosRule, QosRuleOpCode,
};
use martlet_sbi::{Multipart, content_type};
use martlet_sbi_api::common::BitRate;
use martlet_sbi_api::npcf_sm_policy_control::{
    PacketFilterInfo, PolicyControlRequestTrigger, RequestedQos, RuleOperation,
    SmPolicyUpdateContextData, UeInitiatedResourceRequest,
};
use martlet_sbi_api::nsmf_pdusession::{N2SmInfoType, SmContextUpdatedData};
use std::time::Instant;

/// Identifier of the default QoS rule.
const DEFAULT_RULE: u8 = 1;
/// Highest packet filter identifier; the lowest is 1.
const MAX_FILTER_ID: u8 = 15;

/// PDU SESSION MODIFICATION REQUEST.
pub async fn run(
    session: &mut Session,
    pti: u8,
    request: &NasPduSessionModificationRequest,
) -> UpdateResponse {
    let started = Instant::now();
    if pti == 0 || pti == 255 {
        return n1_response(n1::modification_reject(session.id, pti, GsmCause::InvalidPtiValue, 0));
    }
    // In a collision the UE aborts its own procedure (6.3.2.5 c, 6.3.3.5).
    if session.gsm.is_releasing() {
        return Ok(None);
    }
    if let Some(pending) = session.gsm.modification() {
        // A retransmitted request gets the same command.
        let is_same = pending.pti == pti;
        return if is_same { n1_response(pending.command.clone()) } else { Ok(None) };
    }
    match enforce_request(session, pti, request).await {
        Ok((command, change)) => {
            metrics::procedure("ue_requested_modification", "ok", started);
            let mut data =
                SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
            if change.is_some() {
                (data.n2_sm_info, data.n2_sm_info_type) =
                    (Some(reference(N2)), Some(N2SmInfoType::PduResModReq));
            }
            let mut answer = Multipart::new(data).part(N1, content_type::NAS, command);
            if let Some(change) = change {
                answer = answer.part(N2, content_type::NGAP, change);
            }
            Ok(Some(answer))
        }
        Err(cause) => {
            metrics::procedure("ue_requested_modification", "rejected", started);
            let (supi, code) = (&session.supi, cause.as_u8());
            if let Some(suppressed) = martlet_log_limit::line("ue_modification", supi) {
                tracing::info!(
                    %supi, session = session.id, cause = code, suppressed,
                    "modification rejected"
                );
            }
            n1_response(n1::modification_reject(
                session.id,
                pti,
                cause,
                session.smf.config.back_off_s,
            ))
        }
    }
}

/// Asks the PCF, changes the UPF, and returns the commands for UE and gNB.
async fn enforce_request(
    session: &mut Session,
    pti: u8,
    request: &NasPduSessionModificationRequest,
) -> Result<Commands, GsmCause> {
    let rules = match &request.requested_qos_rules {
        None => Vec::new(),
        // The codec skips invalid rules.
        Some(rules) => Some(rules.rules())
            .filter(|r| !r.is_empty())
            .ok_or(GsmCause::SyntacticalErrorInTheQosOperation)?,
    };
    let descriptions = match &request.requested_qos_flow_descriptions {
        None => Vec::new(),
        Some(all) => all.try_descriptions().ok_or(GsmCause::SyntacticalErrorInTheQosOperation)?,
    };
    let before = session.qos.clone();
    let qos = &session.qos;
    if let Some(resource) = translate(&qos.flows, qos.five_qi, &rules, &descriptions)? {
        let policy = session.policy.clone();
        let PolicyAssociation { pcf, id } = policy.ok_or(GsmCause::RequestRejectedUnspecified)?;
        let update = SmPolicyUpdateContextData {
            rep_policy_ctrl_req_triggers: Some(vec![PolicyControlRequestTrigger::ResMoRe]),
            ue_init_res_req: Some(resource),
            ..Default::default()
        };
        let decision = pcf.update_sm_policy(&id, update).await.map_err(|problem| {
            let supi = &session.supi;
            if let Some(suppressed) = martlet_log_limit::line("rejected_by_pcf", supi) {
                tracing::info!(
                    %supi, session = session.id, %problem, suppressed,
                    "request rejected by PCF"
                );
            }
            match problem.cause() {
                "POLICY_CONTEXT_DENIED" => GsmCause::FiveGsQosNotAccepted,
                "ERROR_TRAFFIC_MAPPING_INFO_REJECTED" => GsmCause::SemanticErrorInTheQosOperation,
                _ => GsmCause::RequestRejectedUnspecified,
            }
        })?;
        apply(session, &decision);
        let previous = before.clone();
        match prepare(session, before, pti, always_on(session, request)).await {
            Ok(answer) => answer.ok_or(GsmCause::RequestRejectedUnspecified),
            // The UPF has no room, or does not respond: the session keeps its QoS.
            Err(error) => {
                let supi = &session.supi;
                if let Some(suppressed) = martlet_log_limit::line("not_enforced", supi) {
                    tracing::warn!(
                        %supi, session = session.id, %error, suppressed,
                        "modification not enforced"
                    );
                }
                let rejected = std::mem::replace(&mut session.qos, previous).flows;
                report_rejected_rules(session, &rejected).await;
                Err(GsmCause::InsufficientResources)
            }
        }
    } else {
        let always_on = always_on(session, request);
        let answer = prepare(session, before, pti, always_on).await;
        answer.ok().flatten().ok_or(GsmCause::RequestRejectedUnspecified)
    }
}

fn always_on(session: &Session, request: &NasPduSessionModificationRequest) -> Option<bool> {
    request.always_on_pdu_session_requested.as_ref().map(|_| session.parameters.always_on)
}

/// Translates a request for the PCF; `None` if it requests nothing that the PCF decides.
fn translate(
    flows: &[Flow],
    default_5qi: u8,
    rules: &[QosRule],
    descriptions: &[QosFlowDescription],
) -> Result<Option<UeInitiatedResourceRequest>, GsmCause> {
    let described = |qfi: u8| descriptions.iter().find(|description| description.qfi == qfi);
    let [rule] = rules else {
        return match (rules, descriptions) {
            ([], []) => Ok(None),
            ([], [description]) => translate_description(flows, description).map(Some),
            // The PCF accepts one rule per request.
            _ => Err(GsmCause::RequestRejectedUnspecified),
        };
    };
    if rule.dqr || (rule.rule_id == DEFAULT_RULE && rule.op_code != QosRuleOpCode::Create) {
        return Err(GsmCause::SemanticErrorInTheQosOperation);
    }
    let filters = !rule.packet_filters.is_empty();
    let wants_filters = match rule.op_code {
        QosRuleOpCode::Create | QosRuleOpCode::ModifyAdd | QosRuleOpCode::ModifyReplace => true,
        QosRuleOpCode::ModifyDelete => true,
        QosRuleOpCode::Delete | QosRuleOpCode::ModifyNoFilters => false,
        _ => return Err(GsmCause::SemanticErrorInTheQosOperation),
    };
    if filters != wants_filters {
        return Err(GsmCause::SyntacticalErrorInTheQosOperation);
    }
    if rule.op_code == QosRuleOpCode::Create {
        // 0 requests a new identifier (9.11.4.13).
        if rule.rule_id != 0 {
            return Err(GsmCause::SemanticErrorInTheQosOperation);
        }
        let mut request =
            UeInitiatedResourceRequest::new(RuleOperation::CreatePccRule, filter_infos(rule, &[])?);
        request.precedence = rule.precedence.map(u32::from).filter(|precedence| *precedence > 0);
        let qfi = rule.qfi.unwrap_or(0);
        request.req_qos = Some(match described(qfi) {
            Some(description) => requested_qos(description, default_5qi)?,
            None if qfi == 0 || qfi == DEFAULT_QFI => {
                RequestedQos { five_qi: default_5qi, ..Default::default() }
            }
            // A rule for an existing flow.
            None => {
                let flow = flows.iter().find(|flow| flow.qfi == qfi);
                flow_qos(flow.ok_or(GsmCause::SemanticErrorInTheQosOperation)?)
            }
        });
        return Ok(Some(request));
    }
    let known = flows.iter().flat_map(|flow| flow.rules.iter().map(move |rule| (flow, rule)));
    let Some((flow, old)) = known.clone().find(|(_, known)| known.id == rule.rule_id) else {
        return match rule.op_code {
            // The rule does not exist any more.
            QosRuleOpCode::Delete => Ok(None),
            _ => Err(GsmCause::SyntacticalErrorInTheQosOperation),
        };
    };
    let (operation, filters) = match rule.op_code {
        QosRuleOpCode::Delete => (RuleOperation::DeletePccRule, all_filters(old)),
        QosRuleOpCode::ModifyAdd => {
            (RuleOperation::ModifyPccRuleAndAddPacketFilters, filter_infos(rule, &old.filters)?)
        }
        QosRuleOpCode::ModifyReplace => {
            (RuleOperation::ModifyPccRuleAndReplacePacketFilters, filter_infos(rule, &[])?)
        }
        QosRuleOpCode::ModifyDelete => {
            (RuleOperation::ModifyPccRuleAndDeletePacketFilters, deleted_filters(rule, old)?)
        }
        _ => (RuleOperation::ModifyPccRuleWithoutModifyPacketFilters, all_filters(old)),
    };
    let mut request = UeInitiatedResourceRequest::new(operation, filters);
    request.pcc_rule_id = Some(old.pcc.clone());
    request.precedence = rule.precedence.map(u32::from).filter(|precedence| *precedence > 0);
    if let Some(description) = described(flow.qfi).filter(|d| d.op_code == QosFlowOpCode::Modify) {
        request.req_qos = Some(requested_qos(description, flow.five_qi)?);
    }
    Ok(Some(request))
}

/// Translates a flow description without a rule: it changes or removes the flow.
fn translate_description(
    flows: &[Flow],
    description: &QosFlowDescription,
) -> Result<UeInitiatedResourceRequest, GsmCause> {
    let flow = flows.iter().find(|flow| flow.qfi == description.qfi);
    // A new flow without a rule, an unknown flow, and the default flow are rejected.
    let flow = flow.ok_or(GsmCause::SemanticErrorInTheQosOperation)?;
    let [rule] = flow.rules.as_slice() else { return Err(GsmCause::RequestRejectedUnspecified) };
    let operation = match description.op_code {
        QosFlowOpCode::Modify => RuleOperation::ModifyPccRuleWithoutModifyPacketFilters,
        QosFlowOpCode::Delete => RuleOperation::DeletePccRule,
        _ => return Err(GsmCause::SemanticErrorInTheQosOperation),
    };
    let mut request = UeInitiatedResourceRequest::new(operation, all_filters(rule));
    request.pcc_rule_id = Some(rule.pcc.clone());
    if description.op_code == QosFlowOpCode::Modify {
        request.req_qos = Some(requested_qos(description, flow.five_qi)?);
    }
    Ok(request)
}

fn flow_qos(flow: &Flow) -> RequestedQos {
    RequestedQos {
        five_qi: flow.five_qi,
        gbr_ul: flow.guaranteed.map(|rates| BitRate::from_bps(rates.uplink)),
        gbr_dl: flow.guaranteed.map(|rates| BitRate::from_bps(rates.downlink)),
    }
}

fn requested_qos(
    description: &QosFlowDescription,
    default_5qi: u8,
) -> Result<RequestedQos, GsmCause> {
    let mut qos = RequestedQos { five_qi: default_5qi, ..Default::default() };
    let rate = |rate: &martlet_nas::QosFlowBitRate| {
        let kbps = rate.kbps().ok_or(GsmCause::SemanticErrorInTheQosOperation)?;
        Ok::<_, GsmCause>(Some(BitRate::from_bps(kbps.saturating_mul(1000))))
    };
    for parameter in &description.params {
        match parameter {
            QosFlowParameter::FiveQi(0) => return Err(GsmCause::Unsupported5QiValue),
            QosFlowParameter::FiveQi(five_qi) => qos.five_qi = *five_qi,
            QosFlowParameter::GfbrUl(bps) => qos.gbr_ul = rate(bps)?,
            QosFlowParameter::GfbrDl(bps) => qos.gbr_dl = rate(bps)?,
            _ => {}
        }
    }
    Ok(qos)
}

/// The filters of a rule, with identifiers that the rule's existing filters do not have.
fn filter_infos(
    rule: &QosRule,
    existing: &[PacketFilter],
) -> Result<Vec<PacketFilterInfo>, GsmCause> {
    let mut used: Vec<u8> =
        existing.iter().enumerate().map(|(n, filter)| identifier(filter, n)).collect();
    let mut all = Vec::new();
    for filter in &rule.packet_filters {
        let QosPacketFilter::Match { direction, components, .. } = filter else {
            return Err(GsmCause::SyntacticalErrorInTheQosOperation);
        };
        let free = (1..=MAX_FILTER_ID).find(|id| !used.contains(id));
        let id = free.ok_or(GsmCause::SemanticErrorInTheQosOperation)?;
        used.push(id);
        let filter = PacketFilter::from_nas(*direction, components, id).map_err(|error| {
            tracing::debug!(%error, "packet filter of UE rejected");
            GsmCause::SemanticErrorsInPacketFilters
        })?;
        all.push(filter.to_policy());
    }
    Ok(all)
}

/// The identifier of a filter at a position in its rule.
fn identifier(filter: &PacketFilter, position: usize) -> u8 {
    if filter.id > 0 { filter.id } else { position as u8 + 1 }
}

/// All filters of a rule: the list of a request must not be empty (TS 29.512, 5.6.2.29).
fn all_filters(rule: &Rule) -> Vec<PacketFilterInfo> {
    rule.filters.iter().map(PacketFilter::to_policy).collect()
}

fn deleted_filters(rule: &QosRule, old: &Rule) -> Result<Vec<PacketFilterInfo>, GsmCause> {
    let one = |filter: &QosPacketFilter| {
        let mut known = old.filters.iter().enumerate();
        let found = known.find(|(n, known)| identifier(known, *n) == filter.identifier());
        found.map(|(_, known)| known.to_policy()).ok_or(GsmCause::SyntacticalErrorInTheQosOperation)
    };
    let all = rule.packet_filters.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    // A rule needs a filter (6.4.2.4 b).
    if all.len() >= old.filters.len() {
        Err(GsmCause::SemanticErrorInTheQosOperation)
    } else {
        Ok(all)
    }
}

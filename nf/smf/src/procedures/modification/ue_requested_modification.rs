//! PDU session modification that the UE asks for (TS 24.501, 6.4.2; TS 23.502, 4.3.3.2, step 1a):
//! the PCF grants it or not, and what it grants is carried out as any of its decisions.
//!
//! One rule in a request: `UeInitiatedResourceRequest` (TS 29.512, 5.6.2.29) has room for no more.
use crate::filter::Filter;
use crate::flows::{Flow, Rule};
use crate::procedures::modification::network_requested_modification::{
    self, not_carried_out, prepare,
};
use crate::procedures::n1_n2_transfer::{N1, N2, n1_answer, reference};
use crate::session::{QFI, Session, Updated};
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

/// The rule that every session has.
const DEFAULT_RULE: u8 = 1;
/// Identifiers of packet filters are 1 to 15.
const LAST_FILTER: u8 = 15;

/// PDU SESSION MODIFICATION REQUEST.
pub async fn run(
    session: &mut Session,
    pti: u8,
    request: &NasPduSessionModificationRequest,
) -> Updated {
    let started = Instant::now();
    if pti == 0 || pti == 255 {
        return n1_answer(n1::modification_reject(session.id, pti, GsmCause::InvalidPtiValue, 0));
    }
    // The network's own procedures come first, and the UE gives its own up (6.3.2.5 c, 6.3.3.5).
    if session.is_releasing() {
        return Ok(None);
    }
    if let Some(modifying) = &session.modifying {
        // The same request again: so is its answer.
        return if modifying.pti == pti { n1_answer(modifying.command.clone()) } else { Ok(None) };
    }
    match carry_out(session, pti, request).await {
        Ok((command, change)) => {
            metrics::procedure("requested_modification", "ok", started);
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
            metrics::procedure("requested_modification", "rejected", started);
            tracing::info!(supi = %session.supi, session = session.id, cause = cause.as_u8(), "a UE's change is refused");
            n1_answer(n1::modification_reject(
                session.id,
                pti,
                cause,
                session.smf.config.back_off_s,
            ))
        }
    }
}

/// What UE and gNB are told.
async fn carry_out(
    session: &mut Session,
    pti: u8,
    request: &NasPduSessionModificationRequest,
) -> Result<(Vec<u8>, Option<Vec<u8>>), GsmCause> {
    let rules = match &request.requested_qos_rules {
        None => Vec::new(),
        // What the codec does not take of a rule it passes over.
        Some(rules) => Some(rules.rules())
            .filter(|r| !r.is_empty())
            .ok_or(GsmCause::SyntacticalErrorInTheQosOperation)?,
    };
    let descriptions = match &request.requested_qos_flow_descriptions {
        None => Vec::new(),
        Some(all) => all.try_descriptions().ok_or(GsmCause::SyntacticalErrorInTheQosOperation)?,
    };
    let before = network_requested_modification::now(session);
    if let Some(asked) = translate(&session.flows, session.five_qi, &rules, &descriptions)? {
        let (pcf, id) = session.policy.clone().ok_or(GsmCause::RequestRejectedUnspecified)?;
        let known = session.decided.clone();
        let update = SmPolicyUpdateContextData {
            rep_policy_ctrl_req_triggers: Some(vec![PolicyControlRequestTrigger::ResMoRe]),
            ue_init_res_req: Some(asked),
            ..Default::default()
        };
        let decision = pcf.update_sm_policy(&id, update).await.map_err(|problem| {
            tracing::info!(supi = %session.supi, session = session.id, %problem, "the PCF does not grant a UE's change");
            match problem.cause() {
                "POLICY_CONTEXT_DENIED" => GsmCause::FiveGsQosNotAccepted,
                "ERROR_TRAFFIC_MAPPING_INFO_REJECTED" => GsmCause::SemanticErrorInTheQosOperation,
                _ => GsmCause::RequestRejectedUnspecified,
            }
        })?;
        network_requested_modification::take(session, &decision);
        // The UPF has no room for it, or is not there: nothing has changed.
        let undo = before.clone();
        match prepare(session, before, pti, always_on(session, request)).await {
            Ok(answer) => answer.ok_or(GsmCause::RequestRejectedUnspecified),
            Err(why) => {
                tracing::warn!(supi = %session.supi, session = session.id, why, "a UE's change is not carried out");
                (session.ambr, session.five_qi, session.arp) = (undo.0, undo.1, undo.2);
                let refused = std::mem::replace(&mut session.flows, undo.3);
                session.decided = known;
                not_carried_out(session, &refused).await;
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
    request.always_on_pdu_session_requested.as_ref().map(|_| session.always_on)
}

/// What the PCF is asked; `None` where the UE asks for nothing that it decides.
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
            ([], [description]) => of_description(flows, description).map(Some),
            // More than a PCF can be asked at a time.
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
        // 0 asks for an identifier (9.11.4.13).
        if rule.rule_id != 0 {
            return Err(GsmCause::SemanticErrorInTheQosOperation);
        }
        let mut request =
            UeInitiatedResourceRequest::new(RuleOperation::CreatePccRule, filters_of(rule, &[])?);
        request.precedence = rule.precedence.map(u32::from).filter(|precedence| *precedence > 0);
        let qfi = rule.qfi.unwrap_or(0);
        request.req_qos = Some(match described(qfi) {
            Some(description) => quality(description, default_5qi)?,
            None if qfi == 0 || qfi == QFI => {
                RequestedQos { five_qi: default_5qi, ..Default::default() }
            }
            // To a flow that there is.
            None => {
                let flow = flows.iter().find(|flow| flow.qfi == qfi);
                quality_of(flow.ok_or(GsmCause::SemanticErrorInTheQosOperation)?)
            }
        });
        return Ok(Some(request));
    }
    let known = flows.iter().flat_map(|flow| flow.rules.iter().map(move |rule| (flow, rule)));
    let Some((flow, old)) = known.clone().find(|(_, known)| known.id == rule.rule_id) else {
        return match rule.op_code {
            // It is gone already.
            QosRuleOpCode::Delete => Ok(None),
            _ => Err(GsmCause::SyntacticalErrorInTheQosOperation),
        };
    };
    let (operation, filters) = match rule.op_code {
        QosRuleOpCode::Delete => (RuleOperation::DeletePccRule, all_of(old)),
        QosRuleOpCode::ModifyAdd => {
            (RuleOperation::ModifyPccRuleAndAddPacketFilters, filters_of(rule, &old.filters)?)
        }
        QosRuleOpCode::ModifyReplace => {
            (RuleOperation::ModifyPccRuleAndReplacePacketFilters, filters_of(rule, &[])?)
        }
        QosRuleOpCode::ModifyDelete => {
            (RuleOperation::ModifyPccRuleAndDeletePacketFilters, deleted(rule, old)?)
        }
        _ => (RuleOperation::ModifyPccRuleWithoutModifyPacketFilters, all_of(old)),
    };
    let mut request = UeInitiatedResourceRequest::new(operation, filters);
    request.pcc_rule_id = Some(old.pcc.clone());
    request.precedence = rule.precedence.map(u32::from).filter(|precedence| *precedence > 0);
    if let Some(description) = described(flow.qfi).filter(|d| d.op_code == QosFlowOpCode::Modify) {
        request.req_qos = Some(quality(description, flow.five_qi)?);
    }
    Ok(Some(request))
}

/// A flow description without a rule: the flow's QoS changes, or it goes.
fn of_description(
    flows: &[Flow],
    description: &QosFlowDescription,
) -> Result<UeInitiatedResourceRequest, GsmCause> {
    let flow = flows.iter().find(|flow| flow.qfi == description.qfi);
    // A new flow without a rule for it, one that is not there, and the default one.
    let flow = flow.ok_or(GsmCause::SemanticErrorInTheQosOperation)?;
    let [rule] = flow.rules.as_slice() else { return Err(GsmCause::RequestRejectedUnspecified) };
    let operation = match description.op_code {
        QosFlowOpCode::Modify => RuleOperation::ModifyPccRuleWithoutModifyPacketFilters,
        QosFlowOpCode::Delete => RuleOperation::DeletePccRule,
        _ => return Err(GsmCause::SemanticErrorInTheQosOperation),
    };
    let mut request = UeInitiatedResourceRequest::new(operation, all_of(rule));
    request.pcc_rule_id = Some(rule.pcc.clone());
    if description.op_code == QosFlowOpCode::Modify {
        request.req_qos = Some(quality(description, flow.five_qi)?);
    }
    Ok(request)
}

fn quality_of(flow: &Flow) -> RequestedQos {
    RequestedQos {
        five_qi: flow.five_qi,
        gbr_ul: flow.guaranteed.map(|rates| BitRate::from_bps(rates.uplink)),
        gbr_dl: flow.guaranteed.map(|rates| BitRate::from_bps(rates.downlink)),
    }
}

fn quality(description: &QosFlowDescription, default_5qi: u8) -> Result<RequestedQos, GsmCause> {
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

/// The filters of a rule, under identifiers that those beside them do not have.
fn filters_of(rule: &QosRule, beside: &[Filter]) -> Result<Vec<PacketFilterInfo>, GsmCause> {
    let mut taken: Vec<u8> =
        beside.iter().enumerate().map(|(n, filter)| identifier(filter, n)).collect();
    let mut all = Vec::new();
    for filter in &rule.packet_filters {
        let QosPacketFilter::Match { direction, components, .. } = filter else {
            return Err(GsmCause::SyntacticalErrorInTheQosOperation);
        };
        let free = (1..=LAST_FILTER).find(|id| !taken.contains(id));
        let id = free.ok_or(GsmCause::SemanticErrorInTheQosOperation)?;
        taken.push(id);
        let filter = Filter::of_nas(*direction, components, id).map_err(|why| {
            tracing::debug!(why, "a UE's packet filter is not taken");
            GsmCause::SemanticErrorsInPacketFilters
        })?;
        all.push(filter.to_policy());
    }
    Ok(all)
}

fn identifier(filter: &Filter, place: usize) -> u8 {
    if filter.id > 0 { filter.id } else { place as u8 + 1 }
}

/// The filters of a rule that stay, or go with it: the list must not be empty (TS 29.512,
/// 5.6.2.29).
fn all_of(rule: &Rule) -> Vec<PacketFilterInfo> {
    rule.filters.iter().map(Filter::to_policy).collect()
}

fn deleted(rule: &QosRule, old: &Rule) -> Result<Vec<PacketFilterInfo>, GsmCause> {
    let one = |filter: &QosPacketFilter| {
        let mut known = old.filters.iter().enumerate();
        let found = known.find(|(n, known)| identifier(known, *n) == filter.identifier());
        found.map(|(_, known)| known.to_policy()).ok_or(GsmCause::SyntacticalErrorInTheQosOperation)
    };
    let all = rule.packet_filters.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    // A rule without filters would match nothing (6.4.2.4 b).
    if all.len() >= old.filters.len() {
        Err(GsmCause::SemanticErrorInTheQosOperation)
    } else {
        Ok(all)
    }
}

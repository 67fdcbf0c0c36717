//! Npcf_SMPolicyControl (TS 29.512): a session rule with the subscribed limits, a default PCC rule
//! for all traffic, and PCC rules of the configured and UE-requested flows.
use crate::config::FlowConfig;
use crate::reload::Absent;
use crate::ue_initiated_resource_request::{self, Requested};
use crate::{Pcf, PcfConfig, user_unknown};
use martlet_sbi::{Compact, Created, Problem};
use martlet_sbi_api::Json;
use martlet_sbi_api::npcf_sm_policy_control::{
    AuthorizedDefaultQos, ChargingData, FlowDirection, FlowInformation, MeteringMethod, PccRule,
    PcfSmPolicyControl, PolicyControlRequestTrigger, QosData, RuleStatus, SessionRule,
    SmPolicyContextData, SmPolicyControl, SmPolicyDecision, SmPolicyDeleteData,
    SmPolicyNotification, SmPolicyUpdateContextData,
};
use martlet_sbi_api::nsmf_callback::SmfCallbackClient;
use martlet_sbi_api::nudr_dr::{SmPolicyData, SmPolicyDataQuery};
use std::collections::BTreeMap;

/// The name of the session rule and of the default PCC rule.
const DEFAULT_RULE: &str = "default";
/// The precedence of the default rule: evaluated last (TS 29.512, 5.6.2.6).
const LOWEST_PRECEDENCE: u32 = 255;

/// A session policy association.
#[derive(Clone, Compact)]
pub struct SmAssociation {
    /// The last request of the SMF.
    pub context: SmPolicyContextData,
    /// The granted requests of the UE.
    pub requested: Vec<Requested>,
}

fn unknown(id: &str) -> Problem {
    Problem::new(404, "POLICY_ASSOCIATION_NOT_FOUND").detail(format!("no policy association {id}"))
}

impl Pcf {
    /// The policy decision: as subscribed, else as configured.
    pub(crate) fn decide(&self, association: &SmAssociation) -> SmPolicyDecision {
        let (config, context) = (self.config(), &association.context);
        let subscribed = context.subs_def_qos.as_ref();
        let qos = AuthorizedDefaultQos {
            five_qi: Some(subscribed.map_or(config.default_5qi, |qos| qos.five_qi)),
            arp: Some(subscribed.map_or_else(|| config.arp(), |qos| qos.arp.clone())),
            priority_level: subscribed.and_then(|qos| qos.priority_level),
            ..Default::default()
        };
        let session = SessionRule {
            sess_rule_id: DEFAULT_RULE.into(),
            auth_sess_ambr: Some(context.subs_sess_ambr.clone().unwrap_or_else(|| config.ambr())),
            auth_def_qos: Some(qos),
            ..Default::default()
        };
        let mut pcc_rules = BTreeMap::from([(DEFAULT_RULE.into(), Some(default_rule()))]);
        let (mut qos_decs, mut chg_decs) = (BTreeMap::new(), BTreeMap::new());
        for flow in config.flows.iter().filter(|flow| applies_to(flow, context)) {
            pcc_rules.insert(flow.name.clone(), Some(rule(flow)));
            qos_decs.insert(flow.name.clone(), Some(quality(flow, &config)));
            chg_decs.extend(charging(flow).map(|data| (flow.name.clone(), Some(data))));
        }
        for requested in &association.requested {
            pcc_rules.insert(requested.name(), Some(requested.rule()));
            qos_decs.insert(requested.name(), Some(requested.quality(config.arp())));
        }
        SmPolicyDecision {
            sess_rules: Some(BTreeMap::from([(DEFAULT_RULE.into(), Some(session))])),
            pcc_rules: Some(pcc_rules),
            qos_decs: (!qos_decs.is_empty()).then_some(qos_decs),
            chg_decs: (!chg_decs.is_empty()).then_some(chg_decs),
            policy_ctrl_req_triggers: Some(vec![
                PolicyControlRequestTrigger::SeAmbrCh,
                PolicyControlRequestTrigger::DefQosCh,
                PolicyControlRequestTrigger::ResMoRe,
            ]),
            ..Default::default()
        }
    }
}

/// The rule for traffic that matches no other rule, with the QoS of the default flow.
fn default_rule() -> PccRule {
    let all = FlowInformation {
        flow_description: Some("permit out ip from any to assigned".into()),
        flow_direction: Some(FlowDirection::Bidirectional),
        ..Default::default()
    };
    PccRule {
        pcc_rule_id: DEFAULT_RULE.into(),
        precedence: Some(LOWEST_PRECEDENCE),
        flow_infos: Some(vec![all]),
        ..Default::default()
    }
}

fn applies_to(flow: &FlowConfig, context: &SmPolicyContextData) -> bool {
    let dnn = flow.dnn.is_empty() || flow.dnn.eq_ignore_ascii_case(&context.dnn);
    dnn && (flow.supis.is_empty() || flow.supis.iter().any(|supi| *supi == *context.supi))
}

fn rule(flow: &FlowConfig) -> PccRule {
    let filter = |text: &String| {
        let frames = crate::ethernet_filter::parse(text).ok().flatten();
        FlowInformation {
            flow_description: frames.is_none().then(|| text.clone()),
            eth_flow_description: frames,
            flow_direction: Some(FlowDirection::Bidirectional),
            packet_filter_usage: Some(true),
            ..Default::default()
        }
    };
    PccRule {
        pcc_rule_id: flow.name.clone(),
        precedence: Some(flow.precedence.into()),
        flow_infos: Some(flow.filters.iter().map(filter).collect()),
        ref_qos_data: Some(vec![flow.name.clone()]),
        ref_chg_data: flow.rating_group.map(|_| vec![flow.name.clone()]),
        ..Default::default()
    }
}

/// The charging data of a flow with a rating group of its own.
fn charging(flow: &FlowConfig) -> Option<ChargingData> {
    let rating_group = Some(flow.rating_group?);
    let metering_method = Some(MeteringMethod::Volume);
    Some(ChargingData {
        chg_id: flow.name.clone(),
        rating_group,
        metering_method,
        ..Default::default()
    })
}

fn quality(flow: &FlowConfig, config: &PcfConfig) -> QosData {
    let rate = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
    let mut arp = config.arp();
    if flow.arp > 0 {
        arp.priority_level = flow.arp;
    }
    QosData {
        qos_id: flow.name.clone(),
        five_qi: Some(flow.five_qi),
        arp: Some(arp),
        gbr_ul: rate(&flow.guaranteed_uplink),
        gbr_dl: rate(&flow.guaranteed_downlink),
        maxbr_ul: rate(&flow.maximum_uplink),
        maxbr_dl: rate(&flow.maximum_downlink),
        ..Default::default()
    }
}

/// The changes from one decision to another. A removed element has no value (TS 29.512, 4.2.3.2).
fn difference(before: &SmPolicyDecision, now: &SmPolicyDecision) -> Option<SmPolicyDecision> {
    fn of<T: Clone + PartialEq>(
        before: &Option<BTreeMap<String, Option<T>>>,
        now: &Option<BTreeMap<String, Option<T>>>,
    ) -> Option<BTreeMap<String, Option<T>>> {
        let empty = BTreeMap::new();
        let (before, now) = (before.as_ref().unwrap_or(&empty), now.as_ref().unwrap_or(&empty));
        let gone = before.keys().filter(|id| !now.contains_key(*id)).map(|id| (id.clone(), None));
        let changed = now.iter().filter(|(id, value)| before.get(*id) != Some(value));
        let all: BTreeMap<_, _> =
            gone.chain(changed.map(|(id, value)| (id.clone(), value.clone()))).collect();
        (!all.is_empty()).then_some(all)
    }
    let changed = SmPolicyDecision {
        sess_rules: of(&before.sess_rules, &now.sess_rules),
        pcc_rules: of(&before.pcc_rules, &now.pcc_rules),
        qos_decs: of(&before.qos_decs, &now.qos_decs),
        chg_decs: of(&before.chg_decs, &now.chg_decs),
        ..Default::default()
    };
    (changed != SmPolicyDecision::default()).then_some(changed)
}

impl Pcf {
    /// Whether the decision about a session is another one now.
    pub(crate) fn is_changed(
        &self,
        before: &SmPolicyDecision,
        association: &SmAssociation,
    ) -> bool {
        difference(before, &self.decide(association)).is_some()
    }

    /// Npcf_SMPolicyControl_UpdateNotify: the difference between an earlier decision and that of
    /// now, since the SMF may have had an update meanwhile. Returns whether to repeat it. SMFs that
    /// are `absent` are not asked, and one that does not answer is added.
    pub(crate) async fn notify_session(
        &self,
        id: &str,
        before: &SmPolicyDecision,
        absent: &mut Absent,
    ) -> bool {
        let Some(association) = self.sm.get(id) else { return false };
        let Some(changed) = difference(before, &self.decide(&association)) else { return false };
        let context = association.context;
        if absent.contains(&context.notification_uri) {
            return true;
        }
        let uri = format!("{}/npcf-smpolicycontrol/v1/sm-policies/{id}", self.context.api_root());
        let body =
            SmPolicyNotification { resource_uri: Some(uri), sm_policy_decision: Some(changed) };
        let smf = SmfCallbackClient::new(self.context.callback_peer().about(&context.supi));
        let uri = format!("{}/update", context.notification_uri);
        let Err(problem) = smf.sm_policy_update_notify(&uri, body).await else { return false };
        tracing::warn!(supi = %context.supi, %problem, "policy update notification failed");
        absent.is_to_repeat(&context.notification_uri, &problem)
    }
}

/// Whether the policy data include the session's data network.
fn includes(data: &SmPolicyData, context: &SmPolicyContextData) -> bool {
    let slices =
        data.sm_policy_snssai_data.values().filter(|slice| slice.snssai == context.slice_info);
    // A slice without data networks allows them all (TS 29.519, 5.4.2.6).
    slices.map(|slice| slice.sm_policy_dnn_data.as_ref()).any(|networks| {
        networks.is_none_or(|networks| {
            networks.values().any(|network| network.dnn.eq_ignore_ascii_case(&context.dnn))
        })
    })
}

impl PcfSmPolicyControl for Pcf {
    async fn create_sm_policy(
        &self,
        body: SmPolicyContextData,
    ) -> Result<Created<SmPolicyDecision>, Problem> {
        self.context.check_callback(&body.notification_uri).await?;
        let udr = self.udr(&body.supi).await?;
        let (snssai, dnn) = (Some(Json(body.slice_info)), Some(body.dnn.clone()));
        let query = SmPolicyDataQuery { snssai, dnn, ..Default::default() };
        let policy_data = udr.read_session_management_policy_data(&body.supi, query).await;
        let policy_data = crate::if_found(policy_data).map_err(user_unknown)?;
        if policy_data.is_some_and(|data| !includes(&data, &body)) {
            let detail = format!(
                "no policy data for data network {} in slice {}",
                body.dnn, body.slice_info
            );
            return Err(Problem::new(403, "POLICY_CONTEXT_DENIED").detail(detail));
        }
        let subject = format!("{} {}", body.supi, body.pdu_session_id);
        let association = SmAssociation { context: body, requested: Vec::new() };
        let decision = self.decide(&association);
        let id = self.sm.add(subject, association).ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION")
                .detail("too many policy associations: raise pcf.max_sm_policies")
        })?;
        let location =
            format!("{}/npcf-smpolicycontrol/v1/sm-policies/{id}", self.context.api_root());
        Ok(Created { location, body: decision })
    }

    async fn get_sm_policy(&self, sm_policy_id: &str) -> Result<SmPolicyControl, Problem> {
        let association = self.sm.get(sm_policy_id).ok_or_else(|| unknown(sm_policy_id))?;
        Ok(SmPolicyControl { policy: self.decide(&association), context: association.context })
    }

    async fn update_sm_policy(
        &self,
        sm_policy_id: &str,
        body: SmPolicyUpdateContextData,
    ) -> Result<SmPolicyDecision, Problem> {
        let config = self.config();
        let changed = self.sm.change(sm_policy_id, |association| {
            let before = self.decide(association);
            if let Some(request) = &body.ue_init_res_req {
                ue_initiated_resource_request::execute(
                    &mut association.requested,
                    request,
                    &config,
                )?;
            }
            // Remove the UE's rules that the SMF could not enforce.
            let reports = body
                .rule_reports
                .iter()
                .flatten()
                .filter(|report| report.rule_status == RuleStatus::Inactive);
            let lost: Vec<&String> = reports.flat_map(|report| &report.pcc_rule_ids).collect();
            association.requested.retain(|requested| !lost.contains(&&requested.name()));
            merge(&mut association.context, body);
            // The response contains only changes (TS 29.512, 4.2.4.2).
            Ok::<_, Problem>(difference(&before, &self.decide(association)))
        });
        Ok(changed.ok_or_else(|| unknown(sm_policy_id))??.unwrap_or_default())
    }

    async fn delete_sm_policy(
        &self,
        sm_policy_id: &str,
        _: SmPolicyDeleteData,
    ) -> Result<(), Problem> {
        if self.sm.remove(sm_policy_id) { Ok(()) } else { Err(unknown(sm_policy_id)) }
    }
}

/// Merges an update into the context: present members replace the earlier ones.
fn merge(context: &mut SmPolicyContextData, update: SmPolicyUpdateContextData) {
    context.subs_sess_ambr = update.subs_sess_ambr.or(context.subs_sess_ambr.take());
    context.subs_def_qos = update.subs_def_qos.or(context.subs_def_qos.take());
    context.access_type = update.access_type.or(context.access_type.take());
    context.rat_type = update.rat_type.or(context.rat_type.take());
    context.serving_network = update.serving_network.or(context.serving_network.take());
    context.user_location_info = update.user_location_info.or(context.user_location_info.take());
    context.serv_nf_id = update.serv_nf_id.or(context.serv_nf_id.take());
    if update.rel_ipv4_address.is_some() && update.rel_ipv4_address == context.ipv4_address {
        context.ipv4_address = None;
    }
    context.ipv4_address = update.ipv4_address.or(context.ipv4_address);
}

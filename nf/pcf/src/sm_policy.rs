//! Npcf_SMPolicyControl (TS 29.512): one session rule with what the subscription allows, and one PCC rule for all traffic.
use crate::{Pcf, user_unknown};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::Json;
use martlet_sbi_api::npcf_sm_policy_control::{
    AuthorizedDefaultQos, FlowDirection, FlowInformation, PccRule, PcfSmPolicyControl, PolicyControlRequestTrigger,
    SessionRule, SmPolicyContextData, SmPolicyControl, SmPolicyDecision, SmPolicyDeleteData, SmPolicyUpdateContextData,
};
use martlet_sbi_api::nudr_dr::{SmPolicyData, SmPolicyDataQuery};
use std::collections::BTreeMap;

/// Name of the one session rule, and of the one PCC rule.
const RULE: &str = "default";
/// Looked at after all others (TS 29.512, 5.6.2.6).
const LAST: u32 = 255;

fn unknown(id: &str) -> Problem {
    Problem::new(404, "POLICY_ASSOCIATION_NOT_FOUND").detail(format!("there is no policy association {id}"))
}

impl Pcf {
    /// What is authorised: what is subscribed, else what is configured.
    fn decide(&self, context: &SmPolicyContextData) -> SmPolicyDecision {
        let subscribed = context.subs_def_qos.as_ref();
        let qos = AuthorizedDefaultQos {
            five_qi: Some(subscribed.map_or(self.config.default_5qi, |qos| qos.five_qi)),
            arp: Some(subscribed.map_or_else(|| self.config.arp(), |qos| qos.arp.clone())),
            priority_level: subscribed.and_then(|qos| qos.priority_level),
            ..Default::default()
        };
        let session = SessionRule {
            sess_rule_id: RULE.into(),
            auth_sess_ambr: Some(context.subs_sess_ambr.clone().unwrap_or_else(|| self.config.ambr())),
            auth_def_qos: Some(qos),
            ..Default::default()
        };
        SmPolicyDecision {
            sess_rules: Some(BTreeMap::from([(RULE.into(), Some(session))])),
            pcc_rules: Some(BTreeMap::from([(RULE.into(), Some(everything()))])),
            policy_ctrl_req_triggers: Some(vec![
                PolicyControlRequestTrigger::SeAmbrCh,
                PolicyControlRequestTrigger::DefQosCh,
            ]),
            ..Default::default()
        }
    }
}

/// The rule that all traffic meets that no other rule does; its QoS is that of the default flow.
fn everything() -> PccRule {
    let all = FlowInformation {
        flow_description: Some("permit out ip from any to assigned".into()),
        flow_direction: Some(FlowDirection::Bidirectional),
        ..Default::default()
    };
    PccRule { pcc_rule_id: RULE.into(), precedence: Some(LAST), flow_infos: Some(vec![all]), ..Default::default() }
}

/// Whether the policy data have the data network of the session.
fn has(data: &SmPolicyData, context: &SmPolicyContextData) -> bool {
    let slices = data.sm_policy_snssai_data.values().filter(|slice| slice.snssai == context.slice_info);
    // A slice without data networks allows them all (TS 29.519, 5.4.2.6).
    slices.map(|slice| slice.sm_policy_dnn_data.as_ref()).any(|networks| {
        networks.is_none_or(|networks| networks.values().any(|network| network.dnn.eq_ignore_ascii_case(&context.dnn)))
    })
}

impl PcfSmPolicyControl for Pcf {
    async fn create_sm_policy(&self, body: SmPolicyContextData) -> Result<Created<SmPolicyDecision>, Problem> {
        let udr = self.udr(&body.supi).await?;
        let (snssai, dnn) = (Some(Json(body.slice_info)), Some(body.dnn.clone()));
        let query = SmPolicyDataQuery { snssai, dnn, ..Default::default() };
        let policy_data = udr.read_session_management_policy_data(&body.supi, query).await;
        let policy_data = crate::if_there(policy_data).map_err(user_unknown)?;
        if policy_data.is_some_and(|data| !has(&data, &body)) {
            let detail = format!("no policy for data network {} in slice {}", body.dnn, body.slice_info);
            return Err(Problem::new(403, "POLICY_CONTEXT_DENIED").detail(detail));
        }
        let decision = self.decide(&body);
        let subject = format!("{} {}", body.supi, body.pdu_session_id);
        let id = self.sm.add(subject, body).ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("too many policy associations: raise pcf.max_sm_policies")
        })?;
        let location = format!("{}/npcf-smpolicycontrol/v1/sm-policies/{id}", self.context.api_root());
        Ok(Created { location, body: decision })
    }

    async fn get_sm_policy(&self, sm_policy_id: &str) -> Result<SmPolicyControl, Problem> {
        let context = self.sm.get(sm_policy_id).ok_or_else(|| unknown(sm_policy_id))?;
        Ok(SmPolicyControl { policy: self.decide(&context), context })
    }

    async fn update_sm_policy(
        &self,
        sm_policy_id: &str,
        body: SmPolicyUpdateContextData,
    ) -> Result<SmPolicyDecision, Problem> {
        let changed = self.sm.change(sm_policy_id, |context| {
            let before = self.decide(context).sess_rules;
            take_over(context, body);
            let now = self.decide(context).sess_rules;
            // Only what changes is told (TS 29.512, 4.2.4.2).
            if now == before { None } else { now }
        });
        let sess_rules = changed.ok_or_else(|| unknown(sm_policy_id))?;
        Ok(SmPolicyDecision { sess_rules, ..Default::default() })
    }

    async fn delete_sm_policy(&self, sm_policy_id: &str, _: SmPolicyDeleteData) -> Result<(), Problem> {
        if self.sm.remove(sm_policy_id) { Ok(()) } else { Err(unknown(sm_policy_id)) }
    }
}

/// What an update says replaces what was said before; what it does not say stays.
fn take_over(context: &mut SmPolicyContextData, update: SmPolicyUpdateContextData) {
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

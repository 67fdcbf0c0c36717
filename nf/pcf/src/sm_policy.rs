//! Npcf_SMPolicyControl (TS 29.512): one session rule with what the subscription allows.
use crate::{Pcf, user_unknown};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{Ambr, Arp, BitRate, PreemptionCapability, PreemptionVulnerability};
use martlet_sbi_api::npcf_sm_policy_control::{
    AuthorizedDefaultQos, PcfSmPolicyControl, SessionRule, SmPolicyContextData, SmPolicyControl, SmPolicyDecision,
    SmPolicyDeleteData, SmPolicyUpdateContextData,
};
use martlet_sbi_api::nudr_dr::SmPolicyDataQuery;
use std::collections::BTreeMap;

/// Name of the one session rule.
const RULE: &str = "default";

fn unknown(id: &str) -> Problem {
    Problem::new(404, "POLICY_ASSOCIATION_NOT_FOUND").detail(format!("there is no policy association {id}"))
}

impl Pcf {
    /// What is authorised: what is subscribed, else what is configured.
    fn decide(&self, context: &SmPolicyContextData) -> SmPolicyDecision {
        let rate = || self.config.default_ambr.parse::<BitRate>().unwrap_or_else(|_| BitRate::from_bps(1_000_000_000));
        let ambr = context.subs_sess_ambr.clone().unwrap_or_else(|| Ambr { uplink: rate(), downlink: rate() });
        let arp = Arp {
            priority_level: self.config.default_arp,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        };
        let subscribed = context.subs_def_qos.as_ref();
        let qos = AuthorizedDefaultQos {
            five_qi: Some(subscribed.map_or(self.config.default_5qi, |qos| qos.five_qi)),
            arp: Some(subscribed.map_or(arp, |qos| qos.arp.clone())),
            priority_level: subscribed.and_then(|qos| qos.priority_level),
            ..Default::default()
        };
        let mut rule = SessionRule { sess_rule_id: RULE.into(), ..Default::default() };
        rule.auth_sess_ambr = Some(ambr);
        rule.auth_def_qos = Some(qos);
        SmPolicyDecision { sess_rules: Some(BTreeMap::from([(RULE.into(), Some(rule))])), ..Default::default() }
    }
}

impl PcfSmPolicyControl for Pcf {
    async fn create_sm_policy(&self, body: SmPolicyContextData) -> Result<Created<SmPolicyDecision>, Problem> {
        let udr = self.udr(&body.supi).await?;
        let (snssai, dnn) = (Some(Json(body.slice_info)), Some(body.dnn.clone()));
        let query = SmPolicyDataQuery { snssai, dnn, ..Default::default() };
        udr.read_session_management_policy_data(&body.supi, query).await.map_err(user_unknown)?;
        let decision = self.decide(&body);
        let subject = format!("{} {}", body.supi, body.pdu_session_id);
        let control = SmPolicyControl { context: body, policy: decision.clone() };
        let id = self.sm.add(subject, control).ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("too many policy associations: raise pcf.max_sm_policies")
        })?;
        let location = format!("{}/npcf-smpolicycontrol/v1/sm-policies/{id}", self.context.api_root());
        Ok(Created { location, body: decision })
    }

    async fn get_sm_policy(&self, sm_policy_id: &str) -> Result<SmPolicyControl, Problem> {
        self.sm.get(sm_policy_id).ok_or_else(|| unknown(sm_policy_id))
    }

    async fn update_sm_policy(
        &self,
        sm_policy_id: &str,
        _: SmPolicyUpdateContextData,
    ) -> Result<SmPolicyDecision, Problem> {
        // No decision here depends on what an update tells: nothing changes.
        self.sm.get(sm_policy_id).map(|_| SmPolicyDecision::default()).ok_or_else(|| unknown(sm_policy_id))
    }

    async fn delete_sm_policy(&self, sm_policy_id: &str, _: SmPolicyDeleteData) -> Result<(), Problem> {
        if self.sm.remove(sm_policy_id) { Ok(()) } else { Err(unknown(sm_policy_id)) }
    }
}

//! SM policy association (TS 23.502, 4.16.4 to 4.16.6; TS 29.512, 4.2).
//!
//! ```text
//! SMF                                        PCF
//!  |-- Npcf_SMPolicyControl_Create --------->|   create
//!  |<-- decision ----------------------------|   apply
//!  |-- Npcf_SMPolicyControl_Update --------->|   report_rejected_rules, report_unchanged_rules
//!  |-- Npcf_SMPolicyControl_Delete --------->|   delete
//! ```
use crate::qos_flows::{self, Flow};
use crate::session::{PolicyAssociation, Session};
use martlet_nf::Criteria;
use martlet_sbi::Problem;
use martlet_sbi_api::common::{AccessType, Gpsi, Pei, PlmnId, RatType, UserLocation};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::{
    FailureCode, PcfSmPolicyControlClient, RuleReport, RuleStatus, ServingNfIdentity,
    SmPolicyContextData, SmPolicyDecision, SmPolicyDeleteData, SmPolicyUpdateContextData,
};
use martlet_sbi_api::nsmf_pdusession::{
    DnnSelectionMode, SmContextCreateData, SmContextReleaseData,
};
use martlet_sbi_api::nudm_sdm::DnnConfiguration;
use std::sync::Arc;

/// What the AMF reported of a UE and its access (TS 29.512, 4.2.2.2).
#[derive(Default)]
pub struct AccessInfo {
    access_type: Option<AccessType>,
    pub rat_type: Option<RatType>,
    pub location: Option<UserLocation>,
    pub time_zone: Option<String>,
    pub pei: Option<Pei>,
    pub gpsi: Option<Gpsi>,
    dnn_sel_mode: Option<DnnSelectionMode>,
    pub amf: Option<ServingNfIdentity>,
}

impl AccessInfo {
    /// The access information of a CreateSMContext request.
    pub fn of(data: &SmContextCreateData) -> Self {
        AccessInfo {
            access_type: Some(data.an_type),
            rat_type: data.rat_type.clone(),
            location: data.ue_location.clone(),
            time_zone: data.ue_time_zone.clone(),
            pei: data.pei.clone(),
            gpsi: data.gpsi.clone(),
            dnn_sel_mode: data.sel_mode.clone(),
            amf: Some(ServingNfIdentity {
                serv_nf_inst_id: Some(data.serving_nf_id.clone()),
                guami: data.guami.clone(),
            }),
        }
    }
}

/// Npcf_SMPolicyControl_Create: creates the association and applies its first decision.
pub async fn create(
    session: &mut Session,
    subscription: &DnnConfiguration,
    access: &AccessInfo,
) -> Result<(), Problem> {
    let context = &session.smf.context;
    let peer = context
        .discover(NfType::Pcf, "npcf-smpolicycontrol", &Criteria::default())
        .await?
        .about(&session.supi);
    let pcf = PcfSmPolicyControlClient::new(peer);
    let notify = format!("{}/nsmf-callback/v1/sm-policy/{}", context.api_root(), session.reference);
    let parameters = &session.parameters;
    let mut data = SmPolicyContextData::new(
        session.supi.clone(),
        session.id,
        parameters.kind.clone(),
        session.dnn.clone(),
        notify,
        session.slice,
    );
    // Martlet's SMF serves 3GPP access with NR. PCFs of others refuse a context without these.
    data.access_type = access.access_type.or(Some(AccessType::ThreeGppAccess));
    data.rat_type = access.rat_type.clone().or(Some(RatType::Nr));
    data.serving_network = Some(session.plmn.clone().into());
    data.user_location_info = access.location.clone();
    data.ue_time_zone = access.time_zone.clone();
    data.pei = access.pei.clone();
    data.gpsi = access.gpsi.clone();
    data.dnn_sel_mode = access.dnn_sel_mode.clone();
    data.serv_nf_id = access.amf.clone();
    data.smf_id = Some(session.smf.instance_id.clone());
    data.subs_sess_ambr = subscription.session_ambr.clone();
    data.subs_def_qos = subscription.five_g_qos_profile.clone();
    data.ssc_mode = Some(parameters.ssc_mode());
    data.ipv4_address = parameters.addresses.ipv4;
    data.ipv6_address_prefix = parameters.addresses.ipv6().map(|prefix| format!("{prefix}/64"));
    let (six, four): (Vec<String>, Vec<String>) =
        parameters.framed_routes.iter().cloned().partition(|route| route.contains(':'));
    data.ipv4_frame_route_list = Some(four).filter(|routes| !routes.is_empty());
    data.ipv6_frame_route_list = Some(six).filter(|routes| !routes.is_empty());
    let created = pcf.create_sm_policy(data).await?;
    let id = created.location.rsplit('/').next().unwrap_or_default().to_string();
    session.policy = Some(PolicyAssociation { pcf, id });
    apply(session, &created.body);
    Ok(())
}

/// Applies a decision to the session's QoS. UPF, gNB and UE are not changed.
pub fn apply(session: &mut Session, decision: &SmPolicyDecision) {
    let default_group = session.smf.config.charging.rating_group;
    let qos = &mut session.qos;
    Arc::make_mut(&mut qos.rules).merge(decision);
    let rule = decision.sess_rules.iter().flatten().find_map(|(_, rule)| rule.clone());
    if let Some(rule) = rule {
        if let Some(ambr) = rule.auth_sess_ambr {
            qos.ambr = ambr;
        }
        if let Some(default) = rule.auth_def_qos {
            qos.five_qi = default.five_qi.unwrap_or(qos.five_qi);
            qos.arp = default.arp.unwrap_or_else(|| qos.arp.clone());
        }
    }
    qos.flows = qos_flows::bind(&qos.flows, &qos.rules, &qos.arp);
    // Rules of the default rating group need no URR of their own.
    for rule in qos.flows.iter_mut().flat_map(|flow| &mut flow.rules) {
        rule.rating_group = rule
            .rating_group
            .filter(|group| *group != default_group && crate::n4::urr_of(*group).is_some());
    }
}

/// Npcf_SMPolicyControl_Update: reports the rules of rejected flows that are not enforced (TS
/// 29.512, 4.2.4.15).
pub async fn report_rejected_rules(session: &mut Session, rejected: &[Flow]) {
    let enforced = rules_of(&session.qos.flows);
    let mut lost = rules_of(rejected);
    lost.retain(|pcc| !enforced.contains(pcc));
    if !lost.is_empty() && session.policy.is_some() {
        Arc::make_mut(&mut session.qos.rules).remove(&lost);
        report(session, lost, RuleStatus::Inactive).await;
    }
}

/// Npcf_SMPolicyControl_Update: reports the rules of flows that could not be changed. They are
/// active, with their earlier QoS (TS 29.512, 4.2.3.16).
pub async fn report_unchanged_rules(session: &Session, unchanged: &[Flow]) {
    report(session, rules_of(unchanged), RuleStatus::Active).await;
}

/// The names of the PCC rules of flows.
fn rules_of(flows: &[Flow]) -> Vec<String> {
    flows.iter().flat_map(|flow| &flow.rules).map(|rule| rule.pcc.clone()).collect()
}

/// Reports the status of rules for which there are no resources.
async fn report(session: &Session, rules: Vec<String>, status: RuleStatus) {
    let policy = session.policy.clone().filter(|_| !rules.is_empty());
    let Some(PolicyAssociation { pcf, id }) = policy else { return };
    let mut report = RuleReport::new(rules, status);
    report.failure_code = Some(FailureCode::ResAlloFail);
    let update =
        SmPolicyUpdateContextData { rule_reports: Some(vec![report]), ..Default::default() };
    if let Err(problem) = pcf.update_sm_policy(&id, update).await {
        tracing::debug!(supi = %session.supi, %problem, "rule report to PCF failed");
    }
}

/// Npcf_SMPolicyControl_Delete, with what the AMF reported at the release (TS 29.512, 4.2.5.2).
pub async fn delete(
    association: &PolicyAssociation,
    serving_network: PlmnId,
    reported: Option<&SmContextReleaseData>,
) -> Result<(), Problem> {
    let PolicyAssociation { pcf, id } = association;
    let mut data =
        SmPolicyDeleteData { serving_network: Some(serving_network.into()), ..Default::default() };
    if let Some(reported) = reported {
        data.user_location_info = reported.ue_location.clone();
        data.ue_time_zone = reported.ue_time_zone.clone();
    }
    pcf.delete_sm_policy(id, data).await.map(|_| ())
}

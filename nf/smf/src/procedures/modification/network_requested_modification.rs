//! PDU session modification by the network (TS 23.502, 4.3.3.2): a policy or a subscription
//! changes, and with it the session's bit rate, its default flow, and the flows beside it, at UPF,
//! gNB and UE.
use crate::flows::{self, Flow};
use crate::n4::{FlowsChange, divided, to_flows};
use crate::procedures::charging::converged_charging;
use crate::procedures::establishment::pdu_session_establishment::subscription;
use crate::procedures::n1_n2_transfer::{parameters, to_ngap};
use crate::procedures::release::pdu_session_release;
use crate::session::{QFI, Session};
use crate::{metrics, n1};
use martlet_nas::GsmCause;
use martlet_nf::Criteria;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::{self, FailedFlow, FlowChange, ModifyRequest, QosFlow};
use martlet_pfcp::Message;
use martlet_sbi::Problem;
use martlet_sbi_api::common::Ambr;
use martlet_sbi_api::namf_communication::{N1N2MessageTransferCause, NgapIeType};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::{
    FailureCode, PolicyControlRequestTrigger, RuleReport, RuleStatus, SmPolicyDecision,
    SmPolicyUpdateContextData,
};
use martlet_sbi_api::nudm_sdm::{SdmSubscription, UdmSubscriberDataManagementClient};
use std::sync::Arc;
use std::time::Instant;

/// Times that a UE is told of a modification (TS 24.501, 6.3.2.5 a).
const MOST_COMMANDS: u8 = 5;

/// What the UE was told to change.
pub struct Modifying {
    pub command: Vec<u8>,
    /// The procedure transaction of the UE's own request; 0 of the network's.
    pub pti: u8,
    pub sent: u8,
    /// As it was before, should the UE refuse.
    pub flows: Vec<Flow>,
}

/// Session-AMBR, 5QI and priority of the default flow, and the flows beside it.
pub type Before = (Ambr, u8, martlet_sbi_api::common::Arp, Vec<Flow>);

/// What the session is like now.
pub fn now(session: &Session) -> Before {
    (session.ambr.clone(), session.five_qi, session.arp.clone(), session.flows.clone())
}

/// Takes a decision of the PCF into the session, without telling anybody.
pub fn take(session: &mut Session, decision: &SmPolicyDecision) {
    Arc::make_mut(&mut session.decided).take(decision);
    let rule = decision.sess_rules.iter().flatten().find_map(|(_, rule)| rule.clone());
    if let Some(rule) = rule {
        if let Some(ambr) = rule.auth_sess_ambr {
            session.ambr = ambr;
        }
        if let Some(qos) = rule.auth_def_qos {
            session.five_qi = qos.five_qi.unwrap_or(session.five_qi);
            session.arp = qos.arp.unwrap_or_else(|| session.arp.clone());
        }
    }
    session.flows = flows::bind(&session.flows, &session.decided, &session.arp);
    // What has the session's own charging key is counted with it.
    let own = session.smf.config.charging.rating_group;
    for rule in session.flows.iter_mut().flat_map(|flow| &mut flow.rules) {
        rule.rating_group =
            rule.rating_group.filter(|group| *group != own && crate::n4::urr_of(*group).is_some());
    }
}

/// The PCF has decided anew (4.3.3.2, step 1b).
pub async fn by_policy(session: &mut Session, decision: SmPolicyDecision) {
    if session.is_releasing() {
        return;
    }
    let before = now(session);
    take(session, &decision);
    changed(session, before).await;
}

/// The session is no more as it was before: everybody is told.
pub async fn changed(session: &mut Session, before: Before) {
    let started = Instant::now();
    let outcome = carry_out(session, before).await;
    metrics::procedure(
        "pdu_session_modification",
        if outcome.is_ok() { "ok" } else { "failed" },
        started,
    );
    if let Err(why) = outcome {
        tracing::warn!(supi = %session.supi, session = session.id, why, "a session is not as its policy says");
    }
}

/// The subscriber's data have changed (4.3.3.2, step 1c): the PCF says what becomes of it. False
/// where the session ends.
pub async fn by_subscription(session: &mut Session) -> bool {
    if session.is_releasing() {
        return true;
    }
    let now = match subscription(&session.smf, &session.supi, session.slice, &session.dnn).await {
        Ok(now) => now,
        Err(problem) if problem.status() == 404 => {
            tracing::info!(supi = %session.supi, session = session.id, dnn = %session.dnn, "the data network is subscribed no more");
            return pdu_session_release::by_network(
                session,
                GsmCause::RequestedServiceOptionNotSubscribed,
            )
            .await;
        }
        Err(problem) => {
            tracing::warn!(supi = %session.supi, session = session.id, %problem, "the changed subscription was not read");
            return true;
        }
    };
    let Some((pcf, id)) = session.policy.clone() else { return true };
    let update = SmPolicyUpdateContextData {
        rep_policy_ctrl_req_triggers: Some(vec![
            PolicyControlRequestTrigger::SeAmbrCh,
            PolicyControlRequestTrigger::DefQosCh,
        ]),
        subs_sess_ambr: now.session_ambr,
        subs_def_qos: now.five_g_qos_profile,
        ..Default::default()
    };
    match pcf.update_sm_policy(&id, update).await {
        Ok(decision) => by_policy(session, decision).await,
        Err(problem) => {
            tracing::warn!(supi = %session.supi, session = session.id, %problem, "the PCF was not told of the changed subscription");
        }
    }
    true
}

/// Brings UPF, gNB and UE up to date with the session.
async fn carry_out(session: &mut Session, before: Before) -> Result<(), &'static str> {
    let Some((command, n2)) = prepare(session, before, 0, None).await? else { return Ok(()) };
    // An idle UE is paged for it.
    let sent = session.transfer(Some(command), n2.map(|n2| (NgapIeType::PduResModReq, n2))).await;
    if let Err(problem) = sent {
        // It learns it when it is connected again: T3591 goes on.
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the UE does not learn of a change yet");
    }
    Ok(())
}

/// Brings the UPF up to date with the session: what UE and gNB are to be told; `None` where nothing
/// changes. A UE that has asked (with a procedure transaction of its own) is always answered.
pub async fn prepare(
    session: &mut Session,
    (old_ambr, old_5qi, old_arp, old_flows): Before,
    pti: u8,
    always_on: Option<bool>,
) -> Result<Option<(Vec<u8>, Option<Vec<u8>>)>, &'static str> {
    let ambr = (session.ambr != old_ambr).then(|| session.ambr.clone());
    let default = (session.five_qi != old_5qi).then_some((QFI, session.five_qi));
    let default_qos = default.is_some() || session.arp != old_arp;
    if ambr.is_none() && !default_qos && session.flows == old_flows && pti == 0 {
        return Ok(None);
    }
    tracing::info!(supi = %session.supi, session = session.id, flows = session.flows.len(), "a session changes");
    user_plane(session, &old_flows, ambr.as_ref()).await?;
    // What the gNB has to know, while it has the session: else it learns all with the next
    // activation.
    let n2 = session
        .active
        .then(|| gnb_change(session, &old_flows, ambr.as_ref(), default_qos))
        .flatten();
    let ambr = ambr.as_ref();
    let changed = n1::Changed {
        id: session.id,
        pti,
        ambr,
        default,
        always_on,
        before: &old_flows,
        now: &session.flows,
    };
    let command = n1::modification_command(&changed).ok_or("the command does not encode")?;
    session.modifying =
        Some(Modifying { command: command.clone(), pti, sent: 1, flows: old_flows });
    Ok(Some((command, n2)))
}

async fn user_plane(
    session: &mut Session,
    before: &[Flow],
    ambr: Option<&Ambr>,
) -> Result<(), &'static str> {
    converged_charging::also(session).await;
    let Some(upf) = session.anchor.or(session.upf) else {
        return Err("the session has no user plane");
    };
    let groups = converged_charging::counted(session);
    let now = session.flows.clone();
    let change = to_flows(&FlowsChange {
        subject: session.subject(),
        tunnel: (upf.teid, upf.address),
        before,
        now: &now,
        groups: &groups,
        ambr: ambr.map(|ambr| (ambr.uplink.bps(), ambr.downlink.bps())),
    });
    let Some(mut change) = change else { return Ok(()) };
    if let Some(anchor) = session.anchor {
        let (at_anchor, here) = divided(change);
        if let Some(at_anchor) = at_anchor {
            match session.smf.n4.request(anchor.upf, Some(anchor.seid), at_anchor).await {
                Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {}
                _ => return Err("the anchor refused"),
            }
        }
        let Some(here) = here else { return Ok(()) };
        change = here;
    }
    session.modify(change).await.map_err(|error| {
        tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not change the session");
        "the UPF refused"
    })
}

/// PDU Session Resource Modify Request Transfer.
fn gnb_change(
    session: &Session,
    before: &[Flow],
    ambr: Option<&Ambr>,
    default: bool,
) -> Option<Vec<u8>> {
    let known = |flow: &&Flow| {
        !before.iter().any(|old| (old.qfi, parameters(old)) == (flow.qfi, parameters(flow)))
    };
    let mut changes: Vec<FlowChange> = session
        .flows
        .iter()
        .filter(known)
        .map(|flow| FlowChange { qfi: flow.qfi, qos: Some(parameters(flow)) })
        .collect();
    if default {
        let flow = QosFlow::standard(QFI, session.five_qi, to_ngap(&session.arp));
        changes.push(FlowChange { qfi: QFI, qos: Some(flow.qos) });
    }
    let gone = before.iter().filter(|old| !session.flows.iter().any(|flow| flow.qfi == old.qfi));
    let released = gone
        .map(|old| FailedFlow { qfi: old.qfi, cause: Cause::nas(CauseNas::normal_release) })
        .collect();
    let request = ModifyRequest {
        ambr: ambr.map(|ambr| transfer::Ambr {
            downlink: ambr.downlink.bps(),
            uplink: ambr.uplink.bps(),
        }),
        flows: changes,
        released_flows: released,
        ..ModifyRequest::default()
    };
    if request == ModifyRequest::default() {
        return None;
    }
    request
        .encode()
        .inspect_err(|error| tracing::error!(%error, "an N2 transfer does not encode"))
        .ok()
}

/// T3591 has expired: the UE is told again, if it is connected (TS 24.501, 6.3.2.5 a).
pub async fn command_again(session: &mut Session) {
    let Some(modifying) = &mut session.modifying else { return };
    if modifying.sent >= MOST_COMMANDS {
        tracing::warn!(supi = %session.supi, session = session.id, "the UE does not answer to a session's change");
        session.modifying = None;
        return;
    }
    modifying.sent += 1;
    let command = modifying.command.clone();
    let mut body = session.transfer_body(Some(command), None);
    body.json.skip_ind = Some(true);
    let answer = session.amf.n1_n2_message_transfer(&session.supi, body).await;
    let initiated = |cause| cause == N1N2MessageTransferCause::N1N2TransferInitiated;
    if !answer.is_ok_and(|answer| answer.body.is_some_and(|body| initiated(body.cause))) {
        tracing::debug!(supi = %session.supi, session = session.id, "the UE is not there for a session's change");
    }
}

/// PDU SESSION MODIFICATION COMPLETE.
pub fn completed(session: &mut Session, pti: u8) {
    tracing::debug!(supi = %session.supi, session = session.id, pti, "the UE has taken a session's change");
    session.modifying = None;
}

/// PDU SESSION MODIFICATION COMMAND REJECT (TS 24.501, 6.3.2.4): the flows are as they were.
pub async fn rejected(session: &mut Session, _pti: u8, cause: u8) {
    tracing::warn!(supi = %session.supi, session = session.id, cause, "the UE refuses a session's change");
    take_back(session).await;
}

/// The gNB has no room for the flows: they are as they were.
pub async fn refused_by_gnb(session: &mut Session) {
    tracing::warn!(supi = %session.supi, session = session.id, "the gNB refuses a session's change");
    take_back(session).await;
}

async fn take_back(session: &mut Session) {
    let Some(modifying) = session.modifying.take() else { return };
    let refused = std::mem::replace(&mut session.flows, modifying.flows);
    let _ = user_plane(session, &refused, None).await;
    not_carried_out(session, &refused).await;
}

/// Tells the PCF which of its rules the session does not have (TS 29.512, 4.2.4.15).
pub async fn not_carried_out(session: &mut Session, refused: &[Flow]) {
    let has =
        |pcc: &str| session.flows.iter().flat_map(|flow| &flow.rules).any(|rule| rule.pcc == pcc);
    let lost: Vec<String> = refused
        .iter()
        .flat_map(|flow| &flow.rules)
        .map(|rule| rule.pcc.clone())
        .filter(|pcc| !has(pcc))
        .collect();
    let Some((pcf, id)) = session.policy.clone().filter(|_| !lost.is_empty()) else { return };
    Arc::make_mut(&mut session.decided).forget(&lost);
    let mut report = RuleReport::new(lost, RuleStatus::Inactive);
    report.failure_code = Some(FailureCode::ResAlloFail);
    let update =
        SmPolicyUpdateContextData { rule_reports: Some(vec![report]), ..Default::default() };
    if let Err(problem) = pcf.update_sm_policy(&id, update).await {
        tracing::debug!(supi = %session.supi, %problem, "the PCF does not learn of rules that are not carried out");
    }
}

/// Asks the UDM to tell of changes (Nudm_SDM_Subscribe).
pub async fn subscribe(session: &mut Session) {
    let context = &session.smf.context;
    let made: Result<_, Problem> = async {
        let peer = context
            .discover(NfType::Udm, "nudm-sdm", &Criteria::default())
            .await?
            .about(&session.supi);
        let callback =
            format!("{}/nsmf-callback/v1/sdm-change/{}", context.api_root(), session.supi);
        let monitored = vec![format!("nudm-sdm/v2/{}/sm-data", session.supi)];
        let mut subscription =
            SdmSubscription::new(session.smf.instance_id.clone(), callback, monitored);
        subscription.implicit_unsubscribe = Some(true);
        subscription.plmn_id = Some(session.plmn.clone());
        UdmSubscriberDataManagementClient::new(peer).subscribe(&session.supi, subscription).await
    }
    .await;
    match made {
        Ok(created) => session.sdm_subscription = created.body.subscription_id,
        Err(problem) => {
            tracing::info!(supi = %session.supi, session = session.id, %problem, "no subscription to changes of the subscriber's data");
        }
    }
}

/// Ends the subscription with the UE's last session.
pub async fn unsubscribe(session: &Session) {
    let Some(id) = &session.sdm_subscription else { return };
    // One subscription serves all sessions of the UE.
    if session.smf.sessions.all_of(&session.supi).len() > 1 {
        return;
    }
    let context = &session.smf.context;
    let ended: Result<(), Problem> = async {
        let peer = context
            .discover(NfType::Udm, "nudm-sdm", &Criteria::default())
            .await?
            .about(&session.supi);
        UdmSubscriberDataManagementClient::new(peer).unsubscribe(&session.supi, id).await
    }
    .await;
    if let Err(problem) = ended {
        tracing::debug!(supi = %session.supi, %problem, "the subscription to changes was not ended");
    }
}

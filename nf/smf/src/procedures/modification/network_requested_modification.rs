//! PDU session modification requested by the network (TS 23.502, 4.3.3.2, steps 1b and 1c; TS
//! 24.501, 6.3.2): a policy or a subscription has changed.
//!
//! ```text
//! PCF, UDM            SMF                 UPF      gNB      UE
//!  |-- notification -->|                   |        |        |   by_policy, by_subscription
//!  |                   |-- N4 ------------>|        |        |   prepare
//!  |                   |-- N2: modify ------------->|        |   enforce
//!  |                   |-- MODIFICATION COMMAND ------------>|   retransmit_command (T3591)
//!  |                   |<-- COMPLETE or COMMAND REJECT ------|   completed, rejected_by_ue
//! ```
//!
//! A gNB may set up some QoS flows of a session and reject others. [`not_set_up`] removes these. It
//! may also reject some changes of a modification. [`not_modified`] undoes these.
//!
//! A session has one modification at a time (TS 24.501, 6.3.2). The next one waits until the UE has
//! answered. It also waits while a gNB sets the session up, with the QoS until then. A UE that does
//! not answer gets the changes with the next command, or, in [`repeat`], when it has a user plane
//! again. A gNB that was to set the session up before a change gets it in [`update_gnb`]. So does a
//! gNB with a change that the UE has rejected: it gets the earlier QoS. A handover during a change
//! leaves open which QoS the target gNB has. It gets what it may not have: see [`handed_over`]. A
//! UPF that does not answer the change back to an earlier QoS gets it again in
//! [`update_upf_again`].
use crate::n4::{FlowsChange, N4Error, RETRY_INTERVAL, split_by_upf, update_flows};
use crate::procedures::charging::quota_management;
use crate::procedures::n1_n2_transfer::{
    is_initiated, ngap_arp, qos_parameters, transfer, transfer_body,
};
use crate::procedures::policy::sm_policy_association::{
    apply, report_rejected_rules, report_unchanged_rules,
};
use crate::procedures::release::pdu_session_release;
use crate::procedures::subscription::sm_subscription_data;
use crate::procedures::user_plane::n4_session_modification::{modify, request};
use crate::qos_flows::{DEFAULT_QFI, Flow};
use crate::session::{PendingModification, PolicyAssociation, Session, SessionQos};
use crate::session_event::SessionEvent;
use crate::user_plane_path::UserPlanePath;
use crate::{metrics, n1};
use bytes::Bytes;
use martlet_nas::GsmCause;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::{
    Ambr as NgapAmbr, FailedFlow, FlowChange, ModifyRequest, ModifyResponse, QosFlow,
};
use martlet_pfcp::SessionModificationRequest;
use martlet_sbi_api::common::Ambr;
use martlet_sbi_api::namf_communication::NgapIeType;
use martlet_sbi_api::npcf_sm_policy_control::{
    PolicyControlRequestTrigger, SmPolicyDecision, SmPolicyUpdateContextData,
};
use std::time::Instant;

/// Transmissions of a modification command (TS 24.501, 6.3.2.5 a).
const MAX_TRANSMISSIONS: u8 = 5;

/// Why a modification was not enforced.
#[derive(Debug, thiserror::Error)]
pub enum ModificationError {
    #[error("the session has no user plane")]
    NoUserPlane,
    #[error("UPF: {0}")]
    Upf(#[from] N4Error),
    #[error("the modification command was not encoded")]
    Encoding,
}

impl ModificationError {
    /// Whether a UPF may not have got the change, and gets it again: see
    /// [`N4Error::is_unanswered`].
    fn is_unanswered(&self) -> bool {
        matches!(self, ModificationError::Upf(error) if error.is_unanswered())
    }
}

/// A modification command, and the N2 SM information for the gNB if it has resources.
pub type Commands = (Vec<u8>, Option<Vec<u8>>);

/// The PCF changes the policy (step 1b).
pub async fn by_policy(session: &mut Session, decision: SmPolicyDecision) {
    if session.gsm.is_releasing() {
        return;
    }
    if session.awaits_answer() {
        return session.postpone(SessionEvent::PolicyDecision(decision.into()));
    }
    let before = session.qos.clone();
    apply(session, &decision);
    enforce(session, before).await;
}

/// Enforces the session's QoS, which has changed, at UPF, gNB and UE. If the UPF does not accept
/// it, the session keeps its earlier QoS, and the PCF learns which rules are not enforced.
pub async fn enforce(session: &mut Session, before: SessionQos) {
    let started = Instant::now();
    let earlier = before.clone();
    let outcome = send_commands(session, before).await;
    let result = if outcome.is_ok() { "ok" } else { "failed" };
    metrics::procedure("pdu_session_modification", result, started);
    if let Err(error) = outcome {
        tracing::warn!(
            supi = %session.supi, session = session.id, %error, "policy not enforced"
        );
        // The rules remain as decided: the next decision is bound to flows with all of them.
        let earlier = SessionQos { rules: session.qos.rules.clone(), ..earlier };
        let rejected = std::mem::replace(&mut session.qos, earlier).flows;
        report_rejected_rules(session, &rejected).await;
    }
}

/// The subscription has changed (step 1c): the PCF decides the new policy. Returns `false` if the
/// session has ended.
pub async fn by_subscription(session: &mut Session) -> bool {
    if session.gsm.is_releasing() {
        return true;
    }
    let (supi, slice, dnn) = (&session.supi, session.slice, &session.dnn);
    let found = sm_subscription_data::get(&session.smf, supi, &session.plmn, slice, dnn);
    let subscription = match found.await {
        Ok(subscription) => subscription,
        Err(problem) if problem.status() == 404 => {
            let id = session.id;
            tracing::info!(%supi, session = id, %dnn, "data network not subscribed, releasing");
            return pdu_session_release::by_network(
                session,
                GsmCause::RequestedServiceOptionNotSubscribed,
            )
            .await;
        }
        Err(problem) => {
            tracing::warn!(%supi, session = session.id, %problem, "changed subscription not read");
            return true;
        }
    };
    let Some(PolicyAssociation { pcf, id }) = session.policy.clone() else { return true };
    let update = SmPolicyUpdateContextData {
        rep_policy_ctrl_req_triggers: Some(vec![
            PolicyControlRequestTrigger::SeAmbrCh,
            PolicyControlRequestTrigger::DefQosCh,
        ]),
        subs_sess_ambr: subscription.session_ambr,
        subs_def_qos: subscription.five_g_qos_profile,
        ..Default::default()
    };
    match pcf.update_sm_policy(&id, update).await {
        Ok(decision) => by_policy(session, decision).await,
        Err(problem) => {
            let supi = &session.supi;
            tracing::warn!(%supi, session = session.id, %problem, "update at PCF failed");
        }
    }
    true
}

async fn send_commands(session: &mut Session, before: SessionQos) -> Result<(), ModificationError> {
    let Some((command, n2)) = prepare(session, before, 0, None).await? else { return Ok(()) };
    deliver(session, command, n2).await;
    Ok(())
}

/// Sends the commands to UE and gNB. An idle UE is paged.
async fn deliver(session: &Session, command: Vec<u8>, n2: Option<Vec<u8>>) {
    let n2 = n2.map(|n2| (NgapIeType::PduResModReq, n2));
    if let Err(problem) = transfer(session, Some(command), n2).await {
        // T3591 retransmits the command.
        let (supi, id) = (&session.supi, session.id);
        tracing::info!(%supi, session = id, %problem, "modification command not delivered yet");
    }
}

/// PDU Session Resource Modify Response: some flows may not have been added or changed.
pub fn confirmed_by_gnb(session: &mut Session, info: &Bytes) {
    let Ok(response) = ModifyResponse::decode(info) else { return };
    let failed: Box<[u8]> = response.failed_flows.iter().map(|flow| flow.qfi).collect();
    if failed.is_empty() {
        session.unconfirmed = None;
        if let Some(at_gnb) = session.rejected_by_ue.take() {
            update_later(session, at_gnb);
        }
    } else if session.unconfirmed.is_some() {
        // The UE may have answered before the gNB. A policy that waits is compared with what the
        // gNB has.
        session.postpone_before_others(SessionEvent::FlowsNotModified(failed));
    }
}

/// Removes the flows that the gNB has not set up, or not taken over in a handover, from UPF and UE
/// (TS 23.502, 4.3.2.2.1, step 16; 4.9.1.2.2; 4.9.1.3.3), and reports their rules to the PCF. Their
/// downlink packets would end at the gNB.
pub async fn not_set_up(session: &mut Session, failed: &[u8]) {
    if session.awaits_answer() {
        return session.postpone(SessionEvent::FlowsNotSetUp(failed.into()));
    }
    follow_gnb(session, failed, None).await;
}

/// Undoes the changes of a modification that the gNB has rejected, at UPF and UE (TS 23.502,
/// 4.3.3.2), and reports their rules to the PCF. The gNB keeps the earlier QoS of a flow (TS
/// 38.413, 8.2.3.2), and does not have an added one.
pub async fn not_modified(session: &mut Session, failed: &[u8]) {
    let Some(earlier) = session.unconfirmed.take() else { return };
    if let Some(mut at_gnb) = session.rejected_by_ue.take() {
        // The gNB has the rest of what the UE has rejected.
        let is_failed = |flow: &Flow| failed.contains(&flow.qfi);
        at_gnb.flows.retain(|flow| !is_failed(flow));
        at_gnb.flows.extend(earlier.flows.iter().filter(|flow| is_failed(flow)).cloned());
        if failed.contains(&DEFAULT_QFI) {
            (at_gnb.five_qi, at_gnb.arp) = (earlier.five_qi, earlier.arp.clone());
        }
        update_later(session, at_gnb);
    }
    follow_gnb(session, failed, Some(&earlier)).await;
}

/// Gives UPF and UE the QoS that the gNB has. It has rejected the flows `failed`: it has those of
/// them that are in `earlier`, with the QoS there.
async fn follow_gnb(session: &mut Session, failed: &[u8], earlier: Option<&SessionQos>) {
    if session.gsm.is_releasing() {
        return;
    }
    let started = Instant::now();
    let before = session.qos.clone();
    let (mut flows, mut lost, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    for flow in &before.flows {
        let old = earlier.and_then(|qos| qos.flows.iter().find(|old| old.qfi == flow.qfi));
        match old {
            _ if !failed.contains(&flow.qfi) => flows.push(flow.clone()),
            Some(old) => {
                // Its rules, which the gNB does not have, stay as decided.
                let old = Flow { rules: flow.rules.clone(), ..old.clone() };
                if old != *flow {
                    unchanged.push(old.clone());
                }
                flows.push(old);
            }
            None => lost.push(flow.clone()),
        }
    }
    session.qos.flows = flows;
    // The default flow is never removed.
    if let Some(earlier) = earlier.filter(|_| failed.contains(&DEFAULT_QFI)) {
        session.qos.five_qi = earlier.five_qi;
        session.qos.arp = earlier.arp.clone();
    }
    let of_default = |qos: &SessionQos| (qos.five_qi, qos.arp.clone());
    if session.qos.flows == before.flows && of_default(&session.qos) == of_default(&before) {
        return;
    }
    if let Some(suppressed) = martlet_log_limit::line("flows_rejected", &session.supi) {
        tracing::warn!(
            supi = %session.supi, session = session.id, qfis = ?failed, suppressed,
            "QoS flows rejected by gNB"
        );
    }
    let outcome = prepare(session, before.clone(), 0, None).await;
    let result = if outcome.is_ok() { "ok" } else { "failed" };
    metrics::procedure("pdu_session_modification", result, started);
    // The gNB has this QoS, and so gets no command.
    session.unconfirmed = None;
    if let Some(modification) = session.gsm.modification() {
        modification.follows_gnb = true;
    }
    match outcome {
        Ok(commands) => {
            if let Some((command, _)) = commands {
                deliver(session, command, None).await;
            }
        }
        Err(error) => {
            let supi = &session.supi;
            tracing::warn!(%supi, session = session.id, %error, "rejected QoS flows not changed");
            if error.is_unanswered() && is_associated(session) {
                // The UPF still has the lost flows, and so has the session until they are removed.
                session.qos = before;
                let lost: Box<[u8]> = lost.iter().map(|flow| flow.qfi).collect();
                let again = move || SessionEvent::FlowsNotSetUp(lost);
                return session.send_to_self_after(RETRY_INTERVAL, again);
            }
            // Another UPF does not have them, or gets the session again without them. The UE gets
            // the change with the next command.
            if session.qos_at_ue.is_none() {
                session.qos_at_ue = Some(before.into());
            }
        }
    }
    report_rejected_rules(session, &lost).await;
    report_unchanged_rules(session, &unchanged).await;
}

/// Whether the SMF is associated with all UPFs of a session.
fn is_associated(session: &Session) -> bool {
    let n4 = &session.smf.n4;
    session.user_plane.path().is_some_and(|path| path.all().all(|(_, at)| n4.is_up(at.upf)))
}

/// Changes the UPF, and returns the commands for UE and gNB; `None` if nothing changes. A request
/// of the UE, which has a procedure transaction identity, always gets a command.
pub async fn prepare(
    session: &mut Session,
    before: SessionQos,
    pti: u8,
    always_on: Option<bool>,
) -> Result<Option<Commands>, ModificationError> {
    let (qos, old_flows) = (&session.qos, &before.flows);
    let ambr = (qos.ambr != before.ambr).then(|| qos.ambr.clone());
    let default_changed = qos.five_qi != before.five_qi || qos.arp != before.arp;
    let is_changed = ambr.is_some() || default_changed || qos.flows != *old_flows;
    if !is_changed && pti == 0 && session.qos_at_ue.is_none() {
        return Ok(None);
    }
    let flows = qos.flows.len();
    tracing::info!(supi = %session.supi, session = session.id, flows, "modifying PDU session");
    update_user_plane(session, old_flows, ambr.as_ref()).await?;
    // Without resources, the gNB gets the QoS with the next activation. The AMF may have the setup
    // request for a UE that it pages: see `update_gnb`.
    let is_activated = session.user_plane.connection.is_activated();
    if !is_activated && session.qos_in_setup.is_none() {
        session.qos_in_setup = Some(before.clone().into());
    }
    let n2 = is_activated
        .then(|| modify_request(session, old_flows, ambr.as_ref(), default_changed))
        .flatten();
    if n2.is_some() {
        session.unconfirmed = Some(before.clone().into());
    }
    let (qos, at_ue) = (&session.qos, session.qos_at_ue.as_deref().unwrap_or(&before));
    let modification = n1::Modification {
        id: session.id,
        pti,
        ambr: (qos.ambr != at_ue.ambr).then_some(&qos.ambr),
        default: (qos.five_qi != at_ue.five_qi).then_some((DEFAULT_QFI, qos.five_qi)),
        always_on,
        before: &at_ue.flows,
        now: &qos.flows,
    };
    let command = n1::modification_command(&modification).ok_or(ModificationError::Encoding)?;
    let previous = session.qos_at_ue.take().unwrap_or_else(|| before.into());
    session.gsm.begin_modification(PendingModification {
        command: command.clone(),
        pti,
        transmissions: 1,
        sent: Instant::now(),
        previous: Some(previous),
        follows_gnb: false,
    });
    Ok(Some((command, n2)))
}

/// Changes the UPF to the QoS of the session. An earlier change that it did not answer is part of
/// this one.
async fn update_user_plane(
    session: &mut Session,
    before: &[Flow],
    ambr: Option<&Ambr>,
) -> Result<(), ModificationError> {
    quota_management::add_rating_groups(session).await;
    let path = session.user_plane.path().ok_or(ModificationError::NoUserPlane)?;
    let anchor = path.anchor();
    // A UPF that got the whole session since then has its QoS.
    let unanswered = session.qos_at_upf.take().filter(|at_upf| at_upf.0 == anchor);
    let (before, ambr) = match unanswered.as_deref() {
        None => (before, ambr),
        Some((_, at_upf)) => {
            let ambr = (at_upf.ambr != session.qos.ambr).then_some(&session.qos.ambr);
            (&at_upf.flows[..], ambr)
        }
    };
    let groups = quota_management::measured_groups(session);
    let now = session.qos.flows.clone();
    let change = update_flows(&FlowsChange {
        traffic: session.traffic(),
        tunnel: (anchor.teid, anchor.address),
        before,
        now: &now,
        groups: &groups,
        ambr: ambr.map(|ambr| (ambr.uplink.bps(), ambr.downlink.bps())),
    });
    let Some(change) = change else { return Ok(()) };
    let outcome = send_to_upfs(session, path, change).await;
    if outcome.as_ref().is_err_and(ModificationError::is_unanswered) {
        session.qos_at_upf = unanswered;
    }
    outcome
}

async fn send_to_upfs(
    session: &mut Session,
    path: UserPlanePath,
    mut change: SessionModificationRequest,
) -> Result<(), ModificationError> {
    if path.has_two_upfs() {
        let (at_anchor, at_access) = split_by_upf(change);
        if let Some(at_anchor) = at_anchor {
            request(session, path.anchor(), at_anchor).await?;
        }
        let Some(at_access) = at_access else { return Ok(()) };
        change = at_access;
    }
    Ok(modify(session, change).await?)
}

/// Sends the UPF a change again that it did not answer.
pub async fn update_upf_again(session: &mut Session) {
    if session.qos_at_upf.is_none() || session.gsm.is_releasing() {
        return;
    }
    let flows = session.qos.flows.clone();
    if let Err(error) = update_user_plane(session, &flows, None).await {
        not_undone(session, &error);
    }
}

/// Logs that the UPF keeps a QoS that UE or gNB have rejected. While it is associated and does not
/// answer, it gets the change again.
fn not_undone(session: &Session, error: &ModificationError) {
    let supi = &session.supi;
    if let Some(suppressed) = martlet_log_limit::line("not_undone", supi) {
        tracing::warn!(
            %supi, session = session.id, %error, suppressed,
            "rejected modification not undone at UPF"
        );
    }
    if session.qos_at_upf.is_some() && error.is_unanswered() && is_associated(session) {
        session.send_to_self_after(RETRY_INTERVAL, || SessionEvent::QosUnchanged);
    }
}

/// PDU Session Resource Modify Request Transfer.
fn modify_request(
    session: &Session,
    before: &[Flow],
    ambr: Option<&Ambr>,
    default: bool,
) -> Option<Vec<u8>> {
    let is_new = |flow: &&Flow| {
        !before.iter().any(|old| (old.qfi, qos_parameters(old)) == (flow.qfi, qos_parameters(flow)))
    };
    let mut changes: Vec<FlowChange> = session
        .qos
        .flows
        .iter()
        .filter(is_new)
        .map(|flow| FlowChange { qfi: flow.qfi, qos: Some(qos_parameters(flow)) })
        .collect();
    if default {
        let flow = QosFlow::standard(DEFAULT_QFI, session.qos.five_qi, ngap_arp(&session.qos.arp));
        changes.push(FlowChange { qfi: DEFAULT_QFI, qos: Some(flow.qos) });
    }
    let gone =
        before.iter().filter(|old| !session.qos.flows.iter().any(|flow| flow.qfi == old.qfi));
    let released = gone
        .map(|old| FailedFlow { qfi: old.qfi, cause: Cause::nas(CauseNas::normal_release) })
        .collect();
    let request = ModifyRequest {
        ambr: ambr
            .map(|ambr| NgapAmbr { downlink: ambr.downlink.bps(), uplink: ambr.uplink.bps() }),
        flows: changes,
        released_flows: released,
        ..ModifyRequest::default()
    };
    if request == ModifyRequest::default() {
        return None;
    }
    request
        .encode()
        .inspect_err(|error| tracing::error!(%error, "N2 SM information not encoded"))
        .ok()
}

/// Sends the gNB, which has another QoS, that of the session after the current event: the AMF may
/// wait for its answer. Without resources, the gNB gets it with the next setup.
fn update_later(session: &mut Session, at_gnb: Box<SessionQos>) {
    let connection = &session.user_plane.connection;
    let (is_activated, is_activating) = (connection.is_activated(), connection.is_activating());
    if session.qos_in_setup.is_some() || !is_activated && !is_activating {
        return;
    }
    session.qos_in_setup = Some(at_gnb);
    if is_activated {
        session.send_to_self(SessionEvent::SetUpOutdated);
    }
}

/// The gNB has set the session up for downlink data (TS 23.502, 4.2.3.3), as it was when the paging
/// began, or has a modification that the UE has rejected: sends it what is different now.
pub async fn update_gnb(session: &mut Session) {
    if session.awaits_answer() {
        return session.postpone(SessionEvent::SetUpOutdated);
    }
    let is_activated = session.user_plane.connection.is_activated();
    let outdated = session.qos_in_setup.take();
    let Some(before) = outdated.filter(|_| is_activated && !session.gsm.is_releasing()) else {
        return;
    };
    let qos = &session.qos;
    let ambr = (qos.ambr != before.ambr).then_some(&qos.ambr);
    let default_changed = qos.five_qi != before.five_qi || qos.arp != before.arp;
    let Some(n2) = modify_request(session, &before.flows, ambr, default_changed) else { return };
    session.unconfirmed = Some(before);
    let n2 = Some((NgapIeType::PduResModReq, n2));
    if let Err(problem) = transfer(session, None, n2).await {
        let (supi, id) = (&session.supi, session.id);
        tracing::warn!(%supi, session = id, %problem, "changed QoS not delivered to gNB");
    }
}

/// A handover has moved the session to a gNB that has the QoS flows `at_target`. The source gNB
/// does not answer a modification any more: the target has the QoS before or after it. A later
/// answer is not about that modification.
pub fn handed_over(session: &mut Session, at_target: &[u8]) {
    if let Some(at_gnb) = &mut session.qos_in_setup {
        at_gnb.flows.retain(|flow| at_target.contains(&flow.qfi));
    }
    let (unconfirmed, rejected) = (session.unconfirmed.take(), session.rejected_by_ue.take());
    let Some(before) = unconfirmed.as_deref().or(rejected.as_deref()) else { return };
    let after = rejected.as_deref().unwrap_or(&session.qos);
    let flows = known_flows(at_target, &before.flows, &after.flows);
    // The QoS of the default flow is compared with the one of both that the session does not have.
    let at_gnb = SessionQos { flows, ..rejected.as_deref().unwrap_or(before).clone() };
    update_later(session, at_gnb.into());
}

/// Those of the flows before and after a modification that a gNB has with a known QoS.
fn known_flows(at_gnb: &[u8], before: &[Flow], after: &[Flow]) -> Vec<Flow> {
    let at_gnb = |flow: &&Flow| at_gnb.contains(&flow.qfi);
    let find =
        |flows: &[Flow], qfi: u8| flows.iter().find(|flow| flow.qfi == qfi).map(qos_parameters);
    let is_changed =
        |flow: &&Flow| find(before, flow.qfi).is_some_and(|before| before != qos_parameters(flow));
    let now = after.iter().filter(|flow| !is_changed(flow));
    let removed = before.iter().filter(|flow| find(after, flow.qfi).is_none());
    now.chain(removed).filter(at_gnb).cloned().collect()
}

/// T3591 has expired (TS 24.501, 6.3.2.5 a): sends a connected UE the command again. After the last
/// transmission the modification is aborted. The session keeps its new QoS, and the UE gets it
/// later.
pub async fn retransmit_command(session: &mut Session) {
    let Some(modification) = session.gsm.modification() else { return };
    if modification.transmissions >= MAX_TRANSMISSIONS {
        let supi = &session.supi;
        tracing::warn!(%supi, session = session.id, "modification command without answer");
        let aborted = session.gsm.end_modification();
        if let Some(previous) = aborted.and_then(|modification| modification.previous) {
            session.qos_at_ue = Some(previous);
        }
        return;
    }
    modification.transmissions += 1;
    modification.sent = Instant::now();
    let command = modification.command.clone();
    let mut body = transfer_body(session, Some(command), None);
    body.json.skip_ind = Some(true);
    if !is_initiated(session.amf.client.n1_n2_message_transfer(&session.supi, body).await) {
        let supi = &session.supi;
        tracing::debug!(%supi, session = session.id, "UE idle, modification command not sent");
    }
}

/// Sends a UE that has a user plane again the changes that it did not get.
pub async fn repeat(session: &mut Session) {
    if session.qos_at_ue.is_some() && !session.awaits_answer() && !session.gsm.is_releasing() {
        let before = session.qos.clone();
        enforce(session, before).await;
    }
}

/// PDU SESSION MODIFICATION COMPLETE.
pub fn completed(session: &mut Session, pti: u8) {
    tracing::debug!(supi = %session.supi, session = session.id, pti, "modification complete");
    session.gsm.end_modification();
}

/// PDU SESSION MODIFICATION COMMAND REJECT (TS 24.501, 6.3.2.4), or a 5GSM STATUS that aborts the
/// procedure (6.5.3): restores the earlier QoS, also at the gNB, after that has answered.
pub async fn rejected_by_ue(session: &mut Session, cause: u8) {
    let (supi, id) = (&session.supi, session.id);
    if let Some(suppressed) = martlet_log_limit::line("modification_ue", supi) {
        tracing::warn!(
            %supi, session = id, cause, suppressed,
            "modification rejected by UE"
        );
    }
    let rejected = Box::new(session.qos.clone());
    if !revert(session).await {
        return;
    }
    match session.unconfirmed.is_some() && session.user_plane.connection.is_activated() {
        true => session.rejected_by_ue = Some(rejected),
        false => update_later(session, rejected),
    }
}

/// PDU Session Resource Modify failed at the gNB: restores the earlier QoS.
pub async fn rejected_by_gnb(session: &mut Session) {
    session.unconfirmed = None;
    session.rejected_by_ue = None;
    if let Some(suppressed) = martlet_log_limit::line("modification_gnb", &session.supi) {
        tracing::warn!(
            supi = %session.supi, session = session.id, suppressed,
            "modification rejected by gNB"
        );
    }
    revert(session).await;
}

/// Ends the modification, and restores the QoS before it. Returns whether UE and gNB may have had
/// another one.
async fn revert(session: &mut Session) -> bool {
    let Some(modification) = session.gsm.end_modification() else { return false };
    if modification.follows_gnb {
        session.qos_at_ue = modification.previous;
        return false;
    }
    let Some(previous) = modification.previous.map(|previous| *previous) else { return false };
    // The rules remain as decided: the next decision is bound to flows with all of them.
    let previous = SessionQos { rules: session.qos.rules.clone(), ..previous };
    let ambr = (previous.ambr != session.qos.ambr).then(|| previous.ambr.clone());
    let rejected = std::mem::replace(&mut session.qos, previous);
    if let Err(error) = update_user_plane(session, &rejected.flows, ambr.as_ref()).await {
        if session.qos_at_upf.is_none() && error.is_unanswered() {
            let anchor = session.user_plane.anchor();
            session.qos_at_upf = anchor.map(|anchor| Box::new((anchor, rejected.clone())));
        }
        not_undone(session, &error);
    }
    report_rejected_rules(session, &rejected.flows).await;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::{Arp, PreemptionCapability, PreemptionVulnerability};

    fn flow(qfi: u8, five_qi: u8) -> Flow {
        let arp = Arp {
            priority_level: 8,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        };
        let (qos, rules) = (String::new(), Vec::new());
        Flow { qfi, qos, five_qi, arp, guaranteed: None, maximum: None, rules }
    }

    #[test]
    fn flows_at_the_target_of_a_handover_are_known_unless_they_have_changed() {
        let before = [flow(2, 1), flow(3, 1), flow(4, 1), flow(5, 1)];
        // One is changed, two are removed and two are added.
        let after = [flow(2, 1), flow(3, 2), flow(6, 1), flow(7, 1)];
        let known = known_flows(&[1, 2, 3, 4, 6], &before, &after);
        let qfis: Vec<u8> = known.iter().map(|flow| flow.qfi).collect();
        assert_eq!(qfis, [2, 6, 4]);
        assert_eq!(known_flows(&[1], &before, &after), []);
    }
}

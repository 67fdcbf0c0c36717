//! Charging session at the CHF (TS 32.255, 5.2.2.2; TS 32.290, 5.3.2.3).
//!
//! ```text
//! SMF                                            CHF
//!  |-- Nchf_ConvergedCharging_Create ------------->|  create
//!  |<-- granted quota -----------------------------|  from some CHFs after the first update
//!  |-- Nchf_ConvergedCharging_Update: usage ------>|  update
//!  |<-- granted quota -----------------------------|
//!  |-- Nchf_ConvergedCharging_Release: usage ----->|  terminate
//! ```
//!
//! `smf.charging.on_failure` decides whether sessions continue without a CHF. Usage of an update
//! that the CHF rejects or does not get is in the next request. An update without an answer is
//! repeated before that, with its sequence number: the CHF counts it once. So is a release:
//! [`unanswered_release`].
use super::unanswered_release::{self, PendingRelease, is_temporary};
use crate::config::{ChargingMode, OnFailure};
use crate::n4::Quota;
use crate::procedures::policy::sm_policy_association::AccessInfo;
use crate::qos_flows::rating_groups;
use crate::session::{Session, SessionCharging};
use crate::usage::{
    ChargedAccess, ChargingState, Granted, RatingGroup, TriggeredUsage, Usage, Volumes,
};
use crate::{Smf, metrics};
use martlet_interop::SbiQuirk;
use martlet_sbi::{Problem, TransportFailure};
use martlet_sbi_api::common::{DateTime, NfInstanceId};
use martlet_sbi_api::nchf_converged_charging::{
    ChargingDataRequest, ChargingDataResponse, ChfConvergedChargingClient, FinalUnitAction,
    FinalUnitIndication, GrantedUnit, MultipleUnitUsage, NetworkSlicingInfo, NfIdentification,
    NodeFunctionality, PduAddress, PduSessionChargingInformation, PduSessionInformation,
    QuotaManagementIndicator, RequestedUnit, ResultCode, ServingNetworkFunctionId, Trigger,
    TriggerType, UsedUnitContainer, UserInformation,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::collections::BTreeSet;
use std::time::Instant;

/// The content of a request to the CHF.
#[derive(Default)]
pub struct UsageReport {
    /// Usage by rating group, and the trigger of its report.
    pub usage: TriggeredUsage,
    /// Rating groups for which quota is requested.
    pub requested: BTreeSet<RatingGroup>,
    /// The session has ended.
    pub is_final: bool,
}

impl UsageReport {
    /// A report with one trigger for all rating groups, for which quota is requested.
    pub fn new(usage: Usage, trigger: &TriggerType) -> Self {
        let usage: TriggeredUsage =
            usage.0.into_iter().map(|(group, used)| (group, (used, trigger.clone()))).collect();
        UsageReport { requested: usage.keys().copied().collect(), usage, is_final: false }
    }
}

/// Why a session is rejected by charging.
#[derive(Debug, thiserror::Error)]
pub enum ChargingError {
    /// The CHF denies the default rating group.
    #[error("the subscriber has no credit")]
    NoCredit,
    /// The CHF failed, and `smf.charging.on_failure` is `refuse`.
    #[error("{0}")]
    Chf(Problem),
}

/// Creates the charging session of a new PDU session (TS 32.255, 5.2.2.2.2).
pub async fn create(session: &mut Session, access: &AccessInfo) -> Result<(), ChargingError> {
    let config = session.smf.config.charging.clone();
    if config.mode == ChargingMode::None {
        return Ok(());
    }
    let started = Instant::now();
    let (result, outcome) = match request_creation(session, access).await {
        Ok(true) => ("ok", Ok(())),
        Ok(false) => ("no credit", Err(ChargingError::NoCredit)),
        Err(problem) if config.on_failure == OnFailure::Continue => {
            tracing::warn!(
                supi = %session.supi, session = session.id, %problem,
                "CHF failed, session continues without charging"
            );
            ("failed", Ok(()))
        }
        Err(problem) => ("failed", Err(ChargingError::Chf(problem))),
    };
    metrics::procedure("charging", result, started);
    outcome
}

/// Returns whether the subscriber has credit.
async fn request_creation(session: &mut Session, access: &AccessInfo) -> Result<bool, Problem> {
    let context = &session.smf.context;
    // The CHF that has the subscriber's account, as long as it responds.
    let peer = context
        .discover_for(&session.supi, NfType::Chf, "nchf-convergedcharging")
        .await?
        .about(&session.supi);
    let chf = ChfConvergedChargingClient::new(peer);
    let started = DateTime::now().to_string();
    let access = ChargedAccess {
        gpsi: access.gpsi.clone(),
        pei: access.pei.clone(),
        amf: access.amf.as_ref().and_then(|amf| amf.serv_nf_inst_id.clone()),
        rat_type: access.rat_type.clone(),
        location: access.location.clone(),
        time_zone: access.time_zone.clone(),
    };
    let mut state = ChargingState { sequence: 1, started, access, ..ChargingState::default() };
    for group in rating_groups(&session.qos.flows) {
        state.set_grant(Some(group), Granted::default());
    }
    let report = UsageReport { requested: state.groups(), ..UsageReport::default() };
    let mut request = request(session, &state, state.sequence, report);
    request.notify_uri = Some(notify_uri(session));
    let created = chf.post_chargingdata(request).await?;
    state.id = created.location.rsplit('/').next().unwrap_or_default().to_string();
    let groups = state.groups();
    let left_out = apply_grants(&mut state, &session.smf, &chf, &groups, &created.body);
    session.charging = Some(Box::new(SessionCharging { chf, state }));
    request_left_out(session, left_out, &groups).await;
    Ok(session.charging.as_ref().is_none_or(|charging| !charging.state.grant(None).denied))
}

/// Where the CHF requests reauthorization of a session.
fn notify_uri(session: &Session) -> String {
    let root = session.smf.context.api_root();
    format!("{root}/nsmf-callback/v1/charging/{}", session.reference)
}

/// Requests quota again for rating groups that a response leaves out, if their usage was not in the
/// request. What is then left out is denied: unlimited use needs a result code.
async fn request_left_out(
    session: &mut Session,
    left_out: BTreeSet<RatingGroup>,
    unused: &BTreeSet<RatingGroup>,
) {
    let (again, mut denied): (BTreeSet<_>, BTreeSet<_>) =
        left_out.into_iter().partition(|group| unused.contains(group));
    let peer = session.charging.as_ref().map(|c| c.chf.peer().root().authority.clone());
    if !again.is_empty()
        && session.smf.context.tolerates(SbiQuirk::NoInitialGrant, peer.unwrap_or_default())
    {
        let usage = again.into_iter().map(|group| (group, Volumes::default())).collect();
        let report = UsageReport::new(Usage(usage), &TriggerType::QuotaExhausted);
        denied.extend(report_usage(session, report).await.unwrap_or_default());
    } else {
        denied.extend(again);
    }
    for group in denied {
        if let Some(charging) = &mut session.charging {
            charging.state.set_grant(group, Granted { denied: true, ..Granted::default() });
        }
    }
}

/// Sets the grants of a response. Returns the requested rating groups that it leaves out.
fn apply_grants(
    state: &mut ChargingState,
    smf: &Smf,
    chf: &ChfConvergedChargingClient,
    requested: &BTreeSet<RatingGroup>,
    response: &ChargingDataResponse,
) -> BTreeSet<RatingGroup> {
    let config = &smf.config.charging;
    let mut left_out = match config.mode {
        ChargingMode::Online => requested.clone(),
        ChargingMode::Offline | ChargingMode::None => BTreeSet::new(),
    };
    for unit in response.multiple_unit_information.iter().flatten() {
        let group = Some(unit.rating_group).filter(|group| *group != config.rating_group);
        left_out.remove(&group);
        if !state.groups().contains(&group) {
            continue;
        }
        let bytes = unit.granted_unit.as_ref().and_then(|unit| unit.total_volume);
        let report_at_remaining = unit.volume_quota_threshold.unwrap_or(0);
        let is_denial = |code: &ResultCode| {
            !matches!(code, ResultCode::Success | ResultCode::QuotaManagementNotApplicable)
        };
        // free5GC's CHF always has an indication, whose action is empty until the units are final.
        let is_final = |last: &FinalUnitIndication| {
            let action = &last.final_unit_action;
            let is_empty = matches!(action, FinalUnitAction::Other(text) if text.is_empty());
            let peer = &chf.peer().root().authority;
            !(is_empty && smf.context.tolerates(SbiQuirk::EmptyFinalAction, peer))
        };
        // Units of which there are none, as free5GC's CHF answers for an empty account. No member
        // is mandatory, so this is no deviation, and no credit also with `sbi.strict`.
        let has_none = |units: &GrantedUnit| {
            let volumes = [units.total_volume, units.uplink_volume, units.downlink_volume];
            volumes.into_iter().flatten().all(|volume| volume == 0) && units.time.unwrap_or(0) == 0
        };
        let granted = Granted {
            quota: bytes.map(|bytes| Quota { bytes, report_at_remaining }),
            is_final: unit.final_unit_indication.as_ref().is_some_and(is_final),
            denied: unit.result_code.as_ref().is_some_and(is_denial)
                || unit.granted_unit.as_ref().is_some_and(has_none),
        };
        state.set_grant(group, granted);
    }
    left_out
}

fn request(
    session: &Session,
    state: &ChargingState,
    sequence: u32,
    report: UsageReport,
) -> ChargingDataRequest {
    let config = &session.smf.config.charging;
    let is_online = config.mode == ChargingMode::Online;
    let now = DateTime::now();
    let mut triggers: Vec<Trigger> =
        report.usage.values().map(|(_, trigger)| Trigger::now(trigger.clone())).collect();
    triggers.dedup();
    let container = |(used, trigger): &(Volumes, TriggerType)| UsedUnitContainer {
        quota_management_indicator: Some(match is_online {
            true => QuotaManagementIndicator::OnlineCharging,
            false => QuotaManagementIndicator::OfflineCharging,
        }),
        triggers: Some(vec![Trigger::now(trigger.clone())]),
        trigger_timestamp: Some(now.clone()),
        time: None,
        total_volume: Some(used.uplink.saturating_add(used.downlink)),
        uplink_volume: Some(used.uplink),
        downlink_volume: Some(used.downlink),
        local_sequence_number: sequence.into(),
    };
    let requested_volume = Some(config.requested_bytes).filter(|bytes| *bytes != 0);
    let groups: BTreeSet<RatingGroup> =
        report.usage.keys().chain(&report.requested).copied().collect();
    let unit_usage = |group: &RatingGroup| MultipleUnitUsage {
        rating_group: group.unwrap_or(config.rating_group),
        requested_unit: (is_online && report.requested.contains(group))
            .then_some(RequestedUnit { total_volume: requested_volume }),
        used_unit_container: report.usage.get(group).map(|used| vec![container(used)]),
    };
    let parameters = &session.parameters;
    let address = PduAddress {
        pdu_ipv4_address: parameters.addresses.ipv4,
        pdu_ipv6_address_with_prefix: parameters.addresses.ipv6(),
        pdu_address_prefix_length: parameters.addresses.ipv6().map(|_| 64),
    };
    let access = &state.access;
    let user = UserInformation { served_gpsi: access.gpsi.clone(), served_pei: access.pei.clone() };
    let serving = |amf: &NfInstanceId| ServingNetworkFunctionId {
        serving_network_function_information: NfIdentification {
            nf_name: Some(amf.clone()),
            nf_plmn_id: Some(session.plmn.clone()),
            node_functionality: NodeFunctionality::Amf,
        },
    };
    let information = PduSessionInformation {
        network_slicing_info: Some(NetworkSlicingInfo { s_nssai: session.slice }),
        pdu_session_id: session.id,
        pdu_type: Some(parameters.kind.clone()),
        ssc_mode: Some(parameters.ssc_mode()),
        serving_network_function_id: access.amf.as_ref().map(serving),
        rat_type: access.rat_type.clone(),
        dnn_id: session.dnn.clone(),
        start_time: state.started.parse().ok(),
        stop_time: report.is_final.then(|| now.clone()),
        pdu_address: (address != PduAddress::default()).then_some(address),
        authorized_session_ambr: Some(session.qos.ambr.clone()),
        serving_cn_plmn_id: Some(session.plmn.clone()),
    };
    ChargingDataRequest {
        subscriber_identifier: Some(session.supi.clone()),
        nf_consumer_identification: NfIdentification {
            nf_name: Some(session.smf.instance_id.clone()),
            nf_plmn_id: Some(session.plmn.clone()),
            node_functionality: NodeFunctionality::Smf,
        },
        invocation_time_stamp: now.clone(),
        invocation_sequence_number: sequence,
        notify_uri: None,
        multiple_unit_usage: Some(groups.iter().map(unit_usage).collect()),
        triggers: (!triggers.is_empty()).then_some(triggers),
        pdu_session_charging_information: Some(PduSessionChargingInformation {
            smf_charging_id: Some(session.reference.to_string()),
            user_information: (user != UserInformation::default()).then_some(user),
            user_location_info: access.location.clone(),
            ue_time_zone: access.time_zone.clone(),
            pdu_session_information: Some(information),
        }),
    }
}

/// Reports usage and applies the granted quota (TS 32.255, 5.2.2.2.3). Returns `false` for a
/// session without charging.
pub async fn update(session: &mut Session, report: UsageReport) -> bool {
    let used: BTreeSet<RatingGroup> = report.usage.keys().copied().collect();
    let unused = &report.requested - &used;
    let Some(left_out) = report_usage(session, report).await else { return false };
    request_left_out(session, left_out, &unused).await;
    true
}

/// Whether a CHF may have recorded the usage of a request that failed so.
fn may_have_usage(problem: &Problem) -> bool {
    // A proxy answers 504 for a CHF that does not answer.
    match problem.transport {
        Some(failure) => failure == TransportFailure::Unknown,
        None => problem.status() == 504,
    }
}

/// Sends one update. Its usage is kept if it fails.
async fn send_update(
    session: &Session,
    charging: &mut SessionCharging,
    sequence: u32,
    report: UsageReport,
) -> Result<ChargingDataResponse, Problem> {
    let usage = report.usage.clone();
    let state = &mut charging.state;
    let mut request = request(session, state, sequence, report);
    request.notify_uri = state.renews_notify_uri.then(|| notify_uri(session));
    let response = charging.chf.update_chargingdata(&state.id, request).await;
    // A CHF that rejects the URI gets the next usage without it.
    if response.as_ref().err().is_none_or(|problem| problem.transport.is_none()) {
        state.renews_notify_uri = false;
    }
    match &response {
        Ok(_) => {}
        Err(problem) if may_have_usage(problem) && !usage.is_empty() => {
            state.unanswered = Some((sequence, usage.into_iter().collect()));
        }
        Err(_) => state.keep_unreported(usage),
    }
    response
}

/// Repeats the last update if the CHF did not answer it. Fails if it does not answer again.
async fn repeat_unanswered(
    session: &Session,
    charging: &mut SessionCharging,
) -> Result<(), Problem> {
    let Some((sequence, usage)) = charging.state.unanswered.take() else { return Ok(()) };
    let report = UsageReport { usage: usage.into_iter().collect(), ..UsageReport::default() };
    let response = send_update(session, charging, sequence, report).await;
    match charging.state.unanswered {
        Some(_) => response.map(drop),
        None => Ok(()),
    }
}

/// Reports usage in an update. Returns the requested rating groups that the response leaves out;
/// `None` for a session without charging.
async fn report_usage(
    session: &mut Session,
    mut report: UsageReport,
) -> Option<BTreeSet<RatingGroup>> {
    let mut charging = session.charging.take()?;
    let started = Instant::now();
    let requested = report.requested.clone();
    let response = match repeat_unanswered(session, &mut charging).await {
        Ok(()) => {
            charging.state.sequence += 1;
            charging.state.take_unreported(&mut report.usage);
            let sequence = charging.state.sequence;
            send_update(session, &mut charging, sequence, report).await
        }
        Err(problem) => {
            charging.state.keep_unreported(report.usage);
            Err(problem)
        }
    };
    let smf = &session.smf;
    let left_out = match &response {
        Ok(response) => apply_grants(&mut charging.state, smf, &charging.chf, &requested, response),
        Err(problem) => {
            tracing::warn!(
                supi = %session.supi, session = session.id, %problem, "usage report to CHF failed"
            );
            let denied = smf.config.charging.on_failure == OnFailure::Refuse;
            for group in requested {
                charging.state.set_grant(group, Granted { denied, ..Granted::default() });
            }
            BTreeSet::new()
        }
    };
    metrics::procedure("charging", if response.is_ok() { "ok" } else { "failed" }, started);
    session.charging = Some(charging);
    Some(left_out)
}

/// Reports the last usage at a UPF that the session leaves. It is not yet established at the next
/// one, which gets the granted quota.
pub async fn report_upf_removal(session: &mut Session, usage: Usage) {
    update(session, UsageReport::new(usage, &TriggerType::RemovalOfUpf)).await;
}

/// Releases a charging session of the PDU session with the last usage (TS 32.255, 5.2.2.2.4).
pub async fn terminate(
    session: &Session,
    charging: Option<Box<SessionCharging>>,
    mut usage: Usage,
) {
    let Some(mut charging) = charging else { return };
    if let Err(problem) = repeat_unanswered(session, &mut charging).await {
        tracing::warn!(
            supi = %session.supi, session = session.id, %problem, "usage report to CHF failed"
        );
    }
    charging.state.sequence += 1;
    usage.0.entry(None).or_default();
    let mut report = UsageReport {
        requested: BTreeSet::new(),
        is_final: true,
        ..UsageReport::new(usage, &TriggerType::Final)
    };
    charging.state.take_unreported(&mut report.usage);
    let SessionCharging { chf, mut state } = *charging;
    let unanswered = state.unanswered.take();
    let release = request(session, &state, state.sequence, report);
    let Err(problem) = chf.release_chargingdata(&state.id, release.clone()).await else { return };
    tracing::warn!(
        supi = %session.supi, session = session.id, %problem,
        "release of charging session failed"
    );
    if is_temporary(&problem) {
        let update = unanswered.map(|(sequence, usage)| {
            let report = UsageReport { usage: usage.into_iter().collect(), ..Default::default() };
            request(session, &state, sequence, report)
        });
        let of = (session.supi.clone(), session.id);
        let pending = PendingRelease::new(of, chf, state.id, update, release);
        unanswered_release::repeat(&session.smf, pending);
    }
}

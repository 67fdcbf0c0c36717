//! Charging of a session (TS 32.255, 5.2; TS 32.290, 5.3.2.3): what the CHF grants of each rating
//! group is a quota of the UPF's, what the UPF has counted the CHF is told. Where there is no CHF,
//! `smf.charging.on_failure` says whether sessions go on.
use crate::config::{ChargingMode, OnFailure};
use crate::flows::rating_groups;
use crate::n4::{self, Quota};
use crate::procedures::release::pdu_session_release;
use crate::session::Session;
use crate::usage::{Granted, Group, Told, Used, Volumes, counted_by, rule_of};
use crate::{Smf, metrics};
use martlet_nas::GsmCause;
use martlet_nf::Criteria;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{UsageReport, UsageReportTrigger};
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::common::{DateTime, Supi};
use martlet_sbi_api::nchf_converged_charging::{
    ChargingDataRequest, ChargingDataResponse, ChfConvergedChargingClient, MultipleUnitUsage,
    NetworkSlicingInfo, NfIdentification, NodeFunctionality, PduAddress,
    PduSessionChargingInformation, PduSessionInformation, QuotaManagementIndicator, RequestedUnit,
    ResultCode, Trigger, TriggerType, UsedUnitContainer,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// How a session is charged.
#[derive(Clone)]
pub struct Charging {
    pub chf: ChfConvergedChargingClient,
    pub told: Told,
}

/// The persisted form: API root of the CHF, and the charging state.
pub type PersistedCharging = (ApiRoot, Told);

impl Charging {
    /// The persisted form.
    pub fn persisted(&self) -> PersistedCharging {
        (self.chf.peer().root().clone(), self.told.clone())
    }

    /// Restores the persisted form.
    pub fn restored(smf: &Smf, supi: &Supi, (root, told): PersistedCharging) -> Self {
        Charging {
            chf: ChfConvergedChargingClient::new(smf.context.peer_at(root).about(supi)),
            told,
        }
    }
}

/// What the CHF is told and asked.
#[derive(Default)]
struct Said {
    /// What was used, and why it is told now.
    used: BTreeMap<Group, (Volumes, TriggerType)>,
    /// Of which groups more is wanted.
    wants: BTreeSet<Group>,
    /// The session has ended.
    ends: bool,
}

impl Said {
    /// The same reason for all, of which more is wanted.
    fn all(used: Used, trigger: &TriggerType) -> Self {
        let used: BTreeMap<_, _> =
            used.0.into_iter().map(|(group, used)| (group, (used, trigger.clone()))).collect();
        Said { wants: used.keys().copied().collect(), used, ends: false }
    }
}

/// Asks the CHF for a session that begins (TS 32.255, 5.2.2.2.2).
///
/// # Errors
/// The cause with which the UE is refused: it has no credit, or there is no CHF and the policy
/// refuses it then.
pub async fn begin(session: &mut Session) -> Result<(), String> {
    let config = session.smf.config.charging.clone();
    if config.mode == ChargingMode::None {
        return Ok(());
    }
    let started = Instant::now();
    match create(session).await {
        Ok(false) => {
            metrics::procedure("charging", "ok", started);
            Ok(())
        }
        Ok(true) => {
            metrics::procedure("charging", "no credit", started);
            session.refusal = GsmCause::OperatorDeterminedBarring;
            Err("charging: the subscriber has no credit".into())
        }
        Err(problem) if config.on_failure == OnFailure::Continue => {
            metrics::procedure("charging", "failed", started);
            tracing::warn!(supi = %session.supi, session = session.id, %problem, "a session goes on without a CHF");
            Ok(())
        }
        Err(problem) => {
            metrics::procedure("charging", "failed", started);
            Err(format!("charging: {problem}"))
        }
    }
}

/// Whether nothing is left to the subscriber.
async fn create(session: &mut Session) -> Result<bool, Problem> {
    let context = &session.smf.context;
    let peer = context
        .discover(NfType::Chf, "nchf-convergedcharging", &Criteria::default())
        .await?
        .about(&session.supi);
    let chf = ChfConvergedChargingClient::new(peer);
    let mut told = Told { sequence: 1, started: DateTime::now().to_string(), ..Told::default() };
    rating_groups(&session.flows)
        .into_iter()
        .for_each(|group| told.set(Some(group), Granted::default()));
    let said = Said { wants: told.groups(), ..Said::default() };
    let mut request = request(session, &told, said);
    request.notify_uri =
        Some(format!("{}/nsmf-callback/v1/charging/{}", context.api_root(), session.reference));
    let created = chf.post_chargingdata(request).await?;
    told.id = created.location.rsplit('/').next().unwrap_or_default().to_string();
    take(&mut told, session.smf.config.charging.rating_group, &created.body);
    let exhausted = told.of(None).denied;
    session.charging = Some(Box::new(Charging { chf, told }));
    Ok(exhausted)
}

/// What is granted from now on.
fn take(told: &mut Told, own: u32, answer: &ChargingDataResponse) {
    for granted in answer.multiple_unit_information.iter().flatten() {
        let group = Some(granted.rating_group).filter(|group| *group != own);
        if !told.groups().contains(&group) {
            continue;
        }
        let octets = granted.granted_unit.as_ref().and_then(|unit| unit.total_volume);
        let left_at_report = granted.volume_quota_threshold.unwrap_or(0);
        let denies = |code: &ResultCode| {
            !matches!(code, ResultCode::Success | ResultCode::QuotaManagementNotApplicable)
        };
        let now = Granted {
            quota: octets.map(|octets| Quota { octets, left_at_report }),
            last: granted.final_unit_indication.is_some(),
            denied: granted.result_code.as_ref().is_some_and(denies),
        };
        told.set(group, now);
    }
}

fn request(session: &Session, told: &Told, said: Said) -> ChargingDataRequest {
    let config = &session.smf.config.charging;
    let online = config.mode == ChargingMode::Online;
    let now = DateTime::now();
    let reasons: Vec<Trigger> =
        said.used.values().map(|(_, trigger)| Trigger::now(trigger.clone())).collect();
    let triggers = (!reasons.is_empty()).then_some(reasons).map(|mut all| {
        all.dedup();
        all
    });
    let container = |(used, trigger): &(Volumes, TriggerType)| UsedUnitContainer {
        quota_management_indicator: Some(match online {
            true => QuotaManagementIndicator::OnlineCharging,
            false => QuotaManagementIndicator::OfflineCharging,
        }),
        triggers: Some(vec![Trigger::now(trigger.clone())]),
        trigger_timestamp: Some(now.clone()),
        time: None,
        total_volume: Some(used.uplink.saturating_add(used.downlink)),
        uplink_volume: Some(used.uplink),
        downlink_volume: Some(used.downlink),
        local_sequence_number: told.sequence.into(),
    };
    let groups: BTreeSet<Group> = said.used.keys().chain(&said.wants).copied().collect();
    let usage = |group: &Group| MultipleUnitUsage {
        rating_group: group.unwrap_or(config.rating_group),
        requested_unit: (online && said.wants.contains(group)).then(RequestedUnit::default),
        used_unit_container: said.used.get(group).map(|used| vec![container(used)]),
    };
    let usages = groups.iter().map(usage).collect();
    let address = PduAddress {
        pdu_ipv4_address: session.addresses.ipv4,
        pdu_ipv6_address_with_prefix: session.addresses.ipv6(),
        pdu_address_prefix_length: session.addresses.ipv6().map(|_| 64),
    };
    let about = PduSessionInformation {
        network_slicing_info: Some(NetworkSlicingInfo { s_nssai: session.slice }),
        pdu_session_id: session.id,
        pdu_type: Some(session.kind.clone()),
        dnn_id: session.dnn.clone(),
        start_time: told.started.parse().ok(),
        stop_time: said.ends.then(|| now.clone()),
        pdu_address: (address != PduAddress::default()).then_some(address),
        authorized_session_ambr: Some(session.ambr.clone()),
    };
    ChargingDataRequest {
        subscriber_identifier: Some(session.supi.clone()),
        nf_consumer_identification: NfIdentification {
            nf_name: Some(session.smf.instance_id.clone()),
            nf_plmn_id: Some(session.plmn.clone()),
            node_functionality: NodeFunctionality::Smf,
        },
        invocation_time_stamp: now,
        invocation_sequence_number: told.sequence,
        notify_uri: None,
        multiple_unit_usage: Some(usages),
        triggers,
        pdu_session_charging_information: Some(PduSessionChargingInformation {
            smf_charging_id: Some(session.reference.to_string()),
            user_information: None,
            pdu_session_information: Some(about),
        }),
    }
}

/// The UPF has counted something (TS 32.255, 5.2.2.2.3). False where the session ends for it.
pub async fn reported(session: &mut Session, reports: &[UsageReport]) -> bool {
    let Some(charging) = &session.charging else { return true };
    let mut used = Used::default();
    used.add_all(reports.iter().map(|report| (report.urr_id, report.volume)));
    let mut said = Said::all(used, &TriggerType::QuotaThreshold);
    for report in reports.iter().filter(|report| report.trigger.has(UsageReportTrigger::VOLQU)) {
        let Some(group) = counted_by(report.urr_id) else { continue };
        if let Some((_, trigger)) = said.used.get_mut(&group) {
            // The last units are used up: what is told now is the end of it.
            let last = charging.told.of(group).last;
            *trigger = if last { TriggerType::Final } else { TriggerType::QuotaExhausted };
        }
    }
    account(session, said).await
}

/// The CHF asks to be asked anew (TS 32.290, 5.4.2.5): the UPF says what it has counted until now.
pub async fn asked_anew(session: &mut Session) -> bool {
    let (Some(upf), Some(charging)) = (session.counts(), &session.charging) else { return true };
    let mut used = Used::default();
    let counts = charging.told.groups().into_iter().filter_map(rule_of);
    match session.smf.n4.request(upf.upf, Some(upf.seid), n4::query(counts)).await {
        Ok(Message::SessionModificationResponse(answer)) => {
            used.add_all(answer.usage_reports.iter().map(|report| (report.urr_id, report.volume)));
        }
        _ => return true,
    }
    account(session, Said::all(used, &TriggerType::ForcedReauthorisation)).await
}

/// The session leaves the UPF that has counted this; what is granted from then on is for the next
/// one to count.
pub async fn moved(session: &mut Session, used: Used) {
    tell(session, Said::all(used, &TriggerType::RemovalOfUpf)).await;
}

/// Rating groups that are counted by themselves at the session's UPF.
pub fn counted(session: &Session) -> Vec<u32> {
    // An uplink classifier counts all as one: it sees no flows.
    let divided = session.place().is_some_and(|place| place.anchor.is_none() || place.intermediate);
    let charging = session.charging.as_ref().filter(|_| divided);
    charging.map_or(Vec::new(), |charging| {
        charging.told.others().into_iter().map(|(group, _)| group).collect()
    })
}

/// Flows have come whose rating groups are not counted yet.
pub async fn also(session: &mut Session) {
    let Some(charging) = &mut session.charging else { return };
    let known = charging.told.groups();
    let new: BTreeSet<u32> = rating_groups(&session.flows)
        .into_iter()
        .filter(|group| !known.contains(&Some(*group)))
        .collect();
    if new.is_empty() {
        return;
    }
    new.iter().for_each(|group| charging.told.set(Some(*group), Granted::default()));
    tell(session, Said { wants: new.iter().copied().map(Some).collect(), ..Said::default() }).await;
    let counted = counted(session);
    let others =
        session.charging.as_ref().map(|charging| charging.told.others()).unwrap_or_default();
    let new: Vec<_> = others
        .into_iter()
        .filter(|(group, _)| new.contains(group) && counted.contains(group))
        .collect();
    let Some(upf) = session.counts().filter(|_| !new.is_empty()) else { return };
    if let Err(error) = session.modify_at(upf, n4::also_counting(&new)).await {
        tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not count a rating group");
    }
}

async fn account(session: &mut Session, said: Said) -> bool {
    let wanted = said.wants.clone();
    if tell(session, said).await.is_none() {
        return true;
    }
    let Some(charging) = &session.charging else { return true };
    if charging.told.of(None).denied {
        tracing::info!(supi = %session.supi, session = session.id, "a subscriber has used up its units");
        return pdu_session_release::by_network(session, GsmCause::OperatorDeterminedBarring).await;
    }
    // What is denied to another group is used up, and stays so: its packets are not carried.
    let granted = wanted.into_iter().filter(|group| !charging.told.of(*group).denied);
    let quotas: Vec<_> = granted
        .filter_map(|group| Some((rule_of(group)?, charging.told.of(group).for_upf())))
        .collect();
    let Some(upf) = session.counts().filter(|_| !quotas.is_empty()) else { return true };
    if let Err(error) = session.modify_at(upf, n4::to_quotas(&quotas)).await {
        tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not take a quota");
    }
    true
}

/// Tells the CHF what was used, and takes what it grants. `None` for a session that is not charged.
async fn tell(session: &mut Session, said: Said) -> Option<()> {
    let mut charging = session.charging.take()?;
    let started = Instant::now();
    charging.told.sequence += 1;
    let wanted = said.wants.clone();
    let request = request(session, &charging.told, said);
    let answer = charging.chf.update_chargingdata(&charging.told.id, request).await;
    let config = &session.smf.config.charging;
    match &answer {
        Ok(answer) => take(&mut charging.told, config.rating_group, answer),
        Err(problem) => {
            tracing::warn!(supi = %session.supi, session = session.id, %problem, "the CHF does not take a report");
            // What it was is counted on, by the policy for this.
            let denied = config.on_failure == OnFailure::Refuse;
            wanted.into_iter().for_each(|group| {
                charging.told.set(group, Granted { denied, ..Granted::default() })
            });
        }
    }
    metrics::procedure("charging", if answer.is_ok() { "ok" } else { "failed" }, started);
    session.charging = Some(charging);
    Some(())
}

/// The session has ended (TS 32.255, 5.2.2.2.4).
pub async fn end(session: &mut Session, mut used: Used) {
    let Some(mut charging) = session.charging.take() else { return };
    charging.told.sequence += 1;
    used.0.entry(None).or_default();
    let said = Said { wants: BTreeSet::new(), ends: true, ..Said::all(used, &TriggerType::Final) };
    let request = request(session, &charging.told, said);
    if let Err(problem) = charging.chf.release_chargingdata(&charging.told.id, request).await {
        tracing::warn!(supi = %session.supi, session = session.id, %problem, "the CHF does not learn of a session's end");
    }
}

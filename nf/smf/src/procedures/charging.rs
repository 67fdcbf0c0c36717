//! Charging of a session (TS 32.255, 5.2; TS 32.290, 5.3.2.3): what the CHF grants is the UPF's quota, what the UPF has counted the
//! CHF is told. Where there is no CHF, `smf.charging.on_failure` says whether sessions go on.
use crate::config::{ChargingMode, OnFailure};
use crate::n4::{self, Quota};
use crate::procedures::release;
use crate::session::Session;
use crate::{Smf, metrics};
use martlet_nas::GsmCause;
use martlet_nf::Criteria;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{UsageReport, UsageReportTrigger, VolumeMeasurement};
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::common::{DateTime, Supi};
use martlet_sbi_api::nchf_converged_charging::{
    ChargingDataRequest, ChargingDataResponse, ChfConvergedChargingClient, MultipleUnitUsage, NetworkSlicingInfo,
    NfIdentification, NodeFunctionality, PduAddress, PduSessionChargingInformation, PduSessionInformation,
    QuotaManagementIndicator, RequestedUnit, ResultCode, Trigger, TriggerType, UsedUnitContainer,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// How a session is charged.
#[derive(Clone)]
pub struct Charging {
    pub chf: ChfConvergedChargingClient,
    pub told: Told,
}

/// What outlives the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The CHF's name for the session.
    id: String,
    /// Number of the last request.
    sequence: u32,
    /// Octets that the CHF has granted; none where it does not count them.
    pub quota: Option<Quota>,
    /// No more will come.
    last: bool,
    started: String,
}

/// What is kept.
pub type Kept = (ApiRoot, Told);

impl Charging {
    /// For the store.
    pub fn kept(&self) -> Kept {
        (self.chf.peer().root().clone(), self.told.clone())
    }

    /// As it was kept.
    pub fn restored(smf: &Smf, supi: &Supi, (root, told): Kept) -> Self {
        Charging { chf: ChfConvergedChargingClient::new(smf.context.peer_at(root).about(supi)), told }
    }
}

/// Octets from and to the UE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    uplink: u64,
    downlink: u64,
}

impl Used {
    /// What a UPF has measured.
    pub fn add(&mut self, volume: Option<VolumeMeasurement>) {
        let Some(VolumeMeasurement { octets: [_, uplink, downlink], .. }) = volume else { return };
        self.uplink = self.uplink.saturating_add(uplink.unwrap_or(0));
        self.downlink = self.downlink.saturating_add(downlink.unwrap_or(0));
    }
}

/// Asks the CHF for a session that begins (TS 32.255, 5.2.2.2.2).
///
/// # Errors
/// The cause with which the UE is refused: it has no credit, or there is no CHF and the policy refuses it then.
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
    let peer =
        context.discover(NfType::Chf, "nchf-convergedcharging", &Criteria::default()).await?.about(&session.supi);
    let chf = ChfConvergedChargingClient::new(peer);
    let mut told = Told { sequence: 1, started: DateTime::now().to_string(), ..Told::default() };
    let mut request = request(session, &told, None, true);
    request.notify_uri = Some(format!("{}/nsmf-callback/v1/charging/{}", context.api_root(), session.reference));
    let created = chf.post_chargingdata(request).await?;
    told.id = created.location.rsplit('/').next().unwrap_or_default().to_string();
    let exhausted = take(&mut told, &created.body);
    session.charging = Some(Box::new(Charging { chf, told }));
    Ok(exhausted)
}

/// What is granted from now on; whether it is nothing.
fn take(told: &mut Told, answer: &ChargingDataResponse) -> bool {
    let Some(granted) = answer.multiple_unit_information.iter().flatten().next() else { return false };
    let octets = granted.granted_unit.as_ref().and_then(|unit| unit.total_volume);
    told.last = granted.final_unit_indication.is_some();
    told.quota = octets.map(|octets| Quota { octets, left_at_report: granted.volume_quota_threshold.unwrap_or(0) });
    let denied = |code: &ResultCode| !matches!(code, ResultCode::Success | ResultCode::QuotaManagementNotApplicable);
    granted.result_code.as_ref().is_some_and(denied)
}

fn request(session: &Session, told: &Told, used: Option<(Used, TriggerType)>, asks: bool) -> ChargingDataRequest {
    let online = session.smf.config.charging.mode == ChargingMode::Online;
    let now = DateTime::now();
    let trigger = used.as_ref().map(|(_, trigger)| Trigger::now(trigger.clone()));
    let container = used.map(|(used, trigger)| UsedUnitContainer {
        quota_management_indicator: Some(match online {
            true => QuotaManagementIndicator::OnlineCharging,
            false => QuotaManagementIndicator::OfflineCharging,
        }),
        triggers: Some(vec![Trigger::now(trigger)]),
        trigger_timestamp: Some(now.clone()),
        time: None,
        total_volume: Some(used.uplink.saturating_add(used.downlink)),
        uplink_volume: Some(used.uplink),
        downlink_volume: Some(used.downlink),
        local_sequence_number: told.sequence.into(),
    });
    let usage = MultipleUnitUsage {
        rating_group: session.smf.config.charging.rating_group,
        requested_unit: (online && asks).then(RequestedUnit::default),
        used_unit_container: container.map(|container| vec![container]),
    };
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
        stop_time: (!asks).then(|| now.clone()),
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
        multiple_unit_usage: Some(vec![usage]),
        triggers: trigger.map(|trigger| vec![trigger]),
        pdu_session_charging_information: Some(PduSessionChargingInformation {
            smf_charging_id: Some(session.reference.to_string()),
            user_information: None,
            pdu_session_information: Some(about),
        }),
    }
}

/// The UPF has counted something (TS 32.255, 5.2.2.2.3). False where the session ends for it.
pub async fn reported(session: &mut Session, reports: &[UsageReport]) -> bool {
    let (mut used, mut exhausted) = (Used::default(), false);
    for report in reports.iter().filter(|report| report.urr_id == n4::CHARGING) {
        used.add(report.volume);
        exhausted |= report.trigger.has(UsageReportTrigger::VOLQU);
    }
    let trigger = if exhausted { TriggerType::QuotaExhausted } else { TriggerType::QuotaThreshold };
    account(session, used, trigger, exhausted).await
}

/// The CHF asks to be asked anew (TS 32.290, 5.4.2.5): the UPF says what it has counted until now.
pub async fn asked_anew(session: &mut Session) -> bool {
    let (Some(upf), true) = (session.upf, session.charging.is_some()) else { return true };
    let mut used = Used::default();
    match session.smf.n4.request(upf.upf, Some(upf.seid), n4::query()).await {
        Ok(Message::SessionModificationResponse(answer)) => {
            answer.usage_reports.iter().for_each(|report| used.add(report.volume));
        }
        _ => return true,
    }
    account(session, used, TriggerType::ForcedReauthorisation, false).await
}

async fn account(session: &mut Session, used: Used, trigger: TriggerType, exhausted: bool) -> bool {
    let Some(mut charging) = session.charging.take() else { return true };
    let started = Instant::now();
    charging.told.sequence += 1;
    // The last units are used up: what is told now is the end of it.
    let ends = exhausted && charging.told.last;
    let trigger = if ends { TriggerType::Final } else { trigger };
    let request = request(session, &charging.told, Some((used, trigger)), true);
    let answer = charging.chf.update_chargingdata(&charging.told.id, request).await;
    let denied = match &answer {
        Ok(answer) => take(&mut charging.told, answer),
        Err(problem) => {
            tracing::warn!(supi = %session.supi, session = session.id, %problem, "the CHF does not take a report");
            // What it was is counted on, by the policy for this.
            charging.told.quota = None;
            session.smf.config.charging.on_failure == OnFailure::Refuse
        }
    };
    metrics::procedure("charging", if answer.is_ok() { "ok" } else { "failed" }, started);
    let quota = charging.told.quota;
    session.charging = Some(charging);
    if denied {
        tracing::info!(supi = %session.supi, session = session.id, "a subscriber has used up its units");
        return release::by_network(session, GsmCause::OperatorDeterminedBarring).await;
    }
    if let Err(error) = session.modify(n4::to_quota(quota)).await {
        tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not take a quota");
    }
    true
}

/// The session has ended (TS 32.255, 5.2.2.2.4).
pub async fn end(session: &mut Session, used: Used) {
    let Some(mut charging) = session.charging.take() else { return };
    charging.told.sequence += 1;
    let request = request(session, &charging.told, Some((used, TriggerType::Final)), false);
    if let Err(problem) = charging.chf.release_chargingdata(&charging.told.id, request).await {
        tracing::warn!(supi = %session.supi, session = session.id, %problem, "the CHF does not learn of a session's end");
    }
}

//! Quota management (TS 32.290, 5.4): usage reports of the UPF, reauthorization, and rating groups
//! of new QoS flows.
use super::charging_session::{UsageReport, update};
use crate::n4::{self, N4Error, RETRY_INTERVAL};
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::n4_session_modification::modify_at;
use crate::qos_flows::rating_groups;
use crate::session::Session;
use crate::session_event::SessionEvent;
use crate::usage::{Granted, Usage, group_of_urr, urr_of_group};
use crate::user_plane_path::UpfSession;
use martlet_nas::GsmCause;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{UsageReport as UpfReport, UsageReportTrigger};
use martlet_sbi_api::nchf_converged_charging::TriggerType;
use std::collections::BTreeSet;

/// The UPF reports usage (TS 32.255, 5.2.2.2.3). Returns `false` if the session has ended, because
/// its credit is used up.
pub async fn usage_reported(session: &mut Session, reports: &[UpfReport]) -> bool {
    let Some(charging) = &session.charging else { return true };
    let mut usage = Usage::default();
    usage.add(reports.iter().map(|report| (report.urr_id, report.volume)));
    let mut report = UsageReport::new(usage, &TriggerType::QuotaThreshold);
    for exhausted in reports.iter().filter(|r| r.trigger.has(UsageReportTrigger::VOLQU)) {
        let Some(group) = group_of_urr(exhausted.urr_id) else { continue };
        if let Some((_, trigger)) = report.usage.get_mut(&group) {
            let is_final = charging.state.grant(group).is_final;
            *trigger = if is_final { TriggerType::Final } else { TriggerType::QuotaExhausted };
        }
    }
    update_quotas(session, report).await
}

/// The CHF requests reauthorization (TS 32.290, 5.4.2.5): reports the usage until now. Returns
/// `false` if the session has ended.
pub async fn reauthorize(session: &mut Session) -> bool {
    let counting = session.user_plane.counting();
    let (Some(upf), Some(charging)) = (counting, &session.charging) else { return true };
    let urrs = charging.state.groups().into_iter().filter_map(urr_of_group);
    let query = n4::query_usage(urrs);
    let mut usage = Usage::default();
    match session.smf.n4.request(upf.upf, Some(upf.seid), query).await {
        Ok(Message::SessionModificationResponse(response)) => {
            usage.add(response.usage_reports.iter().map(|report| (report.urr_id, report.volume)));
        }
        Ok(_) => return true,
        Err(error) => {
            reauthorize_later(session, upf, &error);
            return true;
        }
    }
    update_quotas(session, UsageReport::new(usage, &TriggerType::ForcedReauthorisation)).await
}

/// A UPF that has not answered keeps its quotas, and does not report again that they are used up:
/// the session is reauthorized once more. It gets its quotas with the next association otherwise.
fn reauthorize_later(session: &Session, upf: UpfSession, error: &N4Error) {
    if error.is_unanswered() && session.smf.n4.is_up(upf.upf) {
        session.send_to_self_after(RETRY_INTERVAL, || SessionEvent::Reauthorize);
    }
}

/// The rating groups with a URR of their own at the session's UPF.
pub fn measured_groups(session: &Session) -> Vec<u32> {
    // An uplink classifier counts all traffic as one group: it sees no flows.
    let is_measured = session.user_plane.path().is_some_and(|path| !path.has_classifier());
    let charging = session.charging.as_ref().filter(|_| is_measured);
    charging.map_or(Vec::new(), |charging| {
        charging.state.other_quotas().into_iter().map(|(group, _)| group).collect()
    })
}

/// Requests quota for the rating groups of new QoS flows, and adds their URRs.
pub async fn add_rating_groups(session: &mut Session) {
    let Some(charging) = &mut session.charging else { return };
    let known = charging.state.groups();
    let new: BTreeSet<u32> = rating_groups(&session.qos.flows)
        .into_iter()
        .filter(|group| !known.contains(&Some(*group)))
        .collect();
    if new.is_empty() {
        return;
    }
    for group in &new {
        charging.state.set_grant(Some(*group), Granted::default());
    }
    let requested = new.iter().copied().map(Some).collect();
    update(session, UsageReport { requested, ..UsageReport::default() }).await;
    let measured = measured_groups(session);
    let quotas = session.charging.as_ref().map(|charging| charging.state.other_quotas());
    let added: Vec<_> = quotas
        .unwrap_or_default()
        .into_iter()
        .filter(|(group, _)| new.contains(group) && measured.contains(group))
        .collect();
    let counting = session.user_plane.counting().filter(|_| !added.is_empty());
    let Some(upf) = counting else { return };
    if let Err(error) = modify_at(session, upf, n4::add_urrs(&added)).await {
        tracing::warn!(
            supi = %session.supi, session = session.id, %error, "URRs for rating groups not added"
        );
    }
}

/// The session has moved to another UPF, which has the quotas that were granted before. Reports the
/// last usage at the UPF that it has left, and gives the other one what is granted now. Returns
/// `false` if the session has ended, because its credit is used up.
pub async fn upf_left(session: &mut Session, usage: Usage) -> bool {
    update_quotas(session, UsageReport::new(usage, &TriggerType::RemovalOfUpf)).await
}

/// Reports usage, and gives the UPF the granted quotas. Returns `false` if the session has ended,
/// because its credit is used up.
async fn update_quotas(session: &mut Session, report: UsageReport) -> bool {
    let requested = report.requested.clone();
    if !update(session, report).await {
        return true;
    }
    let Some(charging) = &session.charging else { return true };
    let state = &charging.state;
    if state.grant(None).denied {
        tracing::info!(supi = %session.supi, session = session.id, "credit used up, releasing");
        return pdu_session_release::by_network(session, GsmCause::OperatorDeterminedBarring).await;
    }
    // The UPF drops packets of a denied rating group, since its quota is used up.
    let granted = requested.into_iter().filter(|group| !state.grant(*group).denied);
    let quotas: Vec<_> = granted
        .filter_map(|group| Some((urr_of_group(group)?, state.grant(group).upf_quota())))
        .collect();
    let counting = session.user_plane.counting().filter(|_| !quotas.is_empty());
    let Some(upf) = counting else { return true };
    if let Err(error) = modify_at(session, upf, n4::update_quotas(&quotas)).await {
        tracing::warn!(
            supi = %session.supi, session = session.id, %error, "quota not set at UPF"
        );
        reauthorize_later(session, upf, &error);
    }
    true
}

//! PDU session release (TS 23.502, 4.3.4 and 4.2.2.3; TS 24.501, 6.3.3 and 6.4.3).
//!
//! ```text
//! UE                AMF                              SMF
//!  |-- RELEASE REQUEST ------------------------------>|  by_ue: N4, charging
//!  |                 |            or by the network:  |  by_network: N4, charging
//!  |<-- RELEASE COMMAND, N2: resource release --------|  retransmit_command (T3592)
//!  |-- RELEASE COMPLETE ----------------------------->|  finish: PCF, UDM, addresses
//!  |                 |<-- SMContextStatusNotify ------|
//!  |                 |                                |
//!  |                 |-- ReleaseSMContext ----------->|  by_amf: N4
//!  |                 |<-- 204 ------------------------|
//!  |                 |                                |  then: PCF, charging, UDM, addresses
//! ```
use crate::procedures::charging::charging_session;
use crate::procedures::handover::forwarding_release;
use crate::procedures::n1_n2_transfer::{
    N1, N2, is_initiated, n1_response, reference, transfer_body,
};
use crate::procedures::policy::sm_policy_association;
use crate::procedures::subscription::{sm_subscription_data, smf_registration};
use crate::procedures::user_plane::n4_session_release;
use crate::session::{N4Sessions, Session};
use crate::session_event::{SessionEvent, UpdateResponse};
use crate::usage::Usage;
use crate::{metrics, n1};
use martlet_nas::GsmCause;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_pfcp::ie::ReportType;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::namf_communication::NgapIeType;
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, ResourceStatus, SmContextReleaseData, SmContextStatusNotification,
    SmContextUpdatedData, StatusInfo,
};
use std::time::Instant;
use tokio::sync::oneshot;

/// Transmissions of a release command (TS 24.501, 6.3.3.5 a).
const MAX_TRANSMISSIONS: u8 = 5;

/// The UE requests the release (4.3.4.2, step 1a). The response carries the commands for UE and
/// gNB.
pub async fn by_ue(session: &mut Session, pti: u8) -> UpdateResponse {
    if pti == 0 || pti == 255 {
        return n1_response(n1::release_reject(session.id, pti, GsmCause::InvalidPtiValue));
    }
    session.pti = pti;
    let cause = GsmCause::RegularDeactivation;
    session.gsm.begin_release(cause);
    release_user_plane(session).await;
    session.gsm.start_release_timer();
    let n1 = n1::release_command(session.id, pti, cause);
    let mut data = SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
    // The AMF knows whether the gNB has resources: its setup response may be in flight.
    session.user_plane.connection.deactivate();
    let n2 = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode();
    let n2 = n2.map_err(|e| Problem::system_failure(e.to_string()))?;
    data.n2_sm_info = Some(reference(N2));
    data.n2_sm_info_type = Some(N2SmInfoType::PduResRelCmd);
    Ok(Some(Multipart::new(data).part(N1, content_type::NAS, n1).part(N2, content_type::NGAP, n2)))
}

/// The network releases the session (4.3.4.2, steps 1b to 1f). A connected UE gets a command; for
/// an idle one the release is complete. Returns `false` if the session has ended.
pub async fn by_network(session: &mut Session, cause: GsmCause) -> bool {
    if session.gsm.is_releasing() {
        return true;
    }
    session.pti = 0;
    session.gsm.begin_release(cause);
    release_user_plane(session).await;
    session.gsm.start_release_timer();
    session.user_plane.connection.deactivate();
    let command = n1::release_command(session.id, 0, cause);
    let release = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode().ok();
    let n2 = release.map(|n2| (NgapIeType::PduResRelCmd, n2));
    let mut body = transfer_body(session, Some(command), n2);
    body.json.skip_ind = Some(true);
    if is_initiated(session.amf.client.n1_n2_message_transfer(&session.supi, body).await) {
        return true;
    }
    finish(session, true).await;
    false
}

/// T3592 has expired (TS 24.501, 6.3.3.5 a): sends a connected UE the command again. After the last
/// transmission the session is released without the UE, which learns so from the next PDU session
/// status. Returns `false` if the session has ended.
pub async fn retransmit_command(session: &mut Session) -> bool {
    let release = session.gsm.release();
    let mut is_sent = false;
    if let Some((cause, _)) = release.filter(|(_, sent)| *sent < MAX_TRANSMISSIONS) {
        let command = n1::release_command(session.id, session.pti, cause);
        let mut body = transfer_body(session, Some(command), None);
        // An idle UE is not paged (TS 23.502, 4.3.4.2, step 3b).
        body.json.skip_ind = Some(true);
        let response = session.amf.client.n1_n2_message_transfer(&session.supi, body).await;
        is_sent = is_initiated(response);
    }
    match is_sent {
        true => session.gsm.retransmit_release(),
        false => finish(session, true).await,
    }
    is_sent
}

/// Releases the N4 sessions. Returns the usage since the last report.
async fn release_n4_sessions(session: &mut Session) -> Usage {
    let mut usage = Usage::default();
    forwarding_release::release(session).await;
    for (bit, at) in session.user_plane.path().into_iter().flat_map(|path| path.all()) {
        match n4_session_release::release(session, at).await {
            Ok(last) if bit == 0 => usage = last,
            Ok(_) => {}
            Err(error) => tracing::warn!(
                supi = %session.supi, session = session.id, upf = %at.upf, %error,
                "N4 session not released"
            ),
        }
    }
    session.user_plane.n4 = N4Sessions::None;
    session.permits.clear();
    add_waiting_reports(session, &mut usage);
    usage
}

/// Adds the usage in reports that a UPF sent before it deleted the N4 session, and that wait in the
/// queue of the session.
fn add_waiting_reports(session: &mut Session, usage: &mut Usage) {
    let has_usage = |event: &SessionEvent| match event {
        SessionEvent::Report(report) => report.report_type.has(ReportType::USAR),
        _ => false,
    };
    for event in session.inbox.take_if(has_usage) {
        if let SessionEvent::Report(report) = event {
            usage.add(report.usage_reports.iter().map(|report| (report.urr_id, report.volume)));
        }
    }
}

/// Releases the N4 sessions, and the charging session with the last usage.
async fn release_user_plane(session: &mut Session) {
    let usage = release_n4_sessions(session).await;
    let charging = session.charging.take();
    charging_session::terminate(session, charging, usage).await;
}

/// Releases all resources of the session, and notifies the AMF if `notify_amf` is set. A failed
/// step does not stop the others.
pub async fn finish(session: &mut Session, notify_amf: bool) {
    let started = Instant::now();
    let usage = release_n4_sessions(session).await;
    let is_last = session.smf.sessions.begin_end(session.reference);
    release_contexts(session, usage, is_last, None).await;
    if notify_amf {
        notify_release(session).await;
    }
    released(session, started);
}

/// Releases the session at the request of the AMF, which gets the response as soon as the user
/// plane is released: PCF and UDM follow (TS 23.502, 4.2.2.3.2, steps 3 to 5c), and so does the CHF
/// (TS 32.255, 5.2.2.2.4). The session stays in the table and in the context store until they have
/// answered: a new session of the UE waits for that, and a restart does not lose it. `reported` is
/// what the AMF reports of the UE, which PCF and CHF get.
pub async fn by_amf(
    session: &mut Session,
    reported: Option<&SmContextReleaseData>,
    response: oneshot::Sender<()>,
) {
    let started = Instant::now();
    if let (Some(charging), Some(data)) = (&mut session.charging, reported) {
        charging.state.access.set_location(&data.ue_location, &data.ue_time_zone);
    }
    let usage = release_n4_sessions(session).await;
    let is_last = session.smf.sessions.begin_end(session.reference);
    let _ = response.send(());
    // The response precedes the requests.
    tokio::task::yield_now().await;
    release_contexts(session, usage, is_last, reported).await;
    released(session, started);
}

/// Releases the contexts of the session at PCF, CHF and UDM, concurrently, and then its addresses.
/// `is_last`: it is the UE's last session.
async fn release_contexts(
    session: &mut Session,
    usage: Usage,
    is_last: bool,
    reported: Option<&SmContextReleaseData>,
) {
    let policy = session.policy.take();
    let charging = session.charging.take();
    let was_registered = std::mem::take(&mut session.udm.is_registered);
    let session = &*session;
    let (supi, id) = (&session.supi, session.id);
    let policy = async {
        if let Some(association) = policy
            && let Err(problem) =
                sm_policy_association::delete(&association, session.plmn.clone(), reported).await
        {
            tracing::debug!(%supi, session = id, %problem, "policy association not deleted");
        }
    };
    let udm = async {
        if is_last {
            sm_subscription_data::unsubscribe(session).await;
        }
        // The registration of a newer session with the same identity has replaced this one's.
        if was_registered
            && session.smf.sessions.is_newest(session.reference)
            && let Err(problem) = smf_registration::deregister(session).await
        {
            tracing::debug!(%supi, session = id, %problem, "deregistration at UDM failed");
        }
    };
    tokio::join!(policy, charging_session::terminate(session, charging, usage), udm);
    let (pools, addresses) = (&session.smf.pools, &session.parameters.addresses);
    if !session.parameters.is_in_pool {
        return;
    }
    match session.is_owned().await {
        true => pools.release(&session.dnn, addresses),
        // Another SMF of the set took the session over while this one was suspended or cut off. The
        // addresses stay in use until it ends there.
        false => pools.retain(session.reference, &session.dnn, addresses),
    }
}

fn released(session: &Session, started: Instant) {
    metrics::procedure("pdu_session_release", "ok", started);
    tracing::info!(supi = %session.supi, session = session.id, "PDU session released");
}

/// Nsmf_PDUSession_SMContextStatusNotify.
async fn notify_release(session: &Session) {
    let body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Released));
    let peer = session.smf.context.callback_peer().about(&session.supi);
    let amf = AmfCallbackClient::new(peer);
    if let Err(problem) = amf.sm_context_status_notify(&session.amf.status_uri, body).await {
        let (supi, id) = (&session.supi, session.id);
        tracing::debug!(%supi, session = id, %problem, "release notification to AMF failed");
    }
}

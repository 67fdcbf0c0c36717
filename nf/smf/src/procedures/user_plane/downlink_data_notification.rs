//! Downlink data for an idle UE (TS 23.502, 4.2.3.3): the UPF tells, the AMF is asked to reach the
//! UE.
use crate::metrics;
use crate::n4::{to_buffer, to_buffer_anew};
use crate::procedures::charging::converged_charging;
use crate::session::{Session, SessionEvent};
use martlet_ngap::ngap::{Cause, CauseTransport};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_pfcp::SessionReportRequest;
use martlet_pfcp::ie::ReportType;
use martlet_sbi_api::namf_communication::NgapIeType;
use std::time::Instant;

/// Acts on a report of the UPF: false where the session ends for it.
pub async fn report(session: &mut Session, report: SessionReportRequest) -> bool {
    if report.report_type.has(ReportType::USAR) {
        metrics::n4("usage report");
        if !session.is_releasing()
            && !converged_charging::reported(session, &report.usage_reports).await
        {
            return false;
        }
    }
    if report.report_type.has(ReportType::ERIR) && session.active {
        // The gNB does not know the tunnel any more: downlink waits until the UE is reached anew
        // (TS 23.527, 5.3.2).
        tracing::warn!(supi = %session.supi, session = session.id, "the gNB does not know the session's tunnel");
        (session.active, session.stale) = (false, true);
        let _ = session.modify(to_buffer()).await;
    }
    if report.report_type.has(ReportType::DLDR) && !session.active && !session.is_releasing() {
        match session.activating {
            // The UE has come by itself: the gNB gets the tunnel already, and then what waits (TS
            // 23.502, 4.2.3.2).
            true => session.waiting = true,
            false => reach(session),
        }
    }
    true
}

/// Asks the AMF without waiting for it: the UE may be coming back by itself, and then the AMF waits
/// for this session.
pub fn reach(session: &Session) {
    let started = Instant::now();
    let Some(n2) = session.setup_request() else { return };
    let body = session.transfer_body(None, Some((NgapIeType::PduResSetupReq, n2)));
    // A gNB does not set up what it counts as set up (TS 38.413, 8.2.1.4).
    let lost = Cause::transport(CauseTransport::transport_resource_unavailable);
    let release = ReleaseCommand::new(lost).encode().ok().filter(|_| session.stale).map(|n2| {
        let mut body = session.transfer_body(None, Some((NgapIeType::PduResRelCmd, n2)));
        // Where the UE is idle, its gNB has released everything.
        body.json.skip_ind = Some(true);
        body
    });
    let (smf, amf, supi) = (session.smf.clone(), session.amf.clone(), session.supi.clone());
    let (reference, id) = (session.reference, session.id);
    tokio::spawn(async move {
        if let Some(release) = release
            && let Err(problem) = amf.n1_n2_message_transfer(&supi, release).await
        {
            tracing::info!(%supi, session = id, %problem, "the gNB is not told to release the session");
        }
        match amf.n1_n2_message_transfer(&supi, body).await {
            Ok(_) => metrics::procedure("downlink_data_notification", "ok", started),
            Err(problem) => {
                metrics::procedure("downlink_data_notification", problem.cause(), started);
                tracing::info!(%supi, session = id, %problem, "the UE is not reached");
                if let Some(handle) = smf.sessions.get(&reference.to_string()) {
                    handle.send(SessionEvent::TransferFailed);
                }
            }
        }
    });
}

/// The UE did not answer: what waits is dropped, and the next packet is told anew.
pub async fn not_reached(session: &mut Session) {
    if session.active || session.activating {
        return;
    }
    if let Err(error) = session.modify(to_buffer_anew()).await {
        tracing::debug!(%error, "what is buffered was not dropped");
    }
}

//! Downlink data for an idle UE (TS 23.502, 4.2.3.3): the UPF tells, the AMF is asked to reach the UE.
use crate::metrics;
use crate::n4::to_buffer;
use crate::session::{Session, SessionEvent};
use martlet_pfcp::SessionReportRequest;
use martlet_pfcp::ie::{PfcpSmReqFlags, ReportType};
use martlet_sbi_api::namf_communication::NgapIeType;
use std::time::Instant;

/// DROBU: what is buffered is dropped (TS 29.244, 8.2.34).
const DROP_BUFFERED: PfcpSmReqFlags = PfcpSmReqFlags(1);

/// Acts on a report of the UPF.
pub async fn report(session: &mut Session, report: SessionReportRequest) {
    if report.report_type.has(ReportType::USAR) {
        metrics::n4("usage report");
    }
    if report.report_type.has(ReportType::ERIR) {
        // The gNB does not know the tunnel any more: downlink waits until the UE is reached anew.
        tracing::warn!(supi = %session.supi, session = session.id, "the gNB does not know the session's tunnel");
        session.active = false;
        let _ = session.modify(to_buffer()).await;
    }
    if report.report_type.has(ReportType::DLDR) && !session.active && !session.releasing {
        reach(session);
    }
}

/// Asks the AMF without waiting for it: the UE may be coming back by itself, and then the AMF waits for this session.
fn reach(session: &Session) {
    let started = Instant::now();
    let Some(n2) = session.setup_request() else { return };
    let body = session.transfer_body(None, Some((NgapIeType::PduResSetupReq, n2)));
    let (smf, amf, supi) = (session.smf.clone(), session.amf.clone(), session.supi.clone());
    let (reference, id) = (session.reference, session.id);
    tokio::spawn(async move {
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
    if session.active {
        return;
    }
    let mut change = to_buffer();
    change.flags = Some(DROP_BUFFERED);
    if let Err(error) = session.modify(change).await {
        tracing::debug!(%error, "what is buffered was not dropped");
    }
}

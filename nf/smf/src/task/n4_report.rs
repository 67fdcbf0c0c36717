//! N4 session report of a UPF (TS 23.502, 4.4.2.2): dispatches its parts to the procedures.
use crate::metrics;
use crate::procedures::charging::quota_management;
use crate::procedures::release::orphaned_session_release;
use crate::procedures::user_plane::{downlink_data_notification, error_indication};
use crate::session::Session;
use martlet_pfcp::SessionReportRequest;
use martlet_pfcp::ie::ReportType;

/// Handles a report. Returns `false` if the session has ended.
pub async fn run(session: &mut Session, report: SessionReportRequest) -> bool {
    let kind = report.report_type;
    if kind.has(ReportType::USAR) {
        metrics::n4("usage report");
        let is_releasing = session.gsm.is_releasing();
        if !is_releasing && !quota_management::usage_reported(session, &report.usage_reports).await
        {
            return false;
        }
    }
    if kind.has(ReportType::ERIR) {
        error_indication::run(session).await;
    }
    if kind.has(ReportType::DLDR) {
        downlink_data_notification::data_arrived(session);
    }
    // User plane inactivity: the UE may no longer be reachable.
    !kind.has(ReportType::UPIR) || orphaned_session_release::run(session).await
}

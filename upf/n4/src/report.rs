//! PFCP session reports (TS 29.244, 6.3.5): events of the datapath become requests to the SMF.
use super::by_peer::cp_address;
use super::context::Notification;
use super::deadlines::Deadline;
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::*;
use martlet_pfcp::{Message, SessionReportRequest, SessionReportResponse};
use martlet_upf_datapath::Change;
use martlet_upf_rules::Action;
use std::net::{IpAddr, SocketAddr};

/// A request of ours that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pending {
    Heartbeat { association: u64 },
    DownlinkData { seid: u64 },
    ErrorIndication { seid: u64 },
    Usage { seid: u64 },
    Inactivity { seid: u64 },
    Release { association: u64 },
    GracefulRelease { association: u64, seid: u64 },
}

impl Pending {
    pub fn name(&self) -> &'static str {
        match self {
            Pending::Heartbeat { .. } => "heartbeat",
            Pending::DownlinkData { .. } => "downlink_data",
            Pending::ErrorIndication { .. } => "error_indication",
            Pending::Usage { .. } => "usage",
            Pending::Inactivity { .. } => "inactivity",
            Pending::Release { .. } => "release",
            Pending::GracefulRelease { .. } => "graceful_release",
        }
    }
}

/// An empty report.
pub(super) fn report(report_type: ReportType) -> SessionReportRequest {
    SessionReportRequest {
        report_type,
        downlink_data: None,
        usage_reports: Vec::new(),
        error_indication: None,
        load: None,
        overload: None,
    }
}

impl N4 {
    /// Sends a report to the CP function's end of a session.
    pub(super) fn send_report(
        &mut self,
        seid: u64,
        request: SessionReportRequest,
        pending: Pending,
        now: Moment,
    ) -> bool {
        let mut request = Message::from(request);
        let Some(context) = self.sessions.get(&seid) else { return false };
        let cp = context.cp();
        let Some(ip) = cp.ipv4.map(IpAddr::from).or(cp.ipv6.map(IpAddr::from)) else {
            return false;
        };
        metrics::N4_REPORTS.with_label_values(&[pending.name()]).inc();
        let to = SocketAddr::new(ip, self.settings.peer_port);
        self.add_load_control(ip, &mut request, now);
        self.send(to, Some(cp.seid), request, pending, now)
    }

    /// Downlink data arrived for a buffering session.
    pub(super) fn downlink_data(
        &mut self,
        seid: u64,
        pdr: u16,
        qfi: Option<u8>,
        dscp: u8,
        now: Moment,
    ) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        context.notification = Some(Notification { pdr, qfi, dscp });
        let far = context.rules().pdrs.get(&pdr).and_then(|pdr| context.rules().fars.get(&pdr.far));
        let bar = far.and_then(|far| far.bar).and_then(|bar| context.rules().bars.get(&bar));
        let delay = bar.map(|bar| bar.notification_delay).unwrap_or_default();
        if delay.is_zero() {
            self.notify(seid, now);
        } else {
            self.deadlines.set(Deadline::Notification { seid }, now.instant + delay);
        }
    }

    /// Sends a notification, unless its packet is no longer waiting.
    pub(super) fn notify(&mut self, seid: u64, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let Some(Notification { pdr, qfi, dscp }) = context.notification.take() else { return };
        let far = context.rules().pdrs.get(&pdr).and_then(|pdr| context.rules().fars.get(&pdr.far));
        if far.is_none_or(|far| far.action != Action::Buffer { notify: true }) {
            return;
        }
        // The DSCP is for paging policy differentiation (TS 23.501, 5.4.3.2).
        let service_information =
            Some(DownlinkDataServiceInformation { paging_policy: Some(dscp), qfi: qfi.map(Qfi) });
        let downlink_data =
            Some(DownlinkDataReport { pdr_ids: vec![PdrId(pdr)], service_information });
        let request = SessionReportRequest { downlink_data, ..report(ReportType::DLDR) };
        tracing::debug!(seid, pdr, "downlink data notification");
        if !self.send_report(seid, request, Pending::DownlinkData { seid }, now) {
            self.notify_again(seid);
        }
    }

    /// The report was lost: the next packet triggers another. After N1 reports in a row without an
    /// answer none follows until the SMF changes the session or answers one.
    fn notify_again(&mut self, seid: u64) {
        let max_silent = self.settings.transactions.n1;
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        context.silent_reports = context.silent_reports.saturating_add(1);
        if context.silent_reports >= max_silent {
            metrics::N4_DROPPED.with_label_values(&["silent_smf"]).inc();
            if let Some(suppressed) =
                martlet_log_limit::line("silent_smf", cp_address(&context.cp()))
            {
                tracing::warn!(
                    seid,
                    suppressed,
                    reports = max_silent,
                    "downlink data no longer reported"
                );
            }
            return;
        }
        let session = context.session();
        let change = Change { renotify: true, ..Change::to(&session) };
        if let Err(error) = self.datapath.apply(&change) {
            tracing::warn!(seid, %error, "rules not applied again");
        }
    }

    /// Error Indication: report it to the SMF of each session that sends into the tunnel. The peer
    /// sends one for each packet until the SMF has changed the session: within T1 one is reported.
    pub(super) fn error_indication(&mut self, peer: IpAddr, teid: u32, now: Moment) {
        let sessions: Vec<u64> = self.remote.sessions((peer, teid));
        if sessions.is_empty() {
            tracing::debug!(%peer, teid, "Error Indication for a tunnel that no session has");
        }
        let t1 = self.settings.transactions.t1;
        for seid in sessions {
            if !self.reported_errors.is_first(seid, (peer, teid), now.instant, t1) {
                continue;
            }
            let (ipv4, ipv6) = match peer {
                IpAddr::V4(ip) => (Some(ip), None),
                IpAddr::V6(ip) => (None, Some(ip)),
            };
            let remote_fteids = vec![FTeid::Given { teid, ipv4, ipv6 }];
            let error_indication = Some(ErrorIndicationReport { remote_fteids });
            let request = SessionReportRequest { error_indication, ..report(ReportType::ERIR) };
            if let Some(suppressed) = martlet_log_limit::line("error_indication", peer) {
                tracing::info!(
                    seid, %peer, teid, suppressed,
                    "error indication received"
                );
            }
            self.send_report(seid, request, Pending::ErrorIndication { seid }, now);
        }
    }

    /// An answer to a request of ours.
    pub(super) fn answered(&mut self, pending: Pending, message: Message, now: Moment) {
        match (pending, message) {
            (Pending::Heartbeat { association }, Message::HeartbeatResponse(response)) => {
                self.peer_responded(association, response.recovery, now);
            }
            (
                Pending::DownlinkData { seid }
                | Pending::ErrorIndication { seid }
                | Pending::Usage { seid }
                | Pending::Inactivity { seid },
                Message::SessionReportResponse(response),
            ) => self.report_answered(seid, pending, response),
            (
                Pending::GracefulRelease { association, seid },
                Message::SessionReportResponse(response),
            ) => {
                self.report_answered(seid, pending, response);
                self.continue_graceful_release(association, 1, now);
            }
            (Pending::Release { association }, Message::AssociationUpdateResponse(response)) => {
                if response.cause == Cause::NO_ESTABLISHED_ASSOCIATION {
                    self.end_association(association);
                }
            }
            (pending, message) => {
                tracing::warn!(
                    request = pending.name(),
                    answer = message.name(),
                    "unexpected type of PFCP response"
                );
            }
        }
    }

    fn report_answered(&mut self, seid: u64, pending: Pending, response: SessionReportResponse) {
        if response.cause == Cause::SESSION_CONTEXT_NOT_FOUND {
            tracing::warn!(seid, "session unknown to the SMF: removed");
            return self.forget_sessions(&[seid]);
        }
        if let Some(context) = self.sessions.get_mut(&seid)
            && response.cause.is_accepted()
        {
            context.silent_reports = 0;
        }
        if !response.cause.is_accepted() {
            tracing::warn!(
                seid,
                report = pending.name(),
                cause = response.cause.0,
                "session report rejected by the SMF"
            );
            if matches!(pending, Pending::DownlinkData { .. }) {
                self.notify_again(seid);
            }
        }
        // DROBU: the UE is not reachable (8.2.35).
        if response.flags.is_some_and(|flags| flags.0 & 0x01 != 0)
            && let Some(context) = self.sessions.get(&seid)
        {
            let session = context.session();
            let change = Change { drop_buffered: true, ..Change::to(&session) };
            if let Err(error) = self.datapath.apply(&change) {
                tracing::warn!(seid, %error, "rules not applied again");
            }
        }
    }

    /// A request timed out.
    pub(super) fn unanswered(&mut self, pending: Pending, now: Moment) {
        metrics::N4_UNANSWERED.with_label_values(&[pending.name()]).inc();
        match pending {
            Pending::Heartbeat { association } => self.heartbeat_failed(association, now),
            Pending::DownlinkData { seid } => self.notify_again(seid),
            Pending::GracefulRelease { association, .. } => {
                self.continue_graceful_release(association, 1, now)
            }
            Pending::ErrorIndication { .. }
            | Pending::Usage { .. }
            | Pending::Inactivity { .. }
            | Pending::Release { .. } => {}
        }
    }
}

//! Graceful release of an association (TS 29.244, 6.2.8 and 5.18): requested by the UP function at
//! its shutdown or when it is drained, or by the CP function, after all usage is reported.
use super::report::{Pending, report};
use super::{Moment, N4};
use martlet_pfcp::ie::*;
use martlet_pfcp::{AssociationUpdateRequest, SessionReportRequest};
use martlet_upf_rules::Urr;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Reports that wait for their answers at a time.
const WINDOW: usize = 64;
/// Time for SMFs to move sessions away from a drained UPF, unless `graceful_release_s` is longer.
const DRAINING_PERIOD: Duration = Duration::from_secs(60);
/// Flags (8.2.77).
const SARR: u8 = 1;
const URSS: u8 = 2;

/// Progress of a graceful release: sessions with unreported usage.
pub(super) struct GracefulRelease {
    left: VecDeque<u64>,
    under_way: usize,
}

impl N4 {
    /// Requests the release of all associations and rejects new sessions. False without an
    /// association.
    pub fn leave(&mut self, now: Moment) -> bool {
        let ids: Vec<u64> = self.associations.keys().copied().collect();
        if ids.is_empty() || self.settings.release.is_zero() {
            return false;
        }
        self.releasing = Some(now.instant + self.settings.release);
        self.request_releases(ids, self.settings.release, now);
        true
    }

    /// Drains the UPF, or ends that: SMFs move their sessions to other UPFs, and their associations
    /// are rejected. Traffic is forwarded meanwhile. Returns whether it was drained before.
    pub fn drain(&mut self, draining: bool, now: Moment) -> bool {
        let before = std::mem::replace(&mut self.draining, draining);
        if draining && !before {
            tracing::info!(associations = self.associations.len(), "UPF drained");
            let ids = self.associations.keys().copied().collect();
            self.request_releases(ids, self.settings.release.max(DRAINING_PERIOD), now);
        }
        before
    }

    fn request_releases(&mut self, associations: Vec<u64>, period: Duration, now: Moment) {
        for id in associations {
            self.request_release(id, SARR, Some(GracefulReleasePeriod::of(period)), now);
        }
    }

    /// Whether new associations are rejected.
    pub(super) fn is_leaving(&self) -> bool {
        self.releasing.is_some() || self.draining
    }

    /// The time by which it stops waiting for releases; now if no association is left.
    pub fn release_deadline(&self, now: Moment) -> Option<Instant> {
        self.releasing.map(|at| if self.associations.is_empty() { now.instant } else { at })
    }

    /// Whether an association rejects new sessions.
    pub(super) fn is_releasing(&self, association: u64) -> bool {
        self.releasing.is_some()
            || self.associations.get(&association).is_some_and(|a| a.graceful_release.is_some())
    }

    fn request_release(
        &mut self,
        id: u64,
        flags: u8,
        release_period: Option<GracefulReleasePeriod>,
        now: Moment,
    ) {
        let Some(peer) = self.associations.get(&id).map(|association| association.peer) else {
            return;
        };
        tracing::info!(smf = %peer.ip(), flags, "association release requested");
        let request = AssociationUpdateRequest {
            node_id: self.settings.node_id.clone(),
            up_features: None,
            cp_features: None,
            release_request: Some(AssociationReleaseRequest(flags)),
            release_period,
            flags: None,
        };
        self.send(peer, None, request.into(), Pending::Release { association: id }, now);
    }

    /// The SMF is about to release the association (5.18.2): reports the usage of its sessions,
    /// then the end of the reports.
    pub(super) fn prepare_release(&mut self, id: u64, now: Moment) {
        let Some(association) =
            self.associations.get_mut(&id).filter(|a| a.graceful_release.is_none())
        else {
            return;
        };
        let left = association.sessions.iter().copied().collect();
        association.graceful_release = Some(GracefulRelease { left, under_way: 0 });
        self.continue_graceful_release(id, 0, now);
    }

    /// Counts answered or lost reports and sends the next ones.
    pub(super) fn continue_graceful_release(&mut self, id: u64, answered: usize, now: Moment) {
        let Some(mut graceful_release) =
            self.associations.get_mut(&id).and_then(|a| a.graceful_release.take())
        else {
            return;
        };
        let had_all =
            graceful_release.left.is_empty() && graceful_release.under_way == 0 && answered > 0;
        graceful_release.under_way -= answered.min(graceful_release.under_way);
        while graceful_release.under_way < WINDOW
            && let Some(seid) = graceful_release.left.pop_front()
        {
            graceful_release.under_way += usize::from(self.report_all(id, seid, now));
        }
        let is_over =
            graceful_release.left.is_empty() && graceful_release.under_way == 0 && !had_all;
        if let Some(association) = self.associations.get_mut(&id) {
            association.graceful_release = Some(graceful_release);
        }
        if is_over {
            self.request_release(id, URSS, None, now);
        }
    }

    /// Reports the usage of a session; false if it has none.
    fn report_all(&mut self, association: u64, seid: u64, now: Moment) -> bool {
        let Some(context) = self.sessions.get(&seid) else { return false };
        let urrs: Vec<Urr> = context.rules().urrs.values().cloned().collect();
        let ids: Vec<u32> = urrs.iter().map(|urr| urr.id).collect();
        let mut usage = self.datapath.take_usage(seid, &ids);
        usage.retain(|usage| usage.uplink_packets + usage.downlink_packets > 0);
        if usage.is_empty() {
            return false;
        }
        let measured = self.reports(seid, &usage, &urrs, UsageReportTrigger::TEBUR, now);
        let usage_reports = measured.into_iter().map(UsageReport::from).collect();
        let request = SessionReportRequest { usage_reports, ..report(ReportType::USAR) };
        self.send_report(seid, request, Pending::GracefulRelease { association, seid }, now)
    }
}

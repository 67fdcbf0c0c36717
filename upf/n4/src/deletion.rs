//! PFCP session deletion (TS 29.244, 6.3.4).
use super::by_peer::cp_address;
use super::deadlines::Deadline;
use super::establishment::rejected;
use super::rejection::Rejection;
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::{Cause, UsageReport, UsageReportInDeletion, UsageReportTrigger};
use martlet_pfcp::{Message, SessionDeletionResponse};
use martlet_upf_datapath::Usage;
use martlet_upf_rules::Urr;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

/// Reports the usage of sessions that the datapath has removed.
pub(super) type Removed = HashMap<u64, Vec<Usage>>;

impl N4 {
    /// Removes the sessions of several deletion requests with one grace period. Returns the usage
    /// of each.
    pub(super) fn remove_all(&mut self, requests: impl Iterator<Item = (IpAddr, u64)>) -> Removed {
        let seids: BTreeSet<u64> = requests
            .filter(|(from, seid)| self.session_of(*from, *seid).is_some())
            .map(|(_, seid)| seid)
            .collect();
        let seids: Vec<u64> = seids.into_iter().collect();
        self.count_volumes(&seids);
        let usage = self.datapath.remove_all(&seids);
        seids.into_iter().zip(usage).collect()
    }

    /// `removed` holds the usage of sessions that the datapath has removed already.
    pub(super) fn delete(
        &mut self,
        from: IpAddr,
        seid: u64,
        removed: &mut Removed,
        now: Moment,
    ) -> (Option<u64>, Message) {
        let Some(context) = self.session_of(from, seid) else {
            metrics::N4_SESSIONS.with_label_values(&["deletion", "refused"]).inc();
            return (
                Some(0),
                deletion_rejection(&Rejection::from(Cause::SESSION_CONTEXT_NOT_FOUND)).into(),
            );
        };
        let cp = context.cp();
        let urrs: Vec<Urr> = context.rules().urrs.values().cloned().collect();
        let usage = removed.remove(&seid).unwrap_or_else(|| {
            self.count_volumes(&[seid]);
            self.datapath.remove(seid)
        });
        let reports = self.reports(seid, &usage, &urrs, UsageReportTrigger::TERMR, now);
        self.forget_removed(seid);
        let answer = SessionDeletionResponse {
            usage_reports: reports.into_iter().map(UsageReportInDeletion::from).collect(),
            ..deletion_rejection(&Rejection::from(Cause::ACCEPTED))
        };
        tracing::debug!(seid, "session deleted");
        metrics::N4_SESSIONS.with_label_values(&["deletion", rejected(answer.cause)]).inc();
        (Some(cp.seid), answer.into())
    }

    /// Removes sessions and all references to them, without usage reports.
    pub(super) fn forget_sessions(&mut self, seids: &[u64]) {
        self.count_volumes(seids);
        self.datapath.remove_all(seids);
        seids.iter().for_each(|seid| self.forget_removed(*seid));
    }

    /// Removes a session that its SMF establishes again. Returns the usage that was not reported.
    pub(super) fn remove_stale(&mut self, seid: u64, now: Moment) -> Vec<UsageReport> {
        let Some(context) = self.sessions.get(&seid) else { return Vec::new() };
        let urrs: Vec<Urr> = context.rules().urrs.values().cloned().collect();
        self.count_volumes(&[seid]);
        let mut usage = self.datapath.remove(seid);
        usage.retain(|usage| usage.uplink_packets + usage.downlink_packets > 0);
        let reports = self.reports(seid, &usage, &urrs, UsageReportTrigger::TERMR, now);
        let mut unreported = self.unreported.remove(&seid).unwrap_or_default();
        unreported.extend(reports.into_iter().map(UsageReport::from));
        self.forget_removed(seid);
        unreported
    }

    /// Removes all references to a session that the datapath has removed.
    fn forget_removed(&mut self, seid: u64) {
        self.unreported.remove(&seid);
        let Some(context) = self.sessions.remove(&seid) else { return };
        self.volumes.leave(&context.lines);
        let session = context.session();
        self.unindex_remote(&session);
        self.teids.release(session.allocated_teids());
        self.addresses.release(context.leases);
        self.by_cp.remove(cp_address(&session.cp), &session.cp.seid);
        for urr in session.urrs.keys() {
            self.cancel_urr(seid, *urr);
        }
        self.deadlines.cancel(Deadline::Notification { seid });
        self.deadlines.cancel(Deadline::Inactivity { seid });
        self.deadlines.cancel(Deadline::Advertisement { seid });
        if let Some(association) = self.associations.get_mut(&context.association) {
            association.sessions.remove(&seid);
        }
        metrics::SESSIONS.set(self.sessions.len() as i64);
    }
}

pub(super) fn deletion_rejection(rejection: &Rejection) -> SessionDeletionResponse {
    SessionDeletionResponse {
        cause: rejection.cause,
        offending_ie: rejection.offending_ie(),
        load: None,
        overload: None,
        usage_reports: Vec::new(),
    }
}

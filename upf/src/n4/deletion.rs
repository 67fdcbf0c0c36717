//! PFCP session deletion (TS 29.244, 6.3.4).
use super::alarms::Alarm;
use super::establishment::{cp_address, refused};
use super::refusal::Refusal;
use super::{Moment, N4};
use crate::metrics;
use crate::rules::Urr;
use martlet_pfcp::ie::{Cause, UsageReportInDeletion, UsageReportTrigger};
use martlet_pfcp::{Message, SessionDeletionResponse};
use std::net::IpAddr;

impl N4 {
    pub(super) fn delete(&mut self, from: IpAddr, seid: u64, now: Moment) -> (Option<u64>, Message) {
        let Some(context) = self.session_of(from, seid) else {
            metrics::N4_SESSIONS.with_label_values(&["deletion", "refused"]).inc();
            return (Some(0), deletion_refusal(&Refusal::from(Cause::SESSION_CONTEXT_NOT_FOUND)).into());
        };
        let cp = context.session.cp;
        let urrs: Vec<Urr> = context.session.urrs.values().cloned().collect();
        let usage = self.datapath.remove(seid);
        let reports = self.reports(seid, &usage, &urrs, UsageReportTrigger::TERMR, now);
        self.forget_session(seid);
        let answer = SessionDeletionResponse {
            usage_reports: reports.into_iter().map(UsageReportInDeletion::from).collect(),
            ..deletion_refusal(&Refusal::from(Cause::ACCEPTED))
        };
        tracing::debug!(seid, "session deleted");
        metrics::N4_SESSIONS.with_label_values(&["deletion", refused(answer.cause)]).inc();
        (Some(cp.seid), answer.into())
    }

    /// Removes a session and all that refers to it.
    pub(super) fn forget_session(&mut self, seid: u64) {
        let Some(context) = self.sessions.remove(&seid) else { return };
        self.datapath.remove(seid);
        self.unindex_remote(&context.session);
        self.teids.release(context.session.teids());
        self.addresses.give_back(context.leases);
        self.by_cp.remove(&(context.session.cp.seid, cp_address(&context.session.cp)));
        for urr in context.clocks.keys() {
            self.cancel_urr(seid, *urr);
        }
        self.alarms.cancel(Alarm::Notification { seid });
        self.alarms.cancel(Alarm::Inactivity { seid });
        if let Some(association) = self.associations.get_mut(&context.association) {
            association.sessions.remove(&seid);
        }
        metrics::SESSIONS.set(self.sessions.len() as i64);
    }
}

pub(super) fn deletion_refusal(refusal: &Refusal) -> SessionDeletionResponse {
    SessionDeletionResponse {
        cause: refusal.cause,
        offending_ie: refusal.offending_ie(),
        load: None,
        overload: None,
        usage_reports: Vec::new(),
    }
}

//! Usage reports and idleness (TS 29.244, 5.2.2.2 and 5.11).
use super::context::{Measured, UrrClock};
use super::deadlines::Deadline;
use super::report::{Pending, report};
use super::{Moment, N4};
use martlet_pfcp::SessionReportRequest;
use martlet_pfcp::ie::{
    ReportType, ReportingTriggers, UsageReport, UsageReportTrigger, UserPlaneInactivityTimer,
};
use martlet_upf_datapath::{Change, Reached, Usage};
use martlet_upf_rules::{Session, Urr};
use std::time::Duration;

/// 0 turns the timer off (8.2.83).
pub(super) fn inactivity(timer: Option<UserPlaneInactivityTimer>) -> Option<Duration> {
    timer.filter(|timer| timer.0 > 0).map(|timer| Duration::from_secs(u64::from(timer.0)))
}

impl N4 {
    /// Sets the alarms of a session after its rules have changed from `old`.
    pub(super) fn schedule(&mut self, seid: u64, old: Option<&Session>, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let urrs: Vec<Urr> = context.rules().urrs.values().cloned().collect();
        for urr in &urrs {
            let before = old.and_then(|old| old.urrs.get(&urr.id));
            if before == Some(urr) {
                continue;
            }
            // A rule created later did not start with the session.
            let is_new = old.is_some() && before.is_none();
            let mut clock = if is_new { UrrClock::start(now) } else { context.clock(urr.id) };
            if before.is_none_or(|before| {
                before.time_quota != urr.time_quota || before.time_quota_exhausted
            }) {
                clock.quota_since = now.instant;
            }
            context.set_clock(urr.id, clock);
            let on = |trigger, after: Option<Duration>| after.filter(|_| urr.triggers.has(trigger));
            let deadlines = [
                (
                    Deadline::Period { seid, urr: urr.id },
                    now.instant,
                    on(ReportingTriggers::PERIO, urr.period),
                ),
                (
                    Deadline::TimeThreshold { seid, urr: urr.id },
                    clock.since,
                    on(ReportingTriggers::TIMTH, urr.time_threshold),
                ),
                (
                    Deadline::TimeQuota { seid, urr: urr.id },
                    clock.quota_since,
                    urr.time_quota.filter(|_| !urr.time_quota_exhausted),
                ),
            ];
            for (deadline, from, after) in deadlines {
                match after {
                    Some(after) => self.deadlines.set(deadline, from + after),
                    None => self.deadlines.cancel(deadline),
                }
            }
        }
        if old.is_none_or(|old| old.inactivity != context.rules().inactivity) {
            match context.rules().inactivity {
                Some(timeout) => {
                    self.deadlines.set(Deadline::Inactivity { seid }, now.instant + timeout)
                }
                None => self.deadlines.cancel(Deadline::Inactivity { seid }),
            }
        }
    }

    pub(super) fn cancel_urr(&mut self, seid: u64, urr: u32) {
        self.deadlines.cancel(Deadline::Period { seid, urr });
        self.deadlines.cancel(Deadline::TimeThreshold { seid, urr });
        self.deadlines.cancel(Deadline::TimeQuota { seid, urr });
    }

    /// Removes a rule.
    pub(super) fn forget_urr(&mut self, seid: u64, urr: u32) {
        self.cancel_urr(seid, urr);
        if let Some(context) = self.sessions.get_mut(&seid) {
            context.forget_clock(urr);
        }
    }

    /// Creates reports of usage that was read from the datapath.
    pub(super) fn reports(
        &mut self,
        seid: u64,
        usage: &[Usage],
        urrs: &[Urr],
        trigger: UsageReportTrigger,
        now: Moment,
    ) -> Vec<Measured> {
        let Some(context) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let rule = |usage: &Usage| urrs.iter().find(|urr| urr.id == usage.urr);
        usage
            .iter()
            .filter_map(|usage| Some(context.measured(rule(usage)?, usage, trigger, now)))
            .collect()
    }

    /// Reads and reports the usage of one rule.
    fn report_usage(&mut self, seid: u64, urr: u32, trigger: UsageReportTrigger, now: Moment) {
        let Some(rule) =
            self.sessions.get(&seid).and_then(|context| context.rules().urrs.get(&urr)).cloned()
        else {
            return;
        };
        let usage = self.datapath.take_usage(seid, &[urr]);
        let usage_reports: Vec<UsageReport> = self
            .reports(seid, &usage, &[rule], trigger, now)
            .into_iter()
            .map(UsageReport::from)
            .collect();
        if usage_reports.is_empty() {
            return;
        }
        let request = SessionReportRequest { usage_reports, ..report(ReportType::USAR) };
        self.send_report(seid, request, Pending::Usage { seid }, now);
        self.restart_threshold(seid, urr, now);
    }

    /// A time threshold counts from the last report.
    fn restart_threshold(&mut self, seid: u64, urr: u32, now: Moment) {
        let rule = self.sessions.get(&seid).and_then(|context| context.rules().urrs.get(&urr));
        let threshold = rule
            .filter(|rule| rule.triggers.has(ReportingTriggers::TIMTH))
            .and_then(|r| r.time_threshold);
        if let Some(threshold) = threshold.filter(|threshold| !threshold.is_zero()) {
            self.deadlines.set(Deadline::TimeThreshold { seid, urr }, now.instant + threshold);
        }
    }

    pub(super) fn volume_reached(&mut self, seid: u64, urr: u32, limit: Reached, now: Moment) {
        let trigger = match limit {
            Reached::Threshold => UsageReportTrigger::VOLTH,
            Reached::Quota => UsageReportTrigger::VOLQU,
        };
        self.report_usage(seid, urr, trigger, now);
    }

    pub(super) fn period_over(&mut self, seid: u64, urr: u32, now: Moment) {
        let rule = self.sessions.get(&seid).and_then(|context| context.rules().urrs.get(&urr));
        let Some(period) = rule.and_then(|rule| rule.period) else { return };
        self.deadlines.set(Deadline::Period { seid, urr }, now.instant + period);
        self.report_usage(seid, urr, UsageReportTrigger::PERIO, now);
    }

    pub(super) fn time_reached(&mut self, seid: u64, urr: u32, now: Moment) {
        self.report_usage(seid, urr, UsageReportTrigger::TIMTH, now);
    }

    /// A time quota is exhausted: packets are dropped until a new one.
    pub(super) fn time_quota_over(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let mut session = context.session();
        let Some(rule) = session.urrs.get_mut(&urr) else { return };
        rule.time_quota_exhausted = true;
        if let Err(error) = self.datapath.apply(&Change::to(&session)) {
            tracing::error!(seid, urr, %error, "time quota not enforced");
        }
        context.set(session);
        self.report_usage(seid, urr, UsageReportTrigger::TIMQU, now);
    }

    /// Reports user plane inactivity of a session once.
    pub(super) fn maybe_idle(&mut self, seid: u64, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let Some(timeout) = context.rules().inactivity else { return };
        let last = self.datapath.last_activity(seid).unwrap_or(context.established);
        let due = last + timeout;
        if due > now.instant {
            return self.deadlines.set(Deadline::Inactivity { seid }, due);
        }
        self.deadlines.set(Deadline::Inactivity { seid }, now.instant + timeout);
        if context.idle_since != Some(last) {
            context.idle_since = Some(last);
            self.send_report(seid, report(ReportType::UPIR), Pending::Inactivity { seid }, now);
        }
    }
}

//! Usage reports and idleness (TS 29.244, 5.2.2.2 and 5.11).
use super::clock::ntp_seconds;
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

/// Usage reports of a session that are retained while its SMF does not respond.
const MAX_RETAINED: usize = 64;
/// Sessions whose retained usage is reported at a time.
const MAX_REPORTED: usize = 4096;

/// 0 turns the timer off (8.2.83).
pub(super) fn inactivity(timer: Option<UserPlaneInactivityTimer>) -> Option<Duration> {
    timer.filter(|timer| timer.0 > 0).map(|timer| Duration::from_secs(u64::from(timer.0)))
}

/// The application of a PDR that a rule measures.
fn application_of(session: &Session, urr: u32) -> Option<Vec<u8>> {
    let measured = session.pdrs.values().filter(|pdr| pdr.urrs.contains(&urr));
    measured.filter_map(|pdr| pdr.application.as_ref()).map(|known| known.id.clone()).next()
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
            let granted = before.is_none_or(|before| before.quota_given != urr.quota_given);
            if granted {
                clock.quota_since = now.instant;
            }
            context.set_clock(urr.id, clock);
            if granted && before.is_some() && context.progress(urr.id).is_some() {
                context.progress_mut(urr.id).counted[1] = 0;
            }
            let paused = urr.inactivity.is_some() && urr.awaits_traffic;
            let (id, same) = (urr.id, |a: bool| !a && before.is_some());
            let on = |trigger, after: Option<Duration>| after.filter(|_| urr.triggers.has(trigger));
            let deadlines = [
                (
                    Deadline::Period { seid, urr: id },
                    now.instant,
                    on(ReportingTriggers::PERIO, urr.period),
                ),
                (
                    Deadline::TimeThreshold { seid, urr: id },
                    clock.since,
                    on(ReportingTriggers::TIMTH, urr.time_threshold),
                ),
                (
                    Deadline::TimeQuota { seid, urr: id },
                    clock.quota_since,
                    urr.time_quota.filter(|_| !urr.exhausted),
                ),
            ];
            // Times without traffic are not measured: these two wait for its start.
            if paused {
                let [_, (.., threshold), (.., quota)] = deadlines;
                context.progress_mut(id).paused = [threshold, quota];
            }
            for (deadline, from, after) in deadlines {
                let waits = paused && deadline != Deadline::Period { seid, urr: id };
                match after.filter(|_| !waits) {
                    Some(after) => self.deadlines.set(deadline, from + after),
                    None => self.deadlines.cancel(deadline),
                }
            }
            let changed = |field: fn(&Urr) -> Option<Duration>| {
                before.is_none_or(|before| field(before) != field(urr))
            };
            let renewed = [
                (
                    Deadline::QuotaHolding { seid, urr: id },
                    urr.quota_holding_time,
                    changed(|urr| urr.quota_holding_time),
                ),
                (
                    Deadline::QuotaValidity { seid, urr: id },
                    urr.quota_validity_time,
                    changed(|urr| urr.quota_validity_time),
                ),
            ];
            for (deadline, after, changed) in renewed {
                match after {
                    None => self.deadlines.cancel(deadline),
                    Some(_) if same(changed || granted) => {}
                    Some(after) => self.deadlines.set(deadline, now.instant + after),
                }
            }
            let monitoring = Deadline::Monitoring { seid, urr: id };
            match urr.monitoring_time {
                None => self.deadlines.cancel(monitoring),
                Some(time) => {
                    // Seconds since 1900 wrap in 2036; a time in the past is at once.
                    let left = time.wrapping_sub(ntp_seconds(now.wall)).cast_signed().max(0);
                    let left = Duration::from_secs(left.unsigned_abs().into());
                    self.deadlines.set(monitoring, now.instant + left);
                }
            }
            if !urr.detects_traffic() {
                self.deadlines.cancel(Deadline::TrafficStop { seid, urr: id });
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
        self.deadlines.cancel(Deadline::Monitoring { seid, urr });
        self.deadlines.cancel(Deadline::QuotaHolding { seid, urr });
        self.deadlines.cancel(Deadline::QuotaValidity { seid, urr });
        self.deadlines.cancel(Deadline::TrafficStop { seid, urr });
    }

    /// Removes a rule.
    pub(super) fn forget_urr(&mut self, seid: u64, urr: u32) {
        self.cancel_urr(seid, urr);
        if let Some(context) = self.sessions.get_mut(&seid) {
            context.forget_clock(urr);
        }
    }

    /// Creates reports of usage that was read from the datapath. Usage before a Monitoring Time has
    /// a report of its own.
    pub(super) fn reports(
        &mut self,
        seid: u64,
        usage: &[Usage],
        urrs: &[Urr],
        trigger: UsageReportTrigger,
        now: Moment,
    ) -> Vec<Measured> {
        self.reports_with(seid, usage, urrs, |_| trigger, now)
    }

    /// The same with a trigger for each rule.
    fn reports_with(
        &mut self,
        seid: u64,
        usage: &[Usage],
        urrs: &[Urr],
        trigger: impl Fn(u32) -> UsageReportTrigger,
        now: Moment,
    ) -> Vec<Measured> {
        let Some(context) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let mut reports = Vec::with_capacity(usage.len());
        for usage in usage {
            let Some(rule) = urrs.iter().find(|urr| urr.id == usage.urr) else { continue };
            let trigger = trigger(rule.id);
            let before = match context.progress(rule.id) {
                Some(_) => context.progress_mut(rule.id).before.take(),
                None => None,
            };
            let mut measured = context.measured(rule, usage, trigger, now);
            if trigger == UsageReportTrigger::START || trigger == UsageReportTrigger::STOPT {
                measured = measured.of_application(application_of(context.rules(), rule.id));
            }
            match before {
                Some(before) => reports.extend([before.of_part(1), measured.of_part(2)]),
                None => reports.push(measured),
            }
        }
        reports
    }

    /// A rule of a session.
    pub(super) fn urr(&self, seid: u64, urr: u32) -> Option<Urr> {
        self.sessions.get(&seid)?.rules().urrs.get(&urr).cloned()
    }

    /// Changes a rule of a session, in the datapath too.
    pub(super) fn change_urr(&mut self, seid: u64, urr: u32, change: impl FnOnce(&mut Urr)) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let mut session = context.session();
        let Some(rule) = session.urrs.get_mut(&urr) else { return };
        change(rule);
        if let Err(error) = self.datapath.apply(&Change::to(&session)) {
            tracing::error!(seid, urr, %error, "change of a usage reporting rule not applied");
        }
        context.set(session);
    }

    /// Reads and reports the usage of one rule, and of those that are linked to it.
    pub(super) fn report_usage(
        &mut self,
        seid: u64,
        urr: u32,
        trigger: UsageReportTrigger,
        now: Moment,
    ) {
        let Some(context) = self.sessions.get(&seid) else { return };
        let with = |rule: &&Urr| rule.id == urr || rule.is_linked_to(urr);
        let rules: Vec<Urr> = context.rules().urrs.values().filter(with).cloned().collect();
        if rules.iter().all(|rule| rule.id != urr) {
            return;
        }
        let ids: Vec<u32> = rules.iter().map(|rule| rule.id).collect();
        let usage = self.datapath.take_usage(seid, &ids);
        let trigger_of = |id| if id == urr { trigger } else { UsageReportTrigger::LIUSA };
        self.report_taken(seid, &usage, &rules, trigger_of, now);
    }

    /// Reports usage of rules that was read from the datapath.
    pub(super) fn report_taken(
        &mut self,
        seid: u64,
        usage: &[Usage],
        rules: &[Urr],
        trigger: impl Fn(u32) -> UsageReportTrigger,
        now: Moment,
    ) {
        let usage_reports: Vec<UsageReport> = self
            .reports_with(seid, usage, rules, trigger, now)
            .into_iter()
            .map(UsageReport::from)
            .collect();
        if usage_reports.is_empty() {
            return;
        }
        let request = SessionReportRequest { usage_reports, ..report(ReportType::USAR) };
        self.send_report(seid, request, Pending::Usage { seid }, now);
        for rule in rules {
            self.restart_threshold(seid, rule.id, now);
            self.restore_threshold(seid, rule.id);
        }
    }

    /// Retains usage that did not reach the SMF: the datapath does not count it again, and without
    /// the report of a quota that is used up the SMF grants no further one.
    pub(super) fn retain_usage(&mut self, pending: Pending, usage: Vec<UsageReport>) {
        let Pending::Usage { seid } = pending else { return };
        if usage.is_empty() || !self.sessions.contains_key(&seid) {
            return;
        }
        let retained = self.unreported.entry(seid).or_default();
        retained.extend(usage);
        retained.drain(..retained.len().saturating_sub(MAX_RETAINED));
    }

    /// Reports the usage that did not reach the SMF of an association, which responds again.
    /// Sessions that the SMF still has to restore are left out.
    pub(super) fn report_again(&mut self, association: u64, now: Moment) {
        let is_due = |seid: &u64| {
            let context = self.sessions.get(seid);
            context.is_some_and(|context| context.association == association)
                && !self.is_stale(*seid)
        };
        let seids: Vec<u64> =
            self.unreported.keys().copied().filter(is_due).take(MAX_REPORTED).collect();
        for seid in seids {
            let Some(usage_reports) = self.unreported.remove(&seid) else { continue };
            let request = SessionReportRequest { usage_reports, ..report(ReportType::USAR) };
            self.send_report(seid, request, Pending::Usage { seid }, now);
        }
    }

    /// After the first report since the Monitoring Time, the whole threshold applies again.
    fn restore_threshold(&mut self, seid: u64, urr: u32) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        if context.progress(urr).is_none_or(|progress| progress.next_threshold.is_none()) {
            return;
        }
        let threshold = context.progress_mut(urr).next_threshold.take();
        self.change_urr(seid, urr, |rule| rule.volume_threshold = threshold);
    }

    /// The Monitoring Time: usage before it is kept for the next report, and other thresholds and
    /// quotas apply from now on (5.2.2.2.1).
    pub(super) fn split_usage(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(rule) = self.urr(seid, urr) else { return };
        let taken = self.datapath.take_usage(seid, &[urr]);
        let usage = taken.into_iter().next();
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let mut left = None;
        if let Some(usage) = usage {
            let measured = context.measured(&rule, &usage, UsageReportTrigger::MONIT, now);
            let progress = context.progress_mut(urr);
            // One of an earlier Monitoring Time without a report since is reported at once.
            let earlier = progress.before.replace(measured);
            let threshold = rule.volume_threshold;
            if rule.subsequent.volume_threshold.is_none()
                && rule.triggers.has(ReportingTriggers::VOLTH)
            {
                let whole = progress.next_threshold.take().or(threshold);
                progress.next_threshold = whole;
                left = threshold.map(|t| t.without(usage.uplink_bytes, usage.downlink_bytes));
            }
            if let Some(earlier) = earlier {
                let usage_reports = vec![UsageReport::from(earlier.of_part(1))];
                let request = SessionReportRequest { usage_reports, ..report(ReportType::USAR) };
                self.send_report(seid, request, Pending::Usage { seid }, now);
            }
        }
        let after = rule.subsequent;
        let quota = after.volume_quota.is_some()
            || after.time_quota.is_some()
            || after.event_quota.is_some();
        self.change_urr(seid, urr, |rule| {
            rule.monitoring_time = None;
            rule.subsequent = Default::default();
            rule.volume_threshold = after.volume_threshold.or(left).or(rule.volume_threshold);
            rule.volume_quota = after.volume_quota.or(rule.volume_quota);
            rule.time_threshold = after.time_threshold.or(rule.time_threshold);
            rule.time_quota = after.time_quota.or(rule.time_quota);
            rule.event_threshold = after.event_threshold.or(rule.event_threshold);
            rule.event_quota = after.event_quota.or(rule.event_quota);
            if quota {
                rule.quota_given = rule.quota_given.wrapping_add(1);
                rule.exhausted = false;
            }
        });
        if let Some(threshold) =
            after.time_threshold.filter(|_| rule.triggers.has(ReportingTriggers::TIMTH))
        {
            self.deadlines.set(Deadline::TimeThreshold { seid, urr }, now.instant + threshold);
        }
        if let Some(quota) = after.time_quota {
            self.deadlines.set(Deadline::TimeQuota { seid, urr }, now.instant + quota);
            if let Some(context) = self.sessions.get_mut(&seid) {
                let clock = context.clock(urr);
                context.set_clock(urr, UrrClock { quota_since: now.instant, ..clock });
            }
        }
    }

    /// A quota no longer holds if it was not used for its holding time.
    pub(super) fn maybe_unused(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(rule) = self.urr(seid, urr).filter(|rule| !rule.exhausted) else { return };
        let Some(time) = rule.quota_holding_time else { return };
        // It was set when the quota was granted, or to the last packet and this time.
        let since = now.instant.checked_sub(time).unwrap_or(now.instant);
        let due = self.last_packet(seid, urr, since) + time;
        if due > now.instant {
            return self.deadlines.set(Deadline::QuotaHolding { seid, urr }, due);
        }
        self.end_quota(seid, urr, ReportingTriggers::QUHTI, UsageReportTrigger::QUHTI, now);
    }

    /// The validity of a quota is over.
    pub(super) fn quota_invalid(&mut self, seid: u64, urr: u32, now: Moment) {
        self.end_quota(seid, urr, ReportingTriggers::QUVTI, UsageReportTrigger::QUVTI, now);
    }

    /// No packet passes until a new quota is granted.
    fn end_quota(
        &mut self,
        seid: u64,
        urr: u32,
        if_set: ReportingTriggers,
        trigger: UsageReportTrigger,
        now: Moment,
    ) {
        let Some(rule) = self.urr(seid, urr) else { return };
        self.change_urr(seid, urr, |rule| rule.exhausted = true);
        if rule.triggers.has(if_set) {
            self.report_usage(seid, urr, trigger, now);
        }
    }

    /// A time threshold counts from the last report.
    fn restart_threshold(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let Some(rule) = context.rules().urrs.get(&urr) else { return };
        let threshold = rule.time_threshold.filter(|_| rule.triggers.has(ReportingTriggers::TIMTH));
        let paused = rule.inactivity.is_some() && rule.awaits_traffic;
        if let Some(threshold) = threshold.filter(|threshold| !threshold.is_zero()) {
            if paused {
                context.progress_mut(urr).paused[0] = Some(threshold);
                return;
            }
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
        self.change_urr(seid, urr, |rule| rule.exhausted = true);
        self.report_usage(seid, urr, UsageReportTrigger::TIMQU, now);
    }

    /// Reports user plane inactivity of a session, and again whenever the time without traffic has
    /// doubled: the SMF may not have received the report, or not have been able to act on it.
    pub(super) fn maybe_idle(&mut self, seid: u64, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let Some(timeout) = context.rules().inactivity else { return };
        let last = self.datapath.last_activity(seid).unwrap_or(context.established);
        let due = last + timeout;
        if due > now.instant {
            return self.deadlines.set(Deadline::Inactivity { seid }, due);
        }
        self.deadlines.set(Deadline::Inactivity { seid }, now.instant + timeout);
        let reported = context.inactivity_reported;
        if reported.is_none_or(|(since, again)| since != last || again <= now.instant) {
            let again = now.instant + now.instant.saturating_duration_since(last);
            context.inactivity_reported = Some((last, again));
            self.send_report(seid, report(ReportType::UPIR), Pending::Inactivity { seid }, now);
        }
    }
}

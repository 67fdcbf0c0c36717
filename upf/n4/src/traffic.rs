//! Starts and stops of traffic, which URRs report or count as events (TS 29.244, 5.2.2.2 and
//! 5.2.2.3).
use super::deadlines::Deadline;
use super::{Moment, N4};
use martlet_pfcp::ie::{ReportingTriggers, UsageReportTrigger};
use martlet_upf_rules::Urr;
use std::time::{Duration, Instant};

impl N4 {
    /// The first packet of a rule passed.
    pub(super) fn traffic_started(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let Some(rule) = context.rules().urrs.get(&urr).filter(|urr| urr.awaits_traffic).cloned()
        else {
            return;
        };
        let progress = context.progress_mut(urr);
        progress.running = Some(now.instant);
        let paused = std::mem::take(&mut progress.paused);
        if rule.events {
            progress.events.push(now.wall);
            progress.counted = progress.counted.map(|count| count.saturating_add(1));
        }
        let counted = progress.counted;
        for (deadline, left) in paused_deadlines(seid, urr).into_iter().zip(paused) {
            if let Some(left) = left {
                self.deadlines.set(deadline, now.instant + left);
            }
        }
        let due = now.instant + self.stop_after(&rule);
        self.deadlines.set(Deadline::TrafficStop { seid, urr }, due);
        let used_up = rule.event_quota.is_some_and(|quota| counted[1] >= quota);
        self.change_urr(seid, urr, |rule| {
            rule.awaits_traffic = false;
            rule.exhausted |= used_up;
        });
        let reached = rule.triggers.has(ReportingTriggers::EVETH)
            && rule.event_threshold.is_some_and(|threshold| counted[0] >= threshold);
        if rule.triggers.has(ReportingTriggers::START) {
            self.report_usage(seid, urr, UsageReportTrigger::START, now);
        } else if used_up && rule.triggers.has(ReportingTriggers::EVEQU) {
            self.report_usage(seid, urr, UsageReportTrigger::EVEQU, now);
        } else if reached {
            self.report_usage(seid, urr, UsageReportTrigger::EVETH, now);
        }
    }

    /// How long no packet passes before traffic has stopped.
    fn stop_after(&self, rule: &Urr) -> Duration {
        rule.inactivity.unwrap_or(self.settings.traffic_stop)
    }

    /// Traffic has stopped unless there was a packet lately.
    pub(super) fn maybe_stopped(&mut self, seid: u64, urr: u32, now: Moment) {
        let Some(rule) = self.urr(seid, urr).filter(|rule| !rule.awaits_traffic) else { return };
        let Some(context) = self.sessions.get(&seid) else { return };
        let running = context.progress(urr).and_then(|progress| progress.running);
        let last = self.last_packet(seid, urr, running.unwrap_or(context.established));
        let due = last + self.stop_after(&rule);
        if due > now.instant {
            return self.deadlines.set(Deadline::TrafficStop { seid, urr }, due);
        }
        // The rest of the measured times continues at the next start.
        let mut paused = [None; 2];
        if rule.inactivity.is_some() {
            for (deadline, place) in paused_deadlines(seid, urr).into_iter().zip(&mut paused) {
                let at = self.deadlines.at(deadline);
                *place = at.map(|at| at.saturating_duration_since(now.instant));
                self.deadlines.cancel(deadline);
            }
        }
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        let clock = context.clock(urr);
        let progress = context.progress_mut(urr);
        if let Some(since) = progress.running.take() {
            progress.metered += now.instant.saturating_duration_since(since.max(clock.since));
        }
        progress.paused = paused;
        self.change_urr(seid, urr, |rule| rule.awaits_traffic = true);
        if rule.triggers.has(ReportingTriggers::STOPT) {
            self.report_usage(seid, urr, UsageReportTrigger::STOPT, now);
        }
    }

    /// When a rule last counted a packet; else since when it might have.
    pub(super) fn last_packet(&self, seid: u64, urr: u32, since: Instant) -> Instant {
        self.datapath.last_packet(seid, urr).map_or(since, |last| last.max(since))
    }
}

/// The deadlines of times that do not pass while there is no traffic.
fn paused_deadlines(seid: u64, urr: u32) -> [Deadline; 2] {
    [Deadline::TimeThreshold { seid, urr }, Deadline::TimeQuota { seid, urr }]
}

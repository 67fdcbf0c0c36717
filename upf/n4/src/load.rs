//! Load and overload control (TS 29.244, 6.2.3 and 6.2.4): reports the load of this UP function,
//! and the requested traffic reduction, to SMFs that support them.
use super::{Moment, N4};
use martlet_pfcp::Message;
use martlet_pfcp::ie::*;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Smaller changes of load are not reported, in per cent.
const STEP: u8 = 2;
/// Window of the measurement of N4's utilization.
const WINDOW: Duration = Duration::from_millis(500);

/// Whether a change of load is reported: also each change to and from 100 %, which is a UPF that
/// takes no more sessions.
fn is_reported(before: u8, now: u8) -> bool {
    before.abs_diff(now) >= STEP || (before == 100) != (now == 100)
}

/// The load last reported to an SMF.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReportedLoad {
    load: Option<u8>,
    overload: Option<(u8, Instant)>,
}

/// Utilization of N4.
#[derive(Default)]
pub(super) struct Work {
    since: Option<Instant>,
    busy: Duration,
    /// Busy share of the previous window, in per cent.
    share: u8,
}

impl Work {
    /// Records the duration of a message.
    pub fn add(&mut self, busy: Duration, now: Instant) {
        let since = *self.since.get_or_insert(now);
        self.busy += busy;
        let passed = now.saturating_duration_since(since);
        if passed >= WINDOW {
            self.share = (self.busy.as_micros() * 100 / passed.as_micros().max(1)).min(100) as u8;
            (self.since, self.busy) = (Some(now), Duration::ZERO);
        }
    }

    fn share(&self, now: Instant) -> u8 {
        // Without work for a window the previous value is void.
        let quiet =
            self.since.is_none_or(|since| now.saturating_duration_since(since) > 2 * WINDOW);
        if quiet { 0 } else { self.share }
    }
}

impl N4 {
    /// Records the processing time of a message for the load metric.
    pub fn record_processing(&mut self, busy: Duration, now: Moment) {
        self.work.add(busy, now.instant);
    }

    /// Load in per cent: the maximum of session count, table usage and utilization.
    pub(super) fn load(&self, now: Instant) -> u8 {
        let sessions = self.sessions.len() * 100 / self.settings.sessions.max(1);
        sessions.min(100).max(self.datapath.fullness().into()).max(self.work.share(now).into())
            as u8
    }

    /// The requested reduction of new sessions in per cent.
    pub(super) fn reduction(&self, load: u8) -> u8 {
        let from = self.settings.overload_percent.min(100);
        if self.is_leaving() {
            return 100;
        }
        if load < from || load == 0 {
            return 0;
        }
        let span = u32::from(100 - from).max(1);
        (u32::from(load - from) * 100 / span).clamp(1, 100) as u8
    }

    /// Adds load and overload control information if it changed since the last report.
    pub(super) fn add_load_control(&mut self, to: IpAddr, message: &mut Message, now: Moment) {
        let (load, overload) = match message {
            Message::SessionEstablishmentResponse(m) => (&mut m.load, &mut m.overload),
            Message::SessionModificationResponse(m) => (&mut m.load, &mut m.overload),
            Message::SessionDeletionResponse(m) => (&mut m.load, &mut m.overload),
            Message::SessionReportRequest(m) => (&mut m.load, &mut m.overload),
            _ => return,
        };
        let Some(id) = self.associations.iter().find(|(_, a)| a.peer.ip() == to).map(|(id, _)| *id)
        else {
            return;
        };
        let Some(association) = self.associations.get(&id) else { return };
        let (features, mut reported) = (association.features, association.reported);
        if !features.has(CpFunctionFeatures::LOAD) && !features.has(CpFunctionFeatures::OVRL) {
            return;
        }
        let metric = self.load(now.instant);
        if features.has(CpFunctionFeatures::LOAD)
            && reported.load.is_none_or(|before| is_reported(before, metric))
        {
            let sequence_number = self.load_sequence();
            *load = Some(LoadControlInformation { sequence_number, metric: Metric(metric) });
            reported.load = Some(metric);
        }
        let reduction = self.reduction(metric);
        // Repeated before it expires, and once at its end.
        let period = self.settings.overload;
        let known = reported
            .overload
            .filter(|(_, at)| now.instant.saturating_duration_since(*at) < period / 2);
        let changed = match known {
            Some((before, _)) => {
                before.abs_diff(reduction) >= STEP || (before > 0) != (reduction > 0)
            }
            None => reduction > 0 || reported.overload.is_some_and(|(before, _)| before > 0),
        };
        if features.has(CpFunctionFeatures::OVRL) && changed {
            let sequence_number = self.load_sequence();
            let timer = if reduction > 0 { Timer::of(period) } else { Timer(0) };
            let flags = Some(OciFlags(1));
            *overload = Some(OverloadControlInformation {
                sequence_number,
                metric: Metric(reduction),
                timer,
                flags,
            });
            reported.overload = Some((reduction, now.instant));
        }
        if let Some(association) = self.associations.get_mut(&id) {
            association.reported = reported;
        }
    }

    /// Increases with each report, also across restarts (8.2.31).
    fn load_sequence(&mut self) -> SequenceNumber {
        self.last_load = self.last_load.wrapping_add(1);
        SequenceNumber(self.last_load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_upf_reports_its_load_after_any_other() {
        assert!(is_reported(98, 100) && is_reported(99, 100) && is_reported(100, 99));
        assert!(is_reported(40, 42) && !is_reported(41, 42) && !is_reported(100, 100));
    }
}

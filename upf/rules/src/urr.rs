//! Usage reporting rules (TS 29.244, 5.2.2.2).
use super::RuleError;
use martlet_pfcp::ie::{
    CreateUrr, FailedRuleId, MeasurementInformation, MeasurementPeriod, ReportingTriggers,
    UpdateUrr,
};
use martlet_pfcp::ie::{
    SubsequentVolumeQuota, SubsequentVolumeThreshold, VolumeQuota, VolumeThreshold,
};
use martlet_pfcp::{IeValue, ie};
use std::time::Duration;

/// Triggers that reports have here; others are refused with the IE that names them.
const TRIGGERS: ReportingTriggers = ReportingTriggers(
    ReportingTriggers::PERIO.0
        | ReportingTriggers::VOLTH.0
        | ReportingTriggers::TIMTH.0
        | ReportingTriggers::QUHTI.0
        | ReportingTriggers::START.0
        | ReportingTriggers::STOPT.0
        | ReportingTriggers::LIUSA.0
        | ReportingTriggers::VOLQU.0
        | ReportingTriggers::TIMQU.0
        | ReportingTriggers::EVETH.0
        | ReportingTriggers::EVEQU.0
        | ReportingTriggers::QUVTI.0,
);

/// Volumes in bytes, each of which applies separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct VolumeLimit {
    /// Both directions together.
    pub total: Option<u64>,
    /// From the UE.
    pub uplink: Option<u64>,
    /// To the UE.
    pub downlink: Option<u64>,
}

impl VolumeLimit {
    /// Whether this volume in bytes reaches it.
    pub fn reached(&self, uplink: u64, downlink: u64) -> bool {
        let at = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        at(self.total, uplink.saturating_add(downlink))
            || at(self.uplink, uplink)
            || at(self.downlink, downlink)
    }

    /// The rest of it after this volume, in bytes.
    pub fn without(&self, uplink: u64, downlink: u64) -> VolumeLimit {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        VolumeLimit {
            total: left(self.total, uplink.saturating_add(downlink)),
            uplink: left(self.uplink, uplink),
            downlink: left(self.downlink, downlink),
        }
    }
}

macro_rules! limits {
    ($($name:ident)*) => {$(
        impl From<$name> for VolumeLimit {
            fn from(ie: $name) -> Self {
                VolumeLimit { total: ie.total, uplink: ie.uplink, downlink: ie.downlink }
            }
        }
    )*};
}

limits! { VolumeThreshold VolumeQuota SubsequentVolumeThreshold SubsequentVolumeQuota }

/// Thresholds and quotas that apply after the Monitoring Time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Subsequent {
    /// Volume threshold.
    pub volume_threshold: Option<VolumeLimit>,
    /// Volume quota.
    pub volume_quota: Option<VolumeLimit>,
    /// Time threshold.
    pub time_threshold: Option<Duration>,
    /// Time quota.
    pub time_quota: Option<Duration>,
    /// Event threshold.
    pub event_threshold: Option<u32>,
    /// Event quota.
    pub event_quota: Option<u32>,
}

/// A usage reporting rule: the measurement method and its triggers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Urr {
    /// URR ID.
    pub id: u32,
    /// Duration is measured.
    pub duration: bool,
    /// Volume is measured.
    pub volume: bool,
    /// Events are measured: starts of traffic.
    pub events: bool,
    /// The reporting triggers.
    pub triggers: ReportingTriggers,
    /// Interval of reports.
    pub period: Option<Duration>,
    /// Volume threshold since the last report; only with its trigger.
    pub volume_threshold: Option<VolumeLimit>,
    /// Volume quota since it was granted; only with its trigger.
    pub volume_quota: Option<VolumeLimit>,
    /// Time threshold since the last report.
    pub time_threshold: Option<Duration>,
    /// Time quota since it was granted.
    pub time_quota: Option<Duration>,
    /// A quota other than that of volume is exhausted: no packet passes. So after a time or event
    /// quota, a Quota Holding Time, or the validity of a quota.
    pub exhausted: bool,
    /// Number of quota grants, which distinguishes a renewed quota from an unchanged one.
    pub quota_given: u32,
    /// Time without packets after which the quota no longer holds.
    pub quota_holding_time: Option<Duration>,
    /// Time for which the quota is valid.
    pub quota_validity_time: Option<Duration>,
    /// When usage is split into before and after, in seconds since 1900.
    pub monitoring_time: Option<u32>,
    /// Thresholds and quotas after the Monitoring Time.
    pub subsequent: Subsequent,
    /// Number of events since the last report that is reported.
    pub event_threshold: Option<u32>,
    /// Number of events since it was granted after which no packet passes.
    pub event_quota: Option<u32>,
    /// Time without packets that does not count as duration, and after which traffic has stopped.
    pub inactivity: Option<Duration>,
    /// URRs with whose reports this one is reported.
    pub linked: Vec<u32>,
    /// The rule is inactive: it measures nothing.
    pub inactive: bool,
    /// The datapath raises an event at the next packet: traffic has not started yet.
    pub awaits_traffic: bool,
    /// FAR ID for packets beyond the quota.
    pub quota_far: Option<u32>,
}

fn seconds(value: u32) -> Duration {
    Duration::from_secs(u64::from(value))
}

/// Flags of Measurement Information (8.2.68).
const INAM: u8 = 0x02;

/// The fields that both IEs have under the same name; absent IEs leave their fields unchanged.
macro_rules! take_common {
    ($urr:ident, $ie:ident) => {{
        if let Some(period) = $ie.measurement_period {
            $urr.period = Some(seconds(period.0));
        }
        if let Some(threshold) = $ie.volume_threshold {
            $urr.volume_threshold = Some(threshold.into());
        }
        if let Some(threshold) = $ie.time_threshold {
            $urr.time_threshold = Some(seconds(threshold.0));
        }
        if let Some(threshold) = $ie.event_threshold {
            $urr.event_threshold = Some(threshold.0);
        }
        let quota =
            $ie.volume_quota.is_some() || $ie.time_quota.is_some() || $ie.event_quota.is_some();
        if let Some(quota) = $ie.volume_quota {
            $urr.volume_quota = Some(quota.into());
        }
        if let Some(quota) = $ie.time_quota {
            $urr.time_quota = Some(seconds(quota.0));
        }
        if let Some(quota) = $ie.event_quota {
            $urr.event_quota = Some(quota.0);
        }
        if quota {
            $urr.exhausted = false;
        }
        if let Some(time) = $ie.quota_holding_time {
            $urr.quota_holding_time = Some(seconds(time.0)).filter(|time| !time.is_zero());
        }
        if let Some(time) = $ie.quota_validity_time {
            $urr.quota_validity_time = Some(seconds(time.0)).filter(|time| !time.is_zero());
        }
        if let Some(time) = $ie.monitoring_time {
            $urr.monitoring_time = Some(time.0);
            $urr.subsequent = Subsequent {
                volume_threshold: $ie.subsequent_volume_threshold.map(VolumeLimit::from),
                volume_quota: $ie.subsequent_volume_quota.map(VolumeLimit::from),
                time_threshold: $ie.subsequent_time_threshold.map(|time| seconds(time.0)),
                time_quota: $ie.subsequent_time_quota.map(|time| seconds(time.0)),
                event_threshold: $ie.subsequent_event_threshold.map(|events| events.0),
                event_quota: $ie.subsequent_event_quota.map(|events| events.0),
            };
        }
        if let Some(time) = $ie.inactivity_detection_time {
            $urr.inactivity = Some(seconds(time.0)).filter(|time| !time.is_zero());
        }
        if !$ie.linked_urrs.is_empty() {
            $urr.linked = $ie.linked_urrs.iter().map(|urr| urr.0).collect();
        }
        if let Some(MeasurementInformation(flags)) = $ie.measurement_information {
            $urr.inactive = flags & INAM != 0;
        }
        if let Some(far) = $ie.quota_far {
            $urr.quota_far = Some(far.0);
        }
        quota
    }};
}

impl Urr {
    /// From a Create IE.
    pub fn create(ie: &CreateUrr) -> Result<Self, RuleError> {
        let mut urr = Urr { id: ie.urr_id.0, triggers: ie.reporting_triggers, ..Urr::default() };
        urr.measure(ie.measurement_method.0);
        take_common!(urr, ie);
        urr.awaits_traffic = urr.detects_traffic();
        urr.complete()?;
        Ok(urr)
    }

    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdateUrr) -> Result<(), RuleError> {
        let detected = self.detects_traffic();
        if let Some(method) = ie.measurement_method {
            self.measure(method.0);
        }
        if let Some(triggers) = ie.reporting_triggers {
            self.triggers = triggers;
        }
        let urr = self;
        if take_common!(urr, ie) {
            urr.quota_given = urr.quota_given.wrapping_add(1);
        }
        if urr.detects_traffic() != detected {
            urr.awaits_traffic = !detected;
        }
        urr.complete()
    }

    fn measure(&mut self, method: u8) {
        (self.duration, self.volume, self.events) =
            (method & 1 != 0, method & 2 != 0, method & 4 != 0);
    }

    /// Whether starts of traffic are reported or counted.
    pub fn detects_traffic(&self) -> bool {
        self.events
            || (self.duration && self.inactivity.is_some())
            || self.triggers.0 & (ReportingTriggers::START | ReportingTriggers::STOPT).0 != 0
    }

    /// Whether it reports together with another one.
    pub fn is_linked_to(&self, urr: u32) -> bool {
        self.triggers.has(ReportingTriggers::LIUSA) && self.id != urr && self.linked.contains(&urr)
    }

    fn complete(&self) -> Result<(), RuleError> {
        let id = self.id;
        if !self.duration && !self.volume && !self.events {
            let why = format!("URR {id} measures neither volume nor duration nor events");
            return Err(RuleError::failure(FailedRuleId::Urr(id), why));
        }
        let others = self.triggers.0 & !TRIGGERS.0;
        if others != 0 {
            let why = format!("URR {id} has reporting triggers {others:#x}, which are not known");
            return Err(RuleError::not_supported::<ReportingTriggers>(FailedRuleId::Urr(id), why));
        }
        let zero = self.period.is_some_and(|period| period.is_zero());
        if self.triggers.has(ReportingTriggers::PERIO) && self.period.is_none() || zero {
            let why = format!("URR {id} is to report periodically and has no Measurement Period");
            return Err(RuleError::conditional::<MeasurementPeriod>(why));
        }
        let has = |trigger| self.triggers.has(trigger);
        let needed = [
            (
                has(ReportingTriggers::QUHTI) && self.quota_holding_time.is_none(),
                ie::QuotaHoldingTime::TYPE,
                "Quota Holding Time",
            ),
            (
                has(ReportingTriggers::QUVTI) && self.quota_validity_time.is_none(),
                ie::QuotaValidityTime::TYPE,
                "Quota Validity Time",
            ),
            (
                has(ReportingTriggers::LIUSA) && self.linked.is_empty(),
                ie::LinkedUrrId::TYPE,
                "Linked URR ID",
            ),
        ];
        if let Some((_, offending, name)) = needed.into_iter().find(|(missing, ..)| *missing) {
            let why = format!("URR {id} has a reporting trigger that needs the IE {name}");
            return Err(RuleError { offending: Some(offending), ..RuleError::incomplete(why) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::{Cause, MeasurementMethod, QuotaHoldingTime, UrrId, VolumeQuota};

    fn rule(triggers: ReportingTriggers) -> CreateUrr {
        CreateUrr {
            urr_id: UrrId(7),
            measurement_method: MeasurementMethod(2),
            reporting_triggers: triggers,
            ..Default::default()
        }
    }

    #[test]
    fn triggers_without_their_element_or_support_are_refused() {
        for (trigger, cause, offending) in [
            (ReportingTriggers::QUHTI, Cause::CONDITIONAL_IE_MISSING, 71),
            (ReportingTriggers::QUVTI, Cause::CONDITIONAL_IE_MISSING, 181),
            (ReportingTriggers::LIUSA, Cause::CONDITIONAL_IE_MISSING, 82),
            (ReportingTriggers::PERIO, Cause::CONDITIONAL_IE_MISSING, 64),
            (ReportingTriggers::DROTH, Cause::SERVICE_NOT_SUPPORTED, 37),
            (ReportingTriggers::ENVCL, Cause::SERVICE_NOT_SUPPORTED, 37),
            (ReportingTriggers::IPMJL, Cause::SERVICE_NOT_SUPPORTED, 37),
        ] {
            let error = Urr::create(&rule(trigger)).unwrap_err();
            assert_eq!((error.cause, error.offending), (cause, Some(offending)), "{trigger:?}");
        }
    }

    #[test]
    fn a_new_quota_of_any_kind_lets_packets_pass_again() {
        let mut urr = Urr::create(&CreateUrr {
            quota_holding_time: Some(QuotaHoldingTime(5)),
            ..rule(ReportingTriggers::QUHTI)
        })
        .unwrap();
        urr.exhausted = true;
        urr.update(&UpdateUrr { urr_id: UrrId(7), ..Default::default() }).unwrap();
        assert!(urr.exhausted && urr.quota_given == 0);
        let volume_quota = Some(VolumeQuota { total: Some(10), ..Default::default() });
        urr.update(&UpdateUrr { urr_id: UrrId(7), volume_quota, ..Default::default() }).unwrap();
        assert!(!urr.exhausted && urr.quota_given == 1);
    }

    #[test]
    fn what_is_left_of_a_limit_is_never_negative() {
        let limit = VolumeLimit { total: Some(10), uplink: None, downlink: Some(5) };
        let left = VolumeLimit { total: Some(3), uplink: None, downlink: Some(0) };
        assert_eq!(limit.without(1, 6), left);
    }
}

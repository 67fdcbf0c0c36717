//! Usage reporting rules (TS 29.244, 5.2.2.2).
use super::RuleError;
use martlet_pfcp::ie::{CreateUrr, FailedRuleId, MeasurementPeriod, ReportingTriggers, UpdateUrr};
use martlet_pfcp::ie::{VolumeQuota, VolumeThreshold};
use std::time::Duration;

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
    /// Whether this much, in bytes, reaches it.
    pub fn reached(&self, uplink: u64, downlink: u64) -> bool {
        let at = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        at(self.total, uplink.saturating_add(downlink))
            || at(self.uplink, uplink)
            || at(self.downlink, downlink)
    }
}

impl From<VolumeThreshold> for VolumeLimit {
    fn from(ie: VolumeThreshold) -> Self {
        VolumeLimit { total: ie.total, uplink: ie.uplink, downlink: ie.downlink }
    }
}

impl From<VolumeQuota> for VolumeLimit {
    fn from(ie: VolumeQuota) -> Self {
        VolumeLimit { total: ie.total, uplink: ie.uplink, downlink: ie.downlink }
    }
}

/// A usage reporting rule: the measurement method and its triggers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Urr {
    /// URR ID.
    pub id: u32,
    /// Duration is measured.
    pub duration: bool,
    /// Volume is measured.
    pub volume: bool,
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
    /// The time quota is used up: no packet passes.
    pub time_quota_exhausted: bool,
    /// Number of quota grants, which distinguishes a renewed quota from an unchanged one.
    pub quota_given: u32,
}

fn seconds(value: u32) -> Duration {
    Duration::from_secs(u64::from(value))
}

impl Urr {
    /// From a Create IE.
    pub fn create(ie: &CreateUrr) -> Result<Self, RuleError> {
        let method = ie.measurement_method.0;
        let urr = Urr {
            id: ie.urr_id.0,
            duration: method & 1 != 0,
            volume: method & 2 != 0,
            triggers: ie.reporting_triggers,
            period: ie.measurement_period.map(|period| seconds(period.0)),
            volume_threshold: ie.volume_threshold.map(VolumeLimit::from),
            volume_quota: ie.volume_quota.map(VolumeLimit::from),
            time_threshold: ie.time_threshold.map(|time| seconds(time.0)),
            time_quota: ie.time_quota.map(|time| seconds(time.0)),
            time_quota_exhausted: false,
            quota_given: 0,
        };
        urr.complete()?;
        Ok(urr)
    }

    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdateUrr) -> Result<(), RuleError> {
        if let Some(method) = ie.measurement_method {
            (self.duration, self.volume) = (method.0 & 1 != 0, method.0 & 2 != 0);
        }
        if let Some(triggers) = ie.reporting_triggers {
            self.triggers = triggers;
        }
        if let Some(period) = ie.measurement_period {
            self.period = Some(seconds(period.0));
        }
        if let Some(threshold) = ie.volume_threshold {
            self.volume_threshold = Some(threshold.into());
        }
        if let Some(quota) = ie.volume_quota {
            self.volume_quota = Some(quota.into());
            self.quota_given = self.quota_given.wrapping_add(1);
        }
        if let Some(threshold) = ie.time_threshold {
            self.time_threshold = Some(seconds(threshold.0));
        }
        if let Some(quota) = ie.time_quota {
            self.time_quota = Some(seconds(quota.0));
            self.time_quota_exhausted = false;
        }
        self.complete()
    }

    fn complete(&self) -> Result<(), RuleError> {
        if !self.duration && !self.volume {
            let why = format!(
                "URR {} measures neither volume nor duration, the only methods here",
                self.id
            );
            return Err(RuleError::failure(FailedRuleId::Urr(self.id), why));
        }
        let zero = self.period.is_some_and(|period| period.is_zero());
        if self.triggers.has(ReportingTriggers::PERIO) && self.period.is_none() || zero {
            let why =
                format!("URR {} is to report periodically and has no Measurement Period", self.id);
            return Err(RuleError::conditional::<MeasurementPeriod>(why));
        }
        Ok(())
    }
}

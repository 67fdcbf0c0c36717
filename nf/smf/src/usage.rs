//! Usage and granted quota of a session, by rating group (TS 32.255, 5.2.1).
use crate::n4::{self, Quota};
use martlet_pfcp::ie::{UrrId, VolumeMeasurement};
use martlet_sbi_api::common::{Gpsi, NfInstanceId, Pei, RatType, UserLocation};
use martlet_sbi_api::nchf_converged_charging::TriggerType;
use martlet_sbi_api::nsmf_pdusession::SmContextUpdateData;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A rating group. `None` is the default one (`smf.charging.rating_group`), for all traffic without
/// a charging rule of its own.
pub type RatingGroup = Option<u32>;

/// Bytes from and to the UE. Field names are part of the stored format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volumes {
    pub uplink: u64,
    pub downlink: u64,
}

impl Volumes {
    fn add(&mut self, more: Volumes) {
        self.uplink = self.uplink.saturating_add(more.uplink);
        self.downlink = self.downlink.saturating_add(more.downlink);
    }
}

/// Usage by rating group, and the trigger of its report.
pub type TriggeredUsage = BTreeMap<RatingGroup, (Volumes, TriggerType)>;

/// The stored form: an object in JSON has no key for the default rating group.
pub type StoredUsage = Vec<(RatingGroup, (Volumes, TriggerType))>;

/// Usage by rating group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage(pub BTreeMap<RatingGroup, Volumes>);

impl Usage {
    /// Adds the measurements of URRs. URRs that this SMF did not create are ignored.
    pub fn add(&mut self, reports: impl Iterator<Item = (UrrId, Option<VolumeMeasurement>)>) {
        for (urr, volume) in reports {
            let Some(group) = group_of_urr(urr) else { continue };
            let used = self.0.entry(group).or_default();
            let Some(VolumeMeasurement { octets: [_, uplink, downlink], .. }) = volume else {
                continue;
            };
            used.add(Volumes { uplink: uplink.unwrap_or(0), downlink: downlink.unwrap_or(0) });
        }
    }
}

/// The rating group that a URR measures.
pub fn group_of_urr(urr: UrrId) -> Option<RatingGroup> {
    if urr == n4::DEFAULT_URR { Some(None) } else { n4::group_of(urr).map(Some) }
}

/// The URR that measures a rating group; `None` if the group's number is too large.
pub fn urr_of_group(group: RatingGroup) -> Option<UrrId> {
    group.map_or(Some(n4::DEFAULT_URR), n4::urr_of)
}

/// The CHF's grant for a rating group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Granted bytes; `None` if the CHF does not limit them.
    pub quota: Option<Quota>,
    /// Final unit indication: no further quota follows.
    #[serde(rename = "last")]
    pub is_final: bool,
    /// The CHF denies the rating group.
    pub denied: bool,
}

impl Granted {
    /// The quota for the UPF; `None` for unlimited.
    pub fn upf_quota(&self) -> Option<Quota> {
        if self.denied { Some(Quota { bytes: 0, report_at_remaining: 0 }) } else { self.quota }
    }
}

/// What the AMF reported of the user of a charging session and of the access (TS 32.255, 6.2.1.2).
/// Field names are part of the stored format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChargedAccess {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpsi: Option<Gpsi>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pei: Option<Pei>,
    /// `nfInstanceId` of the AMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amf: Option<NfInstanceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rat_type: Option<RatType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<UserLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

impl ChargedAccess {
    fn is_empty(&self) -> bool {
        *self == ChargedAccess::default()
    }

    /// Takes what an AMF reports with an update.
    pub fn update(&mut self, data: &SmContextUpdateData) {
        replace(&mut self.pei, &data.pei);
        replace(&mut self.amf, &data.serving_nf_id);
        replace(&mut self.rat_type, &data.rat_type);
        self.set_location(&data.ue_location, &data.ue_time_zone);
    }

    /// Takes the location and the time zone that an AMF reports.
    pub fn set_location(&mut self, location: &Option<UserLocation>, time_zone: &Option<String>) {
        replace(&mut self.location, location);
        replace(&mut self.time_zone, time_zone);
    }
}

/// Replaces a value by a reported one.
fn replace<T: Clone>(known: &mut Option<T>, reported: &Option<T>) {
    if reported.is_some() {
        known.clone_from(reported);
    }
}

/// Requests to the CHF that a killed process may have sent without storing their numbers.
const UNSTORED_REQUESTS: u32 = 64;

/// State of a charging session. Field names are part of the stored format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChargingState {
    /// Identity of the charging session at the CHF.
    pub id: String,
    /// Sequence number of the last request.
    pub sequence: u32,
    /// Start time in the format of RFC 3339.
    pub started: String,
    /// Grant for the default rating group.
    pub own: Granted,
    /// Grants for further rating groups.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<u32, Granted>,
    /// The user and the access, which each request names.
    #[serde(default, skip_serializing_if = "ChargedAccess::is_empty")]
    pub access: ChargedAccess,
    /// The CHF has the notification URI of the SMF that failed: the next update has this one's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews_notify_uri: bool,
    /// Usage that the CHF has not recorded, since it rejected the report or did not get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreported: StoredUsage,
    /// The sequence number and the usage of the last report, if the CHF may have recorded it but
    /// did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<(u32, StoredUsage)>,
}

impl ChargingState {
    /// The state for the process that restores it; `taken_over` from another SMF of the set or not.
    /// Its requests have numbers that the former process did not use: a CHF takes a request with a
    /// known number for a repetition, and does not count its usage.
    pub fn restored(self, taken_over: bool) -> Self {
        ChargingState {
            sequence: self.sequence.saturating_add(UNSTORED_REQUESTS),
            renews_notify_uri: self.renews_notify_uri || taken_over,
            ..self
        }
    }

    /// The grant for a rating group.
    pub fn grant(&self, group: RatingGroup) -> Granted {
        group.map_or(Some(&self.own), |group| self.others.get(&group)).copied().unwrap_or_default()
    }

    /// Sets the grant for a rating group.
    pub fn set_grant(&mut self, group: RatingGroup, granted: Granted) {
        match group {
            None => self.own = granted,
            Some(group) => drop(self.others.insert(group, granted)),
        }
    }

    /// Keeps usage for the next report.
    pub fn keep_unreported(&mut self, mut usage: TriggeredUsage) {
        self.take_unreported(&mut usage);
        usage.retain(|_, (used, _)| *used != Volumes::default());
        self.unreported = usage.into_iter().collect();
    }

    /// Adds the usage of earlier reports to that of the next one. A rating group that the next one
    /// has keeps its trigger.
    pub fn take_unreported(&mut self, usage: &mut TriggeredUsage) {
        for (group, (used, trigger)) in std::mem::take(&mut self.unreported) {
            usage.entry(group).or_insert((Volumes::default(), trigger)).0.add(used);
        }
    }

    /// All measured rating groups.
    pub fn groups(&self) -> BTreeSet<RatingGroup> {
        std::iter::once(None).chain(self.others.keys().copied().map(Some)).collect()
    }

    /// The quota of the default rating group.
    pub fn default_quota(&self) -> Option<Quota> {
        self.own.upf_quota()
    }

    /// The further rating groups with their quotas.
    pub fn other_quotas(&self) -> Vec<(u32, Option<Quota>)> {
        self.others.iter().map(|(group, granted)| (*group, granted.upf_quota())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_urr_measures_one_rating_group() {
        let volume = |uplink, downlink| {
            Some(VolumeMeasurement {
                octets: [None, Some(uplink), Some(downlink)],
                ..Default::default()
            })
        };
        let seventh = n4::urr_of(7).unwrap();
        let mut used = Usage::default();
        let reports = [
            (n4::DEFAULT_URR, volume(1, 2)),
            (seventh, volume(10, 20)),
            (seventh, volume(5, 0)),
            (UrrId(2), volume(9, 9)),
        ];
        used.add(reports.into_iter());
        let of = |uplink, downlink| Volumes { uplink, downlink };
        assert_eq!(used.0, BTreeMap::from([(None, of(1, 2)), (Some(7), of(15, 20))]));
        assert_eq!(
            (urr_of_group(None), urr_of_group(Some(7)), urr_of_group(Some(u32::MAX))),
            (Some(n4::DEFAULT_URR), Some(seventh), None)
        );
        assert_eq!(group_of_urr(UrrId(2)), None);
    }

    #[test]
    fn an_update_retains_what_it_does_not_report() {
        // As stored by versions without it.
        let stored = r#"{"id": "1", "sequence": 2, "started": "", "own":
            {"quota": null, "last": false, "denied": false}}"#;
        let mut state: ChargingState = serde_json::from_str(stored).unwrap();
        assert!(!serde_json::to_string(&state).unwrap().contains("access"));
        let reported = SmContextUpdateData {
            rat_type: Some(RatType::Nr),
            ue_time_zone: Some("+02:00".into()),
            ..Default::default()
        };
        state.access.update(&reported);
        state.access.update(&SmContextUpdateData::default());
        state.access.set_location(&None, &Some("+01:00".into()));
        let text = serde_json::to_string(&state).unwrap();
        assert!(text.ends_with(r#""access":{"rat_type":"NR","time_zone":"+01:00"}}"#), "{text}");
        assert_eq!(serde_json::from_str::<ChargingState>(&text).unwrap(), state);
    }

    #[test]
    fn usage_that_is_not_recorded_is_added_to_the_next_report() {
        let of = |uplink, downlink| Volumes { uplink, downlink };
        let (threshold, last) = (TriggerType::QuotaThreshold, TriggerType::Final);
        let mut state = ChargingState::default();
        let first = [(None, of(1, 2)), (Some(7), of(3, 4)), (Some(8), of(0, 0))];
        let first = first.map(|(group, used)| (group, (used, threshold.clone())));
        state.keep_unreported(TriggeredUsage::from(first));
        let second = [(Some(7), (of(10, 20), threshold.clone()))];
        state.keep_unreported(TriggeredUsage::from(second));
        // Also after a restart of the SMF.
        let text = serde_json::to_string(&state).unwrap();
        let mut state: ChargingState = serde_json::from_str(&text).unwrap();
        let mut usage = TriggeredUsage::from([(None, (of(100, 200), last.clone()))]);
        state.take_unreported(&mut usage);
        let expected = [(None, (of(101, 202), last)), (Some(7), (of(13, 24), threshold))];
        assert_eq!(usage, TriggeredUsage::from(expected));
        assert!(state.unreported.is_empty());
    }

    #[test]
    fn a_restored_session_uses_no_sequence_number_again() {
        let stored = ChargingState { id: "7".into(), sequence: 4, ..ChargingState::default() };
        let restored = stored.clone().restored(false);
        assert!(restored.sequence >= stored.sequence + UNSTORED_REQUESTS);
        assert_eq!(ChargingState { sequence: stored.sequence, ..restored }, stored);
    }

    #[test]
    fn a_session_that_was_taken_over_renews_its_notification_uri() {
        let taken_over = ChargingState::default().restored(true);
        // Also after a restart of the SMF that took it over.
        let text = serde_json::to_string(&taken_over).unwrap();
        let again = serde_json::from_str::<ChargingState>(&text).unwrap().restored(false);
        assert!(taken_over.renews_notify_uri && again.renews_notify_uri);
        assert!(!ChargingState::default().restored(false).renews_notify_uri);
    }

    #[test]
    fn a_denied_rating_group_has_no_quota() {
        let mut state = ChargingState::default();
        state.set_grant(Some(7), Granted { denied: true, ..Granted::default() });
        assert_eq!(state.groups(), BTreeSet::from([None, Some(7)]));
        assert_eq!(
            (state.default_quota(), state.other_quotas()),
            (None, vec![(7, Some(Quota { bytes: 0, report_at_remaining: 0 }))])
        );
    }
}

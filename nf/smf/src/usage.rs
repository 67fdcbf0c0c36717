//! What a session has used and may use, by rating group (TS 32.255, 5.2.1).
use crate::n4::{self, Quota};
use martlet_pfcp::ie::{UrrId, VolumeMeasurement};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A rating group: `None` is the session's own (`smf.charging.rating_group`), which all belongs to
/// that no rule gives another one.
pub type Group = Option<u32>;

/// Octets from and to the UE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Volumes {
    pub uplink: u64,
    pub downlink: u64,
}

/// What was used of each rating group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used(pub BTreeMap<Group, Volumes>);

impl Used {
    /// What a UPF has measured; what none of our rules has counted is left out.
    pub fn add_all(&mut self, reports: impl Iterator<Item = (UrrId, Option<VolumeMeasurement>)>) {
        for (urr, volume) in reports {
            let Some(group) = counted_by(urr) else { continue };
            let used = self.0.entry(group).or_default();
            let Some(VolumeMeasurement { octets: [_, uplink, downlink], .. }) = volume else {
                continue;
            };
            used.uplink = used.uplink.saturating_add(uplink.unwrap_or(0));
            used.downlink = used.downlink.saturating_add(downlink.unwrap_or(0));
        }
    }
}

/// The rating group that a rule counts.
pub fn counted_by(urr: UrrId) -> Option<Group> {
    if urr == n4::CHARGING { Some(None) } else { n4::group_of(urr).map(Some) }
}

/// The rule that counts a rating group.
pub fn rule_of(group: Group) -> Option<UrrId> {
    group.map_or(Some(n4::CHARGING), n4::urr_of)
}

/// What the CHF grants of a rating group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Octets; none where the CHF does not count them.
    pub quota: Option<Quota>,
    /// No more will come.
    pub last: bool,
    /// Nothing, until the CHF says so.
    pub denied: bool,
}

impl Granted {
    /// For the UPF.
    pub fn for_upf(&self) -> Option<Quota> {
        if self.denied { Some(Quota { octets: 0, left_at_report: 0 }) } else { self.quota }
    }
}

/// How charging of a session stands; it outlives the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The CHF's name for the session.
    pub id: String,
    /// Number of the last request.
    pub sequence: u32,
    /// When it began, as RFC 3339 has it.
    pub started: String,
    /// Of the session's own rating group.
    pub own: Granted,
    /// Of others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<u32, Granted>,
}

impl Told {
    /// What is granted of a group.
    pub fn of(&self, group: Group) -> Granted {
        group.map_or(Some(&self.own), |group| self.others.get(&group)).copied().unwrap_or_default()
    }

    /// Notes what is granted of a group.
    pub fn set(&mut self, group: Group, granted: Granted) {
        match group {
            None => self.own = granted,
            Some(group) => drop(self.others.insert(group, granted)),
        }
    }

    /// All groups that are counted.
    pub fn groups(&self) -> BTreeSet<Group> {
        std::iter::once(None).chain(self.others.keys().copied().map(Some)).collect()
    }

    /// What the session's own group may use.
    pub fn quota(&self) -> Option<Quota> {
        self.own.for_upf()
    }

    /// The other groups, and what each may use.
    pub fn others(&self) -> Vec<(u32, Option<Quota>)> {
        self.others.iter().map(|(group, granted)| (*group, granted.for_upf())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_counts_one_group() {
        let volume = |uplink, downlink| {
            Some(VolumeMeasurement {
                octets: [None, Some(uplink), Some(downlink)],
                ..Default::default()
            })
        };
        let seventh = n4::urr_of(7).unwrap();
        let mut used = Used::default();
        let reports = [
            (n4::CHARGING, volume(1, 2)),
            (seventh, volume(10, 20)),
            (seventh, volume(5, 0)),
            (UrrId(2), volume(9, 9)),
        ];
        used.add_all(reports.into_iter());
        let of = |uplink, downlink| Volumes { uplink, downlink };
        assert_eq!(used.0, BTreeMap::from([(None, of(1, 2)), (Some(7), of(15, 20))]));
        assert_eq!(
            (rule_of(None), rule_of(Some(7)), rule_of(Some(u32::MAX))),
            (Some(n4::CHARGING), Some(seventh), None)
        );
        assert_eq!(counted_by(UrrId(2)), None);
    }

    #[test]
    fn what_is_denied_is_nothing() {
        let mut told = Told::default();
        told.set(Some(7), Granted { denied: true, ..Granted::default() });
        assert_eq!(told.groups(), BTreeSet::from([None, Some(7)]));
        assert_eq!(
            (told.quota(), told.others()),
            (None, vec![(7, Some(Quota { octets: 0, left_at_report: 0 }))])
        );
    }
}

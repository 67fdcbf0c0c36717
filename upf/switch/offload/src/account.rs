//! Usage that the switch counted for a session's URRs, or that was taken from the native UPF when
//! the session moved, until it is reported.
use martlet_pfcp::ie::ReportingTriggers;
use martlet_upf_datapath::Usage;
use martlet_upf_datapath::tally::{Tally, direction_index};
use martlet_upf_rules::{Direction, Session, Urr, VolumeLimit};
use std::time::SystemTime;

/// The account of one URR, in addition to the native UPF's count.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub urr: u32,
    since: Tally,
    /// Bytes on the switch since the quota was granted.
    quota: [u64; 2],
    /// Bytes on the native UPF since the quota was granted, as far as they were taken from it.
    native_quota: [u64; 2],
    quota_given: u32,
    /// The threshold was reported.
    reported: bool,
}

impl Account {
    fn new(urr: &Urr) -> Self {
        Account {
            urr: urr.id,
            since: Tally::default(),
            quota: [0; 2],
            native_quota: [0; 2],
            quota_given: urr.quota_given,
            reported: false,
        }
    }

    /// Adds packets and bytes that the switch forwarded between two points in time.
    pub fn count(
        &mut self,
        direction: Direction,
        delta: (u64, u64),
        since: SystemTime,
        now: SystemTime,
    ) {
        self.since.add(direction, delta.1, delta.0, since, now);
        self.quota[direction_index(direction)] += delta.1;
    }

    /// Adds usage taken from the native UPF.
    pub fn take_native_usage(&mut self, usage: &Usage) {
        self.since.add_usage(usage);
        self.native_quota[0] += usage.uplink_bytes;
        self.native_quota[1] += usage.downlink_bytes;
    }

    /// Returns and resets the usage.
    pub fn take(&mut self) -> Usage {
        self.reported = false;
        self.since.take(self.urr)
    }

    /// Whether the threshold is reached for the first time.
    pub fn reaches_threshold(&mut self, urr: &Urr) -> bool {
        let reached = urr.triggers.has(ReportingTriggers::VOLTH)
            && urr
                .volume_threshold
                .is_some_and(|limit| limit.reached(self.since.bytes()[0], self.since.bytes()[1]));
        reached && !std::mem::replace(&mut self.reported, true)
    }

    /// The report of the threshold was not accepted: report it again.
    pub fn retry_report(&mut self) {
        self.reported = false;
    }

    /// Bytes left until the quota is exhausted; `None` without a quota.
    pub fn quota_left(&self, urr: &Urr) -> Option<u64> {
        let used = [self.quota[0] + self.native_quota[0], self.quota[1] + self.native_quota[1]];
        let limit = urr.volume_quota?;
        let of =
            [(limit.total, used[0] + used[1]), (limit.uplink, used[0]), (limit.downlink, used[1])];
        of.into_iter()
            .filter_map(|(limit, used)| limit.map(|limit| limit.saturating_sub(used)))
            .min()
    }

    fn less(limit: Option<VolumeLimit>, used: [u64; 2]) -> Option<VolumeLimit> {
        limit.map(|limit| VolumeLimit {
            total: limit.total.map(|total| total.saturating_sub(used[0] + used[1])),
            uplink: limit.uplink.map(|uplink| uplink.saturating_sub(used[0])),
            downlink: limit.downlink.map(|downlink| downlink.saturating_sub(used[1])),
        })
    }
}

/// The accounts of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Accounts(Vec<Account>);

impl Accounts {
    /// The account of a URR, created if missing.
    pub fn of(&mut self, urr: &Urr) -> &mut Account {
        let at = match self.0.iter().position(|account| account.urr == urr.id) {
            Some(at) => at,
            None => {
                self.0.push(Account::new(urr));
                self.0.len() - 1
            }
        };
        &mut self.0[at]
    }

    pub fn get_mut(&mut self, urr: u32) -> Option<&mut Account> {
        self.0.iter_mut().find(|account| account.urr == urr)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Follows changed rules: accounts of removed URRs are removed, and a renewed quota resets its
    /// counts.
    pub fn follow(&mut self, session: &Session) {
        self.0.retain_mut(|account| {
            let Some(urr) = session.urrs.get(&account.urr) else { return false };
            if account.quota_given != urr.quota_given {
                (account.quota, account.native_quota) = ([0; 2], [0; 2]);
                account.quota_given = urr.quota_given;
            }
            true
        });
    }

    /// The session for the native UPF, whose limits are reduced by what was counted elsewhere.
    /// `None` if no limit changes.
    pub fn adjusted(&self, session: &Session) -> Option<Session> {
        let counts =
            |account: &&Account| account.since.bytes() != [0; 2] || account.quota != [0; 2];
        let limited = |account: &&Account| {
            session
                .urrs
                .get(&account.urr)
                .is_some_and(|u| u.volume_threshold.is_some() || u.volume_quota.is_some())
        };
        if !self.0.iter().any(|account| counts(&account) && limited(&account)) {
            return None;
        }
        let mut adjusted = session.clone();
        for account in &self.0 {
            let Some(urr) = adjusted.urrs.get_mut(&account.urr) else { continue };
            // A reported threshold is not reported a second time.
            let threshold = urr.volume_threshold.filter(|_| !account.reported);
            urr.volume_threshold = Account::less(threshold, account.since.bytes());
            urr.volume_quota = Account::less(urr.volume_quota, account.quota);
        }
        Some(adjusted)
    }

    /// Adds the unreported usage to that of the native UPF, and resets it.
    pub fn add_to(&mut self, usage: &mut Vec<Usage>, wanted: impl Fn(u32) -> bool) {
        for account in self.0.iter_mut().filter(|account| wanted(account.urr)) {
            let own = account.take();
            let Some(native) = usage.iter_mut().find(|usage| usage.urr == own.urr) else {
                usage.push(own);
                continue;
            };
            // Usage taken from the native UPF leaves its count, but still counts for the quota.
            account.native_quota[0] += native.uplink_bytes;
            account.native_quota[1] += native.downlink_bytes;
            let mut both = Tally::default();
            both.add_usage(native);
            both.add_usage(&own);
            *native = both.take(own.urr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::{FSeid, NodeId};
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    fn urr(threshold: u64, quota: u64) -> Urr {
        let total = |total| Some(VolumeLimit { total: Some(total), ..Default::default() });
        Urr {
            id: 1,
            duration: false,
            volume: true,
            triggers: ReportingTriggers::VOLTH,
            period: None,
            volume_threshold: total(threshold),
            volume_quota: total(quota),
            time_threshold: None,
            time_quota: None,
            exhausted: false,
            quota_given: 0,
            ..Default::default()
        }
    }

    fn usage(uplink: u64) -> Usage {
        let (none, at) = (0, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(uplink)));
        Usage {
            urr: 1,
            uplink_bytes: uplink,
            downlink_bytes: none,
            uplink_packets: 1,
            downlink_packets: none,
            first: at,
            last: at,
        }
    }

    #[test]
    fn usage_of_both_paths_counts_against_one_limit() {
        let urr = urr(1000, 5000);
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut session = Session::new(1, FSeid::new(1, ip), NodeId::Ip(ip));
        session.urrs.insert(1, urr.clone());
        let mut accounts = Accounts::default();
        // Before the move, during it, and on the switch.
        accounts.of(&urr).take_native_usage(&usage(100));
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(500);
        accounts.of(&urr).count(Direction::Downlink, (2, 300), now, now);
        assert_eq!(accounts.of(&urr).quota_left(&urr), Some(4600));
        let native = accounts.adjusted(&session).expect("limits change");
        assert_eq!(native.urrs[&1].volume_threshold.unwrap().total, Some(600));
        // The native UPF still counts its own share of the quota.
        assert_eq!(native.urrs[&1].volume_quota.unwrap().total, Some(4700));
        assert!(!accounts.of(&urr).reaches_threshold(&urr));
        accounts.of(&urr).count(Direction::Downlink, (2, 600), now, now);
        assert!(accounts.of(&urr).reaches_threshold(&urr));
        assert!(!accounts.of(&urr).reaches_threshold(&urr), "once");
        let native = accounts.adjusted(&session).expect("limits change");
        assert_eq!(
            native.urrs[&1].volume_threshold, None,
            "the native UPF does not report it either"
        );
        let mut all = vec![usage(7)];
        accounts.add_to(&mut all, |_| true);
        assert_eq!(
            (all[0].uplink_bytes, all[0].downlink_bytes, all[0].downlink_packets),
            (107, 900, 4)
        );
        assert_eq!(all[0].first, usage(7).first);
        assert_eq!(all[0].last, Some(now));
        // Reported usage counts for the quota only.
        assert_eq!(accounts.of(&urr).quota_left(&urr), Some(5000 - 1007));
        let native = accounts.adjusted(&session).expect("the quota");
        assert_eq!(native.urrs[&1].volume_threshold.unwrap().total, Some(1000));
        assert_eq!(native.urrs[&1].volume_quota.unwrap().total, Some(4100));
        session.urrs.get_mut(&1).unwrap().quota_given = 1;
        accounts.follow(&session);
        assert!(accounts.adjusted(&session).is_none());
        session.urrs.remove(&1);
        accounts.follow(&session);
        assert!(accounts.is_empty());
    }
}

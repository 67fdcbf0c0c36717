//! Accounts of subscribers and charging records of sessions, without clock and I/O: the caller
//! stores the changes.
use crate::key::Key;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Maximum number of rating groups of a session that a record has apart. A session has as many as
/// its PCC rules have.
const MAX_GROUPS: usize = 256;

/// A subscriber's account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Remaining bytes; None: unlimited.
    pub left: Option<u64>,
    /// Total bytes from the UE.
    pub uplink: u64,
    /// Total bytes to the UE.
    pub downlink: u64,
    /// How often the remaining bytes were set. Usage does not change it.
    #[serde(default)]
    pub version: u64,
}

/// The charging record of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The subscriber.
    pub supi: String,
    /// PDU session identity.
    pub session: u8,
    /// The SMF's charging identifier of the session (TS 32.291, 6.1.6.2.1.4).
    #[serde(default)]
    pub charging_id: String,
    /// Data network.
    pub dnn: String,
    /// Slice.
    pub slice: String,
    /// Address of the UE.
    pub address: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// End time, RFC 3339; empty while the session is active.
    pub ended: String,
    /// Bytes from the UE.
    pub uplink: u64,
    /// Bytes to the UE.
    pub downlink: u64,
    /// Number of usage reports from the SMF.
    pub reports: u32,
    /// Usage by rating group.
    #[serde(default)]
    pub groups: BTreeMap<u32, Usage>,
    /// Sequence number of the last request. A repeated request counts once.
    #[serde(default)]
    pub sequence: u32,
    /// Where the SMF is notified while the session is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_uri: Option<String>,
}

/// The usage of a rating group in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Bytes from the UE.
    pub uplink: u64,
    /// Bytes to the UE.
    pub downlink: u64,
    /// Granted bytes that are not yet reported as used.
    pub reserved: u64,
}

impl Record {
    /// Granted bytes that are not yet reported as used.
    pub fn reserved(&self) -> u64 {
        self.groups.values().map(|group| group.reserved).fold(0, u64::saturating_add)
    }

    /// The usage of a rating group. None for a new one at the limit.
    fn group(&mut self, group: u32) -> Option<&mut Usage> {
        match self.groups.len() < MAX_GROUPS {
            true => Some(self.groups.entry(group).or_default()),
            false => self.groups.get_mut(&group),
        }
    }
}

/// A grant to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Bytes; None: unlimited.
    pub bytes: Option<u64>,
    /// Whether it is the last grant.
    pub last: bool,
}

/// Accounts and records.
pub struct Accounts {
    /// Initial bytes of a new account.
    default: Option<u64>,
    grant: u64,
    accounts: BTreeMap<String, Account>,
    records: HashMap<u64, Record>,
    ended: VecDeque<u64>,
    /// The active sessions of each subscriber that has any.
    sessions: HashMap<String, Vec<u64>>,
    active: usize,
    max_active: usize,
    max_ended: usize,
    last: u64,
}

impl Accounts {
    /// Without accounts and records. Sessions get the numbers after `last`.
    pub fn new(
        default: Option<u64>,
        grant: u64,
        max_active: usize,
        max_ended: usize,
        last: u64,
    ) -> Self {
        Accounts {
            default,
            grant,
            accounts: BTreeMap::new(),
            records: HashMap::new(),
            ended: VecDeque::new(),
            sessions: HashMap::new(),
            active: 0,
            max_active,
            max_ended,
            last,
        }
    }

    /// Restores a stored account.
    pub fn restore_account(&mut self, supi: String, account: Account) {
        self.accounts.insert(supi, account);
    }

    /// Restores a stored record.
    pub fn restore_record(&mut self, id: u64, record: Record) {
        // Those of other members of the set have other numbers.
        if id >> 56 == self.last >> 56 {
            self.last = self.last.max(id);
        }
        // It may still be here from the time before another member took it over.
        self.forget_record(id);
        match record.ended.is_empty() {
            true => self.begin(id, &record.supi),
            false => self.ended.push_back(id),
        }
        self.records.insert(id, record);
    }

    /// Counts an active session.
    fn begin(&mut self, id: u64, supi: &str) {
        self.active += 1;
        self.sessions.entry(supi.to_string()).or_default().push(id);
    }

    /// Counts a session no longer.
    fn end(&mut self, id: u64, supi: &str) {
        self.active = self.active.saturating_sub(1);
        if let Some(sessions) = self.sessions.get_mut(supi) {
            sessions.retain(|session| *session != id);
            if sessions.is_empty() {
                self.sessions.remove(supi);
            }
        }
    }

    /// The active sessions of a subscriber.
    fn sessions_of(&self, supi: &str) -> &[u64] {
        self.sessions.get(supi).map_or(&[], Vec::as_slice)
    }

    /// Starts a session. None if there are too many.
    pub fn open(&mut self, record: Record) -> Option<u64> {
        if self.active >= self.max_active {
            return None;
        }
        self.last += 1;
        self.begin(self.last, &record.supi);
        self.records.insert(self.last, record);
        Some(self.last)
    }

    /// Frees what is granted to earlier sessions with the identity of a new one: the UE has left
    /// them, and their SMF failed to end them here. Returns their records.
    pub fn free_replaced(&mut self, new: u64) -> Vec<Key> {
        let Some(record) = self.records.get(&new) else { return vec![] };
        let (session, earlier) = (record.session, self.sessions_of(&record.supi).to_vec());
        let mut changed = Vec::new();
        for id in earlier.into_iter().filter(|id| *id != new) {
            let replaced = self.records.get_mut(&id).filter(|record| record.session == session);
            let Some(replaced) = replaced.filter(|record| record.reserved() > 0) else { continue };
            replaced.groups.values_mut().for_each(|group| group.reserved = 0);
            changed.push(Key::Record(id));
        }
        changed
    }

    /// Creates an account if it is missing.
    pub fn create_account(&mut self, supi: &str) {
        self.account(supi);
    }

    /// Forgets an account that is not stored here any more.
    pub fn forget_account(&mut self, supi: &str) {
        self.accounts.remove(supi);
    }

    /// Forgets a record that is not stored here any more.
    pub fn forget_record(&mut self, id: u64) {
        match self.records.remove(&id) {
            Some(record) if record.ended.is_empty() => self.end(id, &record.supi),
            Some(_) => self.ended.retain(|ended| *ended != id),
            None => {}
        }
    }

    /// The account of a subscriber, created if missing.
    fn account(&mut self, supi: &str) -> &mut Account {
        let left = self.default;
        self.accounts
            .entry(supi.to_string())
            .or_insert_with(|| Account { left, ..Account::default() })
    }

    /// Remaining bytes that are not granted to a session.
    fn free(&mut self, supi: &str) -> Option<u64> {
        let left = self.account(supi).left?;
        let sessions = self.sessions_of(supi).iter().filter_map(|id| self.records.get(id));
        let reserved: u64 = sessions.map(Record::reserved).sum();
        Some(left.saturating_sub(reserved))
    }

    /// Records usage since the last report: rating group, bytes from the UE, bytes to the UE. False
    /// for an unknown session or a repeated report. The first report may have the number 0. Groups
    /// beyond the limit count in the totals alone.
    pub fn used(&mut self, id: u64, sequence: u32, groups: &[(u32, u64, u64)]) -> bool {
        let is_new = |r: &Record| r.sequence < sequence || (r.sequence, r.reports) == (0, 0);
        let record = self.records.get_mut(&id).filter(|r| r.ended.is_empty() && is_new(r));
        let Some(record) = record else { return false };
        record.sequence = sequence;
        record.reports += 1;
        let (mut uplink, mut downlink) = (0u64, 0u64);
        for (group, up, down) in groups {
            if let Some(group) = record.group(*group) {
                (group.uplink, group.downlink) =
                    (group.uplink.saturating_add(*up), group.downlink.saturating_add(*down));
                // The previous grant is settled: its unused bytes are free again.
                group.reserved = 0;
            }
            (uplink, downlink) = (uplink.saturating_add(*up), downlink.saturating_add(*down));
        }
        record.uplink = record.uplink.saturating_add(uplink);
        record.downlink = record.downlink.saturating_add(downlink);
        let supi = record.supi.clone();
        let account = self.account(&supi);
        account.left =
            account.left.map(|left| left.saturating_sub(uplink.saturating_add(downlink)));
        account.uplink = account.uplink.saturating_add(uplink);
        account.downlink = account.downlink.saturating_add(downlink);
        true
    }

    /// Grants bytes to a rating group of a session. None if nothing is left, or the session has too
    /// many groups.
    pub fn grant(&mut self, id: u64, group: u32) -> Option<Grant> {
        let record = self.records.get_mut(&id)?;
        let supi = record.supi.clone();
        // The previous grant is replaced, such as that of a request which is repeated since its
        // response was lost.
        if let Some(previous) = record.groups.get_mut(&group) {
            previous.reserved = 0;
        }
        let Some(free) = self.free(&supi) else { return Some(Grant { bytes: None, last: false }) };
        let bytes = free.min(self.grant);
        if bytes == 0 {
            return None;
        }
        self.records.get_mut(&id)?.group(group)?.reserved = bytes;
        Some(Grant { bytes: Some(bytes), last: bytes == free })
    }

    /// Ends a session. Returns the records that have changed: its own, and the oldest one, which is
    /// removed if there are too many.
    pub fn close(&mut self, id: u64, ended: String) -> Vec<Key> {
        let Some(record) = self.records.get_mut(&id).filter(|record| record.ended.is_empty())
        else {
            return vec![];
        };
        record.ended = ended;
        record.notify_uri = None;
        record.groups.values_mut().for_each(|group| group.reserved = 0);
        let supi = record.supi.clone();
        self.end(id, &supi);
        self.ended.push_back(id);
        let mut changed = vec![Key::Record(id)];
        while self.ended.len() > self.max_ended {
            if let Some(oldest) = self.ended.pop_front() {
                self.records.remove(&oldest);
                changed.push(Key::Record(oldest));
            }
        }
        changed
    }

    /// Sets where the SMF of an active session is notified.
    pub fn set_notify_uri(&mut self, id: u64, uri: String) {
        if let Some(record) = self.records.get_mut(&id).filter(|record| record.ended.is_empty()) {
            record.notify_uri = Some(uri);
        }
    }

    /// Sets the remaining bytes of a subscriber. Returns its active sessions.
    pub fn set(&mut self, supi: &str, left: Option<u64>) -> Vec<u64> {
        let account = self.account(supi);
        account.left = left;
        account.version = account.version.wrapping_add(1);
        self.sessions_of(supi).to_vec()
    }

    /// Whether an account or record is here.
    pub fn has(&self, key: &Key) -> bool {
        match key {
            Key::Account(supi) => self.accounts.contains_key(supi),
            Key::Record(id) => self.records.contains_key(id),
        }
    }

    /// A session's record.
    pub fn record(&self, id: u64) -> Option<&Record> {
        self.records.get(&id)
    }

    /// How often a subscriber's remaining bytes were set; 0 without an account.
    pub fn version(&self, supi: &str) -> u64 {
        self.account_of(supi).map_or(0, |account| account.version)
    }

    /// A subscriber's account, if it has one.
    pub fn account_of(&self, supi: &str) -> Option<&Account> {
        self.accounts.get(supi)
    }

    /// All accounts.
    pub fn accounts(&self) -> &BTreeMap<String, Account> {
        &self.accounts
    }

    /// Records of one subscriber or of all, the latest first.
    pub fn records(&self, supi: Option<&str>, max: usize) -> Vec<(u64, &Record)> {
        let of =
            self.records.iter().filter(|(_, record)| supi.is_none_or(|supi| record.supi == supi));
        let mut all: Vec<_> = of.map(|(id, record)| (*id, record)).collect();
        all.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        all.truncate(max);
        all
    }

    /// The number of active sessions.
    pub fn active(&self) -> usize {
        self.active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(supi: &str) -> Record {
        Record { supi: supi.into(), ..Record::default() }
    }

    #[test]
    fn the_remaining_bytes_are_granted_in_parts_and_the_last_grant_is_marked() {
        let mut accounts = Accounts::new(Some(25), 10, 9, 9, 0);
        let (a, b) = (accounts.open(of("x")).unwrap(), accounts.open(of("x")).unwrap());
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(10), last: false }));
        assert_eq!(accounts.grant(b, 1), Some(Grant { bytes: Some(10), last: false }));
        assert!(accounts.used(a, 1, &[(1, 3, 5)]));
        // 25 minus 8 used, minus 10 granted to the other session.
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(7), last: true }));
        // A repeated request counts once; usage beyond the grant counts.
        assert!(!accounts.used(a, 1, &[(1, 3, 5)]) && accounts.used(a, 2, &[(1, 0, 9)]));
        assert_eq!(accounts.grant(a, 1), None);
        assert!(accounts.used(b, 1, &[(1, 0, 0)]));
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(8), last: true }));
        assert_eq!(
            (accounts.record(a).unwrap().uplink, accounts.record(a).unwrap().downlink),
            (3, 14)
        );
        let account = accounts.account_of("x").unwrap().clone();
        assert_eq!((account.left, account.uplink, account.downlink), (Some(8), 3, 14));
        assert_eq!(accounts.set("x", None).len(), 2);
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: None, last: false }));
    }

    #[test]
    fn a_repeated_request_gets_its_grant_again() {
        let mut accounts = Accounts::new(Some(25), 10, 9, 9, 0);
        let a = accounts.open(of("x")).unwrap();
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(10), last: false }));
        assert!(accounts.used(a, 1, &[(1, 9, 9)]));
        let last = Some(Grant { bytes: Some(7), last: true });
        assert_eq!(accounts.grant(a, 1), last);
        // The response is lost.
        assert!(!accounts.used(a, 1, &[(1, 9, 9)]));
        assert_eq!(accounts.grant(a, 1), last);
    }

    #[test]
    fn the_first_report_may_have_the_number_0() {
        let mut accounts = Accounts::new(Some(25), 10, 9, 9, 0);
        let a = accounts.open(of("x")).unwrap();
        assert!(accounts.used(a, 0, &[(1, 2, 3)]) && !accounts.used(a, 0, &[(1, 2, 3)]));
        assert!(accounts.used(a, 1, &[(1, 0, 1)]));
        assert_eq!(accounts.account_of("x").unwrap().left, Some(19));
    }

    #[test]
    fn rating_groups_of_a_session_are_limited_and_all_usage_counts() {
        let mut accounts = Accounts::new(Some(2000), 1, 9, 9, 0);
        let a = accounts.open(of("x")).unwrap();
        let groups: Vec<_> = (0..1000).map(|group| (group, 0, 1)).collect();
        assert!(accounts.used(a, 1, &groups) && accounts.used(a, 2, &[(0, 1, 0), (999, 1, 0)]));
        let record = accounts.record(a).unwrap();
        assert_eq!((record.groups.len(), record.uplink, record.downlink), (MAX_GROUPS, 2, 1000));
        assert_eq!(
            (record.groups[&0].uplink, accounts.account_of("x").unwrap().left),
            (1, Some(998))
        );
        assert!(accounts.grant(a, 0).is_some() && accounts.grant(a, 999).is_none());
    }

    #[test]
    fn a_new_session_frees_the_grants_of_an_earlier_one_with_its_identity() {
        let session = |number| Record { session: number, ..of("x") };
        let mut accounts = Accounts::new(Some(20), 10, 9, 9, 0);
        let lost = accounts.open(session(1)).unwrap();
        let other = accounts.open(session(2)).unwrap();
        assert!(accounts.grant(lost, 1).is_some() && accounts.grant(other, 1).is_some());
        let new = accounts.open(session(1)).unwrap();
        assert_eq!(accounts.grant(new, 1), None);
        assert_eq!(accounts.free_replaced(new), [Key::Record(lost)]);
        assert_eq!(accounts.free_replaced(new), []);
        assert_eq!(accounts.grant(new, 1), Some(Grant { bytes: Some(10), last: true }));
        // Late usage of the earlier session counts.
        assert!(accounts.used(lost, 1, &[(1, 1, 2)]));
        assert_eq!(accounts.account_of("x").unwrap().left, Some(17));
        assert_eq!(accounts.record(other).unwrap().reserved(), 10);
    }

    #[test]
    fn rating_groups_of_a_session_share_the_account() {
        let mut accounts = Accounts::new(Some(25), 10, 9, 9, 0);
        let a = accounts.open(of("x")).unwrap();
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(10), last: false }));
        assert_eq!(accounts.grant(a, 7), Some(Grant { bytes: Some(10), last: false }));
        // Usage in one group leaves the other's grant unchanged.
        assert!(accounts.used(a, 1, &[(7, 4, 6)]));
        assert_eq!(accounts.grant(a, 7), Some(Grant { bytes: Some(5), last: true }));
        assert!(accounts.used(a, 2, &[(7, 2, 3), (1, 1, 0)]));
        assert_eq!(accounts.grant(a, 1), Some(Grant { bytes: Some(9), last: true }));
        assert_eq!(accounts.grant(a, 7), None);
        let record = accounts.record(a).unwrap();
        assert_eq!((record.uplink, record.downlink, record.reports), (7, 9, 2));
        assert_eq!(
            (record.groups[&7].uplink, record.groups[&7].downlink, record.groups[&1].uplink),
            (6, 9, 1)
        );
    }

    #[test]
    fn restored_accounts_and_records_continue() {
        let mut accounts = Accounts::new(Some(5), 10, 9, 9, 0);
        let account = Account { left: Some(30), uplink: 1, downlink: 2, version: 4 };
        accounts.restore_account("x".into(), account);
        accounts.restore_record(
            7,
            Record {
                groups: [(1, Usage { reserved: 10, ..Usage::default() })].into(),
                sequence: 3,
                ..of("x")
            },
        );
        accounts.restore_record(6, Record { ended: "then".into(), ..of("x") });
        assert_eq!((accounts.active(), accounts.open(of("x"))), (1, Some(8)));
        // The other session's grant is still its own.
        assert!(!accounts.used(7, 3, &[(1, 1, 1)]) && accounts.used(7, 4, &[(1, 1, 1)]));
        assert_eq!(accounts.grant(8, 1), Some(Grant { bytes: Some(10), last: false }));
        assert_eq!(accounts.account_of("x").unwrap().left, Some(28));
        // Usage leaves the version as it is, and a new quota does not.
        assert_eq!(accounts.version("x"), 4);
        accounts.set("x", Some(9));
        assert_eq!((accounts.version("x"), accounts.version("y")), (5, 0));
    }

    #[test]
    fn a_restored_session_keeps_its_notification_uri_until_its_end() {
        let mut accounts = Accounts::new(None, 10, 9, 9, 0);
        let first = Some("http://127.0.0.16:7777/1".into());
        let id = accounts.open(Record { notify_uri: first, ..of("x") }).unwrap();
        accounts.set_notify_uri(id, "http://127.0.0.26:7777/1".into());
        let stored = serde_json::to_vec(accounts.record(id).unwrap()).unwrap();
        let mut restarted = Accounts::new(None, 10, 9, 9, 0);
        restarted.restore_record(id, serde_json::from_slice(&stored).unwrap());
        let uri = |accounts: &Accounts| accounts.record(id).unwrap().notify_uri.clone();
        assert_eq!(uri(&restarted).as_deref(), Some("http://127.0.0.26:7777/1"));
        restarted.close(id, "then".into());
        assert_eq!(uri(&restarted), None);
    }

    #[test]
    fn records_of_another_member_keep_their_numbers_and_can_be_forgotten() {
        let mut accounts = Accounts::new(Some(25), 10, 9, 9, 1 << 56);
        for _ in 0..2 {
            accounts.restore_record(2 << 56 | 5, of("x"));
        }
        let own = accounts.open(of("x")).unwrap();
        assert_eq!((own, accounts.active()), (1 << 56 | 1, 2));
        assert!(accounts.grant(2 << 56 | 5, 1).is_some());
        assert_eq!(accounts.set("x", Some(25)), [2 << 56 | 5, own]);
        accounts.forget_record(2 << 56 | 5);
        accounts.forget_record(7);
        // Its grant is free again.
        assert_eq!(accounts.set("x", Some(10)), [own]);
        assert_eq!(accounts.grant(own, 1), Some(Grant { bytes: Some(10), last: true }));
        accounts.close(own, "then".into());
        assert!(accounts.set("x", Some(25)).is_empty());
        accounts.forget_record(own);
        assert_eq!((accounts.active(), accounts.records(None, 9).len()), (0, 0));
        assert!(accounts.sessions.is_empty());
        accounts.forget_account("x");
        assert_eq!(accounts.account_of("x"), None);
    }

    #[test]
    fn records_are_limited_and_the_oldest_is_removed() {
        let mut accounts = Accounts::new(None, 10, 2, 1, 0);
        let (a, b) = (accounts.open(of("x")).unwrap(), accounts.open(of("y")).unwrap());
        assert_eq!(accounts.open(of("z")), None);
        assert_eq!(accounts.close(a, "1".into()), [Key::Record(a)]);
        assert_eq!(accounts.close(a, "1".into()), []);
        assert_eq!(accounts.close(b, "2".into()), [Key::Record(b), Key::Record(a)]);
        assert_eq!((accounts.active(), accounts.records(None, 9).len()), (0, 1));
        assert!(accounts.open(of("z")).is_some());
    }
}

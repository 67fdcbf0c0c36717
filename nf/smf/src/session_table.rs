//! The table of all sessions, and a handle to the task of each.
use crate::addresses::Addresses;
use crate::metrics;
use crate::n4::SessionLayer;
use crate::session_event::SessionEvent;
use crate::user_plane_path::{SECOND_SEID, UpfSession, UserPlanePath};
use martlet_event_queue::{Receiver, Sender};
use martlet_nf::nf_set;
use martlet_pfcp::SessionReportRequest;
use martlet_sbi_api::nmartlet_status::UpfStatus;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard};

/// Sends events to a session's task.
#[derive(Clone)]
pub struct SessionHandle(Sender<SessionEvent>);

impl SessionHandle {
    /// Sends an event. Returns `false` if the session has ended or its queue is full.
    pub fn send(&self, event: SessionEvent) -> bool {
        self.0.try_send(event).is_ok()
    }
}

/// A session in the table.
struct Entry {
    handle: SessionHandle,
    /// SUPI and PDU session identity.
    identity: (String, u8),
    path: Option<UserPlanePath>,
    /// The UPF that the session left when it failed.
    left_upf: Option<SocketAddr>,
    addresses: Addresses,
    /// The session no longer serves its UE, and is being released at PCF, CHF and UDM.
    is_ending: bool,
}

#[derive(Default)]
struct Tables {
    // Boxed, because a hash table has up to twice the slots that it uses.
    by_reference: HashMap<u64, Box<Entry>>,
    by_identity: HashMap<(String, u8), u64>,
    /// Number of sessions that are ending.
    ending: usize,
    /// The last reference that was assigned.
    last: u64,
}

impl Tables {
    /// Inserts a session and returns its inbox.
    fn insert(
        &mut self,
        reference: u64,
        supi: &str,
        id: u8,
        queue: usize,
    ) -> Receiver<SessionEvent> {
        let (sender, inbox) = martlet_event_queue::bounded(queue);
        let identity = (supi.to_string(), id);
        self.by_identity.insert(identity.clone(), reference);
        let handle = SessionHandle(sender);
        let entry = Box::new(Entry {
            handle,
            identity,
            path: None,
            left_upf: None,
            addresses: Addresses::default(),
            is_ending: false,
        });
        self.by_reference.insert(reference, entry);
        metrics::SESSIONS.set(self.by_reference.len() as i64);
        inbox
    }
}

/// All sessions. Its lock is never held over an await.
pub struct SessionTable {
    tables: Mutex<Tables>,
    max_sessions: usize,
    /// The number of this SMF in its set, which the references of its sessions have.
    member: u8,
}

impl SessionTable {
    /// An empty table for a member of the set, 0 to 127.
    pub fn new(max_sessions: usize, member: u8) -> Self {
        // References differ from those of the process before.
        let tables = Tables { last: nf_set::last_number(member), ..Tables::default() };
        // A former SMF of this process may have ended with sessions.
        metrics::SESSIONS.set(0);
        SessionTable { tables: Mutex::new(tables), max_sessions, member }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a session and returns its reference and inbox; `None` if the table is full.
    pub fn add(&self, supi: &str, id: u8, queue: usize) -> Option<(u64, Receiver<SessionEvent>)> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.max_sessions {
            return None;
        }
        tables.last += 1;
        let reference = tables.last;
        Some((reference, tables.insert(reference, supi, id, queue)))
    }

    /// Adds a stored session and returns its inbox; `None` if the table is full or has the
    /// reference.
    pub fn restore(
        &self,
        reference: u64,
        supi: &str,
        id: u8,
        queue: usize,
    ) -> Option<Receiver<SessionEvent>> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.max_sessions
            || tables.by_reference.contains_key(&reference)
        {
            return None;
        }
        if self.is_own(reference) {
            tables.last = tables.last.max(reference);
        }
        Some(tables.insert(reference, supi, id, queue))
    }

    /// Whether this SMF established a session, and not another one of its set.
    pub fn is_own(&self, reference: u64) -> bool {
        nf_set::member_of(reference) == self.member
    }

    /// Removes a session.
    pub fn remove(&self, reference: u64) {
        let mut tables = self.tables();
        if let Some(entry) = tables.by_reference.remove(&reference) {
            tables.ending -= usize::from(entry.is_ending);
            if tables.by_identity.get(&entry.identity) == Some(&reference) {
                tables.by_identity.remove(&entry.identity);
            }
        }
        metrics::SESSIONS.set(tables.by_reference.len() as i64);
    }

    /// Marks a session as ending. Returns whether its UE has no other session that is not.
    pub fn begin_end(&self, reference: u64) -> bool {
        let mut guard = self.tables();
        let tables = &mut *guard;
        let Some(entry) = tables.by_reference.get_mut(&reference) else { return true };
        tables.ending += usize::from(!std::mem::replace(&mut entry.is_ending, true));
        let supi = entry.identity.0.clone();
        tables.of_ue(&supi).all(|entry| entry.is_ending)
    }

    /// Whether no newer session has the identity of this one.
    pub fn is_newest(&self, reference: u64) -> bool {
        let tables = self.tables();
        let entry = tables.by_reference.get(&reference);
        entry.is_some_and(|entry| tables.by_identity.get(&entry.identity) == Some(&reference))
    }

    /// The sessions that end before a new one with this identity is established: the one that has
    /// the identity, and those of the UE that are ending.
    pub fn before(&self, supi: &str, id: u8) -> Vec<SessionHandle> {
        let tables = self.tables();
        if tables.ending == 0 {
            let reference = tables.by_identity.get(&(supi.to_string(), id));
            let entry = reference.and_then(|reference| tables.by_reference.get(reference));
            return entry.map(|entry| entry.handle.clone()).into_iter().collect();
        }
        let all = tables.of_ue(supi);
        let ends = all.filter(|entry| entry.is_ending || entry.identity.1 == id);
        ends.map(|entry| entry.handle.clone()).collect()
    }

    /// A session by its reference in URIs.
    pub fn get(&self, reference: &str) -> Option<SessionHandle> {
        let reference = reference.parse::<u64>().ok()?;
        self.tables().by_reference.get(&reference).map(|entry| entry.handle.clone())
    }

    /// All sessions of a UE.
    pub fn of_ue(&self, supi: &str) -> Vec<SessionHandle> {
        self.tables().of_ue(supi).map(|entry| entry.handle.clone()).collect()
    }

    /// The sessions of a UE as an operator sees them: identity, reference, and N4 sessions.
    pub fn describe(&self, supi: &str) -> Vec<serde_json::Value> {
        let tables = self.tables();
        let of_ue = (1..=15).filter_map(|id| tables.by_identity.get(&(supi.to_string(), id)));
        let described = of_ue.filter_map(|reference| {
            let entry = tables.by_reference.get(reference)?;
            let n4 = |session: UpfSession| {
                serde_json::json!({
                    "upf": session.upf.to_string(),
                    "seid": format!("{:#018x}", session.seid),
                    "teid": format!("{:#010x}", session.teid),
                    "address": session.address.to_string(),
                })
            };
            let path = entry.path.map(|path| match path.has_two_upfs() {
                true => vec![n4(path.access()), n4(path.anchor())],
                false => vec![n4(path.anchor())],
            });
            Some(serde_json::json!({
                "id": entry.identity.1, "reference": reference.to_string(), "upfs": path,
            }))
        });
        described.collect()
    }

    /// The SUPIs of N4 sessions by the SEID of their UPF. Two UPFs may use the same SEID: it then
    /// has no owner here.
    pub fn owners(&self, seids: &[u64]) -> HashMap<u64, Option<String>> {
        let wanted: HashSet<u64> = seids.iter().copied().collect();
        let mut owners: HashMap<u64, Option<String>> = HashMap::new();
        for entry in self.tables().by_reference.values() {
            let Some(path) = entry.path else { continue };
            let mut at = vec![path.anchor().seid];
            at.extend(path.has_two_upfs().then(|| path.access().seid));
            for seid in at.into_iter().filter(|seid| wanted.contains(seid)) {
                let supi = &entry.identity.0;
                let owner = owners.entry(seid).or_insert_with(|| Some(supi.clone()));
                if owner.as_ref() != Some(supi) {
                    *owner = None;
                }
            }
        }
        owners
    }

    /// Sets the UPFs of a session, and its UE's addresses.
    pub fn set_path(&self, reference: u64, path: UserPlanePath, addresses: Addresses) {
        if let Some(entry) = self.tables().by_reference.get_mut(&reference) {
            (entry.path, entry.addresses) = (Some(path), addresses);
        }
    }

    /// Sets the UPF that a session left when it failed.
    pub fn set_left_upf(&self, reference: u64, left: Option<SocketAddr>) {
        if let Some(entry) = self.tables().by_reference.get_mut(&reference) {
            entry.left_upf = left;
        }
    }

    /// The SUPIs whose sessions have an IP address, or the prefix of it. Data networks may use the
    /// same addresses.
    pub fn supis_of(&self, address: IpAddr) -> BTreeSet<String> {
        let has = |addresses: &Addresses| match address {
            IpAddr::V4(address) => addresses.ipv4 == Some(address),
            IpAddr::V6(address) => addresses.prefix == Some((address.to_bits() >> 64) as u64),
        };
        let tables = self.tables();
        let owners = tables.by_reference.values().filter(|entry| has(&entry.addresses));
        owners.map(|entry| entry.identity.0.clone()).collect()
    }

    /// The sessions that have one of these addresses. Data networks may use the same addresses.
    pub fn with_addresses(&self, wanted: &Addresses) -> Vec<SessionHandle> {
        let tables = self.tables();
        let all = tables.by_reference.values().filter(|entry| entry.addresses.overlap(wanted));
        all.map(|entry| entry.handle.clone()).collect()
    }

    /// Counts the sessions with an N4 session at each UPF.
    pub fn count_by_upf(&self, upfs: &mut [(SocketAddr, UpfStatus)]) {
        let tables = self.tables();
        for path in tables.by_reference.values().filter_map(|entry| entry.path) {
            for (_, status) in upfs.iter_mut().filter(|(n4, _)| path.uses(*n4)) {
                status.sessions += 1;
            }
        }
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.tables().by_reference.len()
    }
}

impl Tables {
    /// The sessions of a UE, the newest one with each identity.
    fn of_ue(&self, supi: &str) -> impl Iterator<Item = &Entry> {
        let mut identity = (supi.to_string(), 0_u8);
        (1..=15).filter_map(move |id| {
            identity.1 = id;
            self.by_reference.get(self.by_identity.get(&identity)?).map(|entry| &**entry)
        })
    }

    /// Sessions with an N4 session at a UPF.
    fn at(&self, upf: SocketAddr) -> impl Iterator<Item = &Entry> {
        self.by_reference
            .values()
            .map(|entry| &**entry)
            .filter(move |entry| entry.path.is_some_and(|path| path.uses(upf)))
    }
}

impl SessionLayer for SessionTable {
    fn sessions_at(&self, upf: SocketAddr) -> usize {
        self.tables().at(upf).count()
    }

    fn upf_releasing(&self, upf: SocketAddr) {
        for entry in self.tables().at(upf) {
            entry.handle.send(SessionEvent::UpfReleasing(upf.into()));
        }
    }

    fn user_plane(&self, seid: u64) -> Option<UpfSession> {
        self.tables().by_reference.get(&(seid & !SECOND_SEID))?.path?.by_seid(seid)
    }

    fn upf_failed(&self, upf: SocketAddr) {
        let tables = self.tables();
        let affected = tables
            .at(upf)
            .filter(|entry| entry.handle.send(SessionEvent::UpfFailed(upf.into())))
            .count();
        if let Some(suppressed) = martlet_log_limit::line("upf_failed", upf) {
            tracing::warn!(%upf, sessions = affected, suppressed, "UPF failed");
        }
    }

    fn report(&self, seid: u64, report: SessionReportRequest) -> bool {
        let tables = self.tables();
        let Some(entry) = tables.by_reference.get(&(seid & !SECOND_SEID)) else { return false };
        // The uplink classifier reports everything that its anchor reports.
        let is_intermediate = entry.path.is_some_and(|path| path.intermediate().is_some());
        let is_duplicate = seid & SECOND_SEID != 0 && !is_intermediate;
        is_duplicate || entry.handle.send(SessionEvent::Report(report.into()))
    }

    fn upf_restarted(&self, upf: SocketAddr) {
        let tables = self.tables();
        let (mut notified, mut busy) = (0, 0);
        for entry in tables.at(upf) {
            match entry.handle.send(SessionEvent::UpfRestarted(upf.into())) {
                true => notified += 1,
                // Its next N4 request finds the session lost, and restores it.
                false => busy += 1,
            }
        }
        tracing::warn!(%upf, sessions = notified, busy, "UPF lost its sessions, restoring them");
    }

    fn upf_returned(&self, upf: SocketAddr) {
        let tables = self.tables();
        let all = tables.by_reference.values().filter(|entry| entry.left_upf == Some(upf));
        let sessions = all.filter(|entry| entry.handle.send(SessionEvent::UpfReturned)).count();
        if sessions > 0 {
            tracing::info!(%upf, sessions, "UPF associated again, moving its sessions back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_follows_those_that_are_ending() {
        let table = SessionTable::new(10, 0);
        let add = |supi: &str, id| table.add(supi, id, 4).unwrap();
        let ((first, mut of_first), (second, _second)) = (add("imsi-1", 1), add("imsi-1", 2));
        let _other = add("imsi-2", 1);
        let count = |id| table.before("imsi-1", id).len();
        assert_eq!((count(1), count(2), count(3)), (1, 1, 0));
        assert!(!table.begin_end(first), "the UE has another session");
        assert_eq!((count(1), count(2), count(3)), (1, 2, 1));
        assert!(table.before("imsi-1", 3)[0].send(SessionEvent::TakenOver));
        assert!(of_first.try_recv().is_some(), "the event is the first session's");
        assert!(table.begin_end(second), "the other one is ending");
        assert!(table.begin_end(second), "a second time it counts once");
        table.remove(first);
        table.remove(second);
        assert_eq!((count(1), table.before("imsi-2", 2).len()), (0, 0));
    }

    #[test]
    fn a_session_is_the_newest_until_another_one_has_its_identity() {
        let table = SessionTable::new(10, 0);
        let (old, _inbox) = table.add("imsi-1", 1, 4).unwrap();
        assert!(table.is_newest(old));
        table.begin_end(old);
        let (new, _inbox) = table.add("imsi-1", 1, 4).unwrap();
        assert!(!table.is_newest(old) && table.is_newest(new));
        assert!(!table.begin_end(old), "the new one serves the UE");
        table.remove(old);
        assert!(table.is_newest(new) && !table.is_newest(old));
    }
}

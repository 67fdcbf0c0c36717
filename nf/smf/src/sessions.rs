//! The table of all sessions, and the way to each one's task.
use crate::metrics;
use crate::n4::SessionLayer;
use crate::place::{Place, SECOND, UpfSession};
use crate::session::SessionEvent;
use martlet_pfcp::SessionReportRequest;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::mpsc;

/// The way to a session's task.
#[derive(Clone)]
pub struct SessionHandle(mpsc::Sender<SessionEvent>);

impl SessionHandle {
    /// Sends an event: false where the session has ended or has too many waiting.
    pub fn send(&self, event: SessionEvent) -> bool {
        self.0.try_send(event).is_ok()
    }
}

/// A session in the table.
struct Entry {
    handle: SessionHandle,
    subject: (String, u8),
    place: Option<Place>,
}

#[derive(Default)]
struct Tables {
    by_reference: HashMap<u64, Entry>,
    by_subject: HashMap<(String, u8), u64>,
    last: u64,
}

impl Tables {
    /// Takes a session in; its inbox.
    fn enter(
        &mut self,
        reference: u64,
        supi: &str,
        id: u8,
        queue: usize,
    ) -> mpsc::Receiver<SessionEvent> {
        let (sender, inbox) = mpsc::channel(queue);
        let subject = (supi.to_string(), id);
        self.by_subject.insert(subject.clone(), reference);
        let handle = SessionHandle(sender);
        self.by_reference.insert(reference, Entry { handle, subject, place: None });
        metrics::SESSIONS.set(self.by_reference.len() as i64);
        inbox
    }
}

/// All sessions. Held for moments, never over an await.
pub struct Sessions {
    tables: Mutex<Tables>,
    most: usize,
    /// What identities of this SMF's own sessions begin with.
    own: u64,
}

/// Of an identity, the bits that say by which member of an SMF set the session was made.
const MEMBER: u64 = 0x7f << 56;

impl Sessions {
    /// For the member of a set with this number, 0 to 127.
    pub fn new(most: usize, member: u8) -> Self {
        // Identities of one start differ from those of the one before.
        let epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let own = u64::from(member & 0x7f) << 56;
        let tables =
            Tables { last: own | (epoch.as_secs() & 0xffff_ffff) << 24, ..Tables::default() };
        Sessions { tables: Mutex::new(tables), most, own }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a session: its identity and inbox; `None` where there is no room.
    pub fn add(
        &self,
        supi: &str,
        id: u8,
        queue: usize,
    ) -> Option<(u64, mpsc::Receiver<SessionEvent>)> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.most {
            return None;
        }
        tables.last += 1;
        let reference = tables.last;
        Some((reference, tables.enter(reference, supi, id, queue)))
    }

    /// Takes a session in that was there before this SMF was started again: its inbox; `None` where
    /// there is no room.
    pub fn add_again(
        &self,
        reference: u64,
        supi: &str,
        id: u8,
        queue: usize,
    ) -> Option<mpsc::Receiver<SessionEvent>> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.most || tables.by_reference.contains_key(&reference) {
            return None;
        }
        if self.is_own(reference) {
            tables.last = tables.last.max(reference);
        }
        Some(tables.enter(reference, supi, id, queue))
    }

    /// Whether this SMF has made a session, and not another one of its set.
    pub fn is_own(&self, reference: u64) -> bool {
        reference & MEMBER == self.own
    }

    /// Takes a session out of the table.
    pub fn remove(&self, reference: u64) {
        let mut tables = self.tables();
        if let Some(Entry { subject, .. }) = tables.by_reference.remove(&reference)
            && tables.by_subject.get(&subject) == Some(&reference)
        {
            tables.by_subject.remove(&subject);
        }
        metrics::SESSIONS.set(tables.by_reference.len() as i64);
    }

    /// A session by its identity in URIs.
    pub fn get(&self, reference: &str) -> Option<SessionHandle> {
        let reference = reference.parse::<u64>().ok()?;
        self.tables().by_reference.get(&reference).map(|entry| entry.handle.clone())
    }

    /// All sessions of a UE.
    pub fn all_of(&self, supi: &str) -> Vec<SessionHandle> {
        let ids = 1..=15;
        ids.filter_map(|id| self.of(supi, id)).collect()
    }

    /// A UE's session.
    pub fn of(&self, supi: &str, id: u8) -> Option<SessionHandle> {
        let tables = self.tables();
        let reference = tables.by_subject.get(&(supi.to_string(), id))?;
        tables.by_reference.get(reference).map(|entry| entry.handle.clone())
    }

    /// Notes where a session's user plane is.
    pub fn locate(&self, reference: u64, place: Place) {
        if let Some(entry) = self.tables().by_reference.get_mut(&reference) {
            entry.place = Some(place);
        }
    }

    pub fn len(&self) -> usize {
        self.tables().by_reference.len()
    }
}

impl Tables {
    /// Sessions that have something at a UPF.
    fn at(&self, upf: SocketAddr) -> impl Iterator<Item = &Entry> {
        self.by_reference
            .values()
            .filter(move |entry| entry.place.is_some_and(|place| place.is_at(upf)))
    }
}

impl SessionLayer for Sessions {
    fn sessions_at(&self, upf: SocketAddr) -> usize {
        self.tables().at(upf).count()
    }

    fn upf_leaves(&self, upf: SocketAddr) {
        for entry in self.tables().at(upf) {
            entry.handle.send(SessionEvent::UpfLeaves(upf.into()));
        }
    }

    fn user_plane(&self, seid: u64) -> Option<UpfSession> {
        self.tables().by_reference.get(&(seid & !SECOND))?.place?.of(seid)
    }

    fn upf_lost(&self, upf: SocketAddr) {
        let tables = self.tables();
        let told = tables
            .at(upf)
            .filter(|entry| entry.handle.send(SessionEvent::UpfLost(upf.into())))
            .count();
        tracing::warn!(%upf, sessions = told, "the UPF does not answer");
    }

    fn report(&self, seid: u64, report: SessionReportRequest) -> bool {
        let tables = self.tables();
        let Some(entry) = tables.by_reference.get(&(seid & !SECOND)) else { return false };
        // An anchor behind an uplink classifier has nothing to say that the classifier does not
        // say.
        let silent = seid & SECOND != 0 && entry.place.is_none_or(|place| !place.intermediate);
        silent || entry.handle.send(SessionEvent::Report(report.into()))
    }

    fn associated_anew(&self, upf: SocketAddr) {
        let tables = self.tables();
        let (mut told, mut busy) = (0, 0);
        for entry in tables.at(upf) {
            match entry.handle.send(SessionEvent::AssociatedAnew(upf.into())) {
                true => told += 1,
                // Its next change finds out, and restores it.
                false => busy += 1,
            }
        }
        tracing::warn!(%upf, sessions = told, busy, "the UPF has lost its sessions, which are restored now");
    }
}

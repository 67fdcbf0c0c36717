//! Lookup tables: UE contexts by identity, and UE-associated logical NG connections (TS 38.413,
//! 3.1).
//!
//! The tables hold task handles; the context itself belongs to its task. The lock is never held
//! across an await.
use super::changes::{ChangedUes, Changes};
use super::{Event, UeHandle};
use crate::n2::Location;
use martlet_event_queue::Sender;
use martlet_sbi_api::common::Supi;
use rand::Rng;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};
use tokio::sync::Notify;

/// The part of a UE context that other tasks may read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub supi: Option<Supi>,
    pub registered: bool,
    /// A registration is running.
    pub registering: bool,
    /// The UE can be paged while it is idle.
    pub can_be_paged: bool,
    pub gnb: Option<Arc<str>>,
    /// Identity and number of each PDU session.
    pub sessions: Box<[(u8, u64)]>,
    /// LPP in NAS.
    pub lpp: bool,
    /// Positioning over the user plane.
    pub lcs_upp: bool,
    /// The current cell.
    pub cell: Option<Location>,
    /// Start of the deregistered state.
    pub deregistered_since: Option<Instant>,
}

impl Summary {
    /// For `martlet status`; `None` before the UE is authenticated.
    pub fn status(&self) -> Option<serde_json::Value> {
        let supi = self.supi.as_ref()?;
        Some(serde_json::json!({
            "supi": supi, "state": self.state(), "gnb": self.gnb,
            "sessions": self.session_ids().collect::<Vec<_>>(),
        }))
    }

    /// The identities of the PDU sessions.
    pub fn session_ids(&self) -> impl Iterator<Item = u8> {
        self.sessions.iter().map(|(psi, _)| *psi)
    }

    /// Whether an operator sees another state, gNB or other sessions than in `other`.
    fn differs_from(&self, other: &Summary) -> bool {
        self.supi != other.supi
            || self.state() != other.state()
            || self.gnb != other.gnb
            || !self.session_ids().eq(other.session_ids())
    }

    /// The state of registration and connection.
    pub fn state(&self) -> &'static str {
        match (self.registered, self.gnb.is_some()) {
            (true, true) => "registered, connected",
            (true, false) => "registered, idle",
            (false, true) => "registering",
            (false, false) => "deregistered",
        }
    }

    /// All that an operator sees; `None` before the UE is authenticated.
    pub fn describe(&self) -> Option<serde_json::Value> {
        let mut ue = self.status()?;
        ue["cell"] = serde_json::json!(self.cell.map(Location::ncgi));
        ue["canBePaged"] = self.can_be_paged.into();
        ue["lpp"] = self.lpp.into();
        ue["lcsUpp"] = self.lcs_upp.into();
        Some(ue)
    }
}

struct UeEntry {
    handle: UeHandle,
    summary: Summary,
}

/// A UE-associated logical NG connection.
struct Connected {
    gnb: u64,
    /// `None` until the target gNB of a handover has answered.
    ran_id: Option<u32>,
    handle: UeHandle,
    /// UE CONTEXT RELEASE COMMAND was sent: the handle is that of the task that releases it.
    is_in_release: bool,
    lost: Arc<Notify>,
}

impl Connected {
    /// Whether a message with this RAN UE NGAP ID is about the connection. A target gNB that is
    /// released before its answer to HANDOVER REQUEST names its identity in the response.
    fn is_named(&self, ran_id: u32) -> bool {
        self.ran_id.map_or(self.is_in_release, |own| own == ran_id)
    }
}

/// The number in the handle of a connection that is being released: it belongs to no UE.
const NO_UE: u64 = 0;

#[derive(Default)]
struct State {
    ues: HashMap<u64, UeEntry>,
    by_supi: HashMap<Supi, UeHandle>,
    by_tmsi: HashMap<u32, UeHandle>,
    connections: HashMap<u64, Connected>,
    by_ran_id: HashMap<(u64, u32), u64>,
    last_number: u64,
    changes: Changes,
}

/// The tables.
#[derive(Default)]
pub(crate) struct Tables(Mutex<State>);

/// The recipient of a message with an AMF UE NGAP ID.
pub(crate) enum Route {
    /// The task of this UE.
    To(UeHandle),
    /// The task that releases the connection.
    InRelease(UeHandle),
    /// Unknown AMF UE NGAP ID.
    Unknown,
    /// The connection belongs to another gNB or has another RAN UE NGAP ID.
    Inconsistent,
}

impl Tables {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A number for a new UE context or session, never reused, not even after a restart.
    pub fn next_number(&self) -> u64 {
        let mut state = self.state();
        if state.last_number == 0 {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            state.last_number = (now.as_secs() & 0xffff_ffff) << 24;
        }
        state.last_number += 1;
        state.last_number
    }

    /// Adds a UE context.
    pub fn add(&self, handle: &UeHandle) {
        let entry = UeEntry { handle: handle.clone(), summary: Summary::default() };
        self.state().ues.insert(handle.number, entry);
        crate::metrics::ues(1);
    }

    /// Removes a UE context and its identities.
    pub fn remove(&self, number: u64, supi: Option<&Supi>, tmsis: impl IntoIterator<Item = u32>) {
        let mut state = self.state();
        if let Some(entry) = state.ues.remove(&number) {
            crate::metrics::ues(-1);
            entry.summary.supi.iter().for_each(|supi| state.changes.add(supi));
        }
        if let Some(supi) = supi
            && state.by_supi.get(supi).is_some_and(|handle| handle.number == number)
        {
            state.by_supi.remove(supi);
        }
        for tmsi in tmsis {
            if state.by_tmsi.get(&tmsi).is_some_and(|handle| handle.number == number) {
                state.by_tmsi.remove(&tmsi);
            }
        }
    }

    /// Number of UE contexts.
    pub fn len(&self) -> usize {
        self.state().ues.len()
    }

    /// Number of registered UEs.
    pub fn registered(&self) -> usize {
        self.state().ues.values().filter(|ue| ue.summary.registered).count()
    }

    /// Asks the UE that has been deregistered longest to end its task; false if there is none.
    pub fn evict(&self) -> bool {
        let mut state = self.state();
        let deregistered =
            state.ues.values_mut().filter(|ue| ue.summary.deregistered_since.is_some());
        let Some(oldest) = deregistered.min_by_key(|ue| ue.summary.deregistered_since) else {
            return false;
        };
        oldest.summary.deregistered_since = None;
        oldest.handle.sender.try_send(Event::Evicted).is_ok()
    }

    /// The last summary of a UE.
    pub fn summary(&self, number: u64) -> Option<Summary> {
        self.state().ues.get(&number).map(|entry| entry.summary.clone())
    }

    /// Whether a UE is in RM-DEREGISTERED, and does not register now.
    pub fn is_deregistered(&self, number: u64) -> bool {
        let state = self.state();
        state.ues.get(&number).is_some_and(|ue| !ue.summary.registered && !ue.summary.registering)
    }

    /// Passes the summary of each UE to `visit`, in no order.
    pub fn each(&self, mut visit: impl FnMut(&Summary)) {
        self.state().ues.values().for_each(|ue| visit(&ue.summary));
    }

    /// Stores the summary of a UE.
    pub fn set_summary(&self, number: u64, summary: Summary) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(entry) = state.ues.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.summary, summary);
        if let Some(supi) = &entry.summary.supi
            && entry.summary.differs_from(&before)
        {
            state.changes.add(supi);
        }
    }

    /// The UEs whose state, gNB or sessions changed after a position.
    pub fn changed_after(&self, position: u64) -> ChangedUes {
        self.state().changes.after(position)
    }

    /// The numbers of contexts, registered UEs and connections, and the first `max` UEs by number.
    pub fn overview(&self, max: usize) -> (usize, usize, usize, Vec<Summary>) {
        let state = self.state();
        let registered = state.ues.values().filter(|ue| ue.summary.registered).count();
        let mut numbers: Vec<_> = state.ues.keys().copied().collect();
        numbers.sort_unstable();
        let first = numbers.iter().take(max).filter_map(|number| state.ues.get(number));
        let first = first.map(|ue| ue.summary.clone()).collect();
        (state.ues.len(), registered, state.connections.len(), first)
    }

    /// UE-associated connections by the number of their gNB.
    pub fn connections_by_gnb(&self) -> HashMap<u64, u64> {
        let mut all = HashMap::new();
        for connected in self.state().connections.values() {
            *all.entry(connected.gnb).or_default() += 1;
        }
        all
    }

    /// Maps a SUPI to this task. Returns the task that it was mapped to before.
    pub fn claim_supi(&self, supi: &Supi, handle: &UeHandle) -> Option<UeHandle> {
        let before = self.state().by_supi.insert(supi.clone(), handle.clone());
        before.filter(|before| before.number != handle.number)
    }

    /// The UE of a SUPI.
    pub fn by_supi(&self, supi: &str) -> Option<UeHandle> {
        self.state().by_supi.get(supi).cloned()
    }

    /// The UE of a 5G-TMSI.
    pub fn by_tmsi(&self, tmsi: u32) -> Option<UeHandle> {
        self.state().by_tmsi.get(&tmsi).cloned()
    }

    /// Allocates a random, unused 5G-TMSI (TS 33.501, 6.12.3).
    pub fn allocate_tmsi(&self, handle: &UeHandle) -> u32 {
        let mut state = self.state();
        let mut rng = rand::rng();
        loop {
            let tmsi: u32 = rng.random();
            if let Entry::Vacant(free) = state.by_tmsi.entry(tmsi) {
                free.insert(handle.clone());
                return tmsi;
            }
        }
    }

    /// Maps an allocated 5G-TMSI to this task.
    pub fn claim_tmsi(&self, tmsi: u32, handle: &UeHandle) {
        self.state().by_tmsi.insert(tmsi, handle.clone());
    }

    /// Maps a 5G-TMSI of another AMF to this task, unless this AMF has allocated the same value.
    /// Returns whether it is this task's.
    pub fn claim_free_tmsi(&self, tmsi: u32, handle: &UeHandle) -> bool {
        let mut state = self.state();
        state.by_tmsi.entry(tmsi).or_insert_with(|| handle.clone()).number == handle.number
    }

    /// Releases a 5G-TMSI.
    pub fn release_tmsi(&self, tmsi: u32, number: u64) {
        let mut state = self.state();
        if state.by_tmsi.get(&tmsi).is_some_and(|handle| handle.number == number) {
            state.by_tmsi.remove(&tmsi);
        }
    }

    /// Adds a connection. Returns its AMF UE NGAP ID (40 bits) and the notification of its loss. A
    /// connection of this gNB with the same RAN UE NGAP ID is lost: the gNB has reused the
    /// identity.
    pub fn connect(&self, gnb: u64, ran_id: u32, handle: &UeHandle) -> (u64, Arc<Notify>) {
        let mut state = self.state();
        state.drop_ran_id(gnb, ran_id);
        let ids = state.begin(gnb, Some(ran_id), handle);
        state.by_ran_id.insert((gnb, ran_id), ids.0);
        ids
    }

    /// Adds a connection with the target gNB of a handover, which has no RAN UE NGAP ID yet. Its
    /// AMF UE NGAP ID has 31 bits.
    pub fn connect_target(&self, gnb: u64, handle: &UeHandle) -> (u64, Arc<Notify>) {
        self.state().begin(gnb, None, handle)
    }

    /// Stores the response of the target gNB. Returns the UE that waits for it.
    pub fn connect_target_response(
        &self,
        gnb: u64,
        amf_id: u64,
        ran_id: Option<u32>,
    ) -> Option<UeHandle> {
        let mut state = self.state();
        state
            .connections
            .get(&amf_id)
            .filter(|connected| connected.gnb == gnb && connected.ran_id.is_none())?;
        if let Some(ran_id) = ran_id {
            state.drop_ran_id(gnb, ran_id);
            state.by_ran_id.insert((gnb, ran_id), amf_id);
        }
        let connected = state.connections.get_mut(&amf_id)?;
        connected.ran_id = ran_id;
        Some(connected.handle.clone())
    }

    /// The UE of a connection with any gNB.
    pub fn by_amf_id(&self, amf_id: u64) -> Option<UeHandle> {
        self.state().connections.get(&amf_id).map(|connected| connected.handle.clone())
    }

    /// The connections, each with the task that gets its messages.
    pub fn connected_ues(&self) -> Vec<(u64, UeHandle)> {
        let state = self.state();
        let connections = state.connections.iter();
        connections.map(|(amf_id, connected)| (*amf_id, connected.handle.clone())).collect()
    }

    /// The number of the UE of a connection.
    pub fn owner_of(&self, amf_id: u64) -> Option<u64> {
        self.state().connections.get(&amf_id).map(|connected| connected.handle.number)
    }

    /// A UE by its number.
    pub fn by_number(&self, number: u64) -> Option<UeHandle> {
        self.state().ues.get(&number).map(|entry| entry.handle.clone())
    }

    /// Moves a connection to another gNB (path switch); false if it has ended.
    pub fn move_connection(&self, amf_id: u64, gnb: u64, ran_id: u32) -> bool {
        let mut state = self.state();
        if !state.connections.contains_key(&amf_id) {
            return false;
        }
        if state.by_ran_id.get(&(gnb, ran_id)) != Some(&amf_id) {
            state.drop_ran_id(gnb, ran_id);
        }
        let Some(connected) = state.connections.get_mut(&amf_id) else { return false };
        let before = (connected.gnb, connected.ran_id);
        (connected.gnb, connected.ran_id) = (gnb, Some(ran_id));
        if let (of, Some(ran)) = before {
            state.by_ran_id.remove(&(of, ran));
        }
        state.by_ran_id.insert((gnb, ran_id), amf_id);
        true
    }

    /// The gNB of a connection.
    pub fn gnb_of(&self, amf_id: u64) -> Option<u64> {
        self.state().connections.get(&amf_id).map(|connected| connected.gnb)
    }

    /// Whether a gNB has a connection with this RAN UE NGAP ID.
    pub fn has_ran_id(&self, gnb: u64, ran_id: u32) -> bool {
        self.state().by_ran_id.contains_key(&(gnb, ran_id))
    }

    /// AMF UE NGAP IDs in use.
    #[cfg(test)]
    pub fn connections(&self) -> Vec<u64> {
        self.state().connections.keys().copied().collect()
    }

    /// Ends a connection.
    pub fn disconnect(&self, amf_id: u64) {
        self.state().disconnect(amf_id);
    }

    /// Routes a connection's messages to another task.
    pub fn redirect(&self, amf_id: u64, handle: &UeHandle) {
        if let Some(connected) = self.state().connections.get_mut(&amf_id) {
            connected.handle = handle.clone();
        }
    }

    /// Routes a connection's messages to the task that releases it. Returns its RAN UE NGAP ID;
    /// `None` if the target gNB of a handover has not answered, or if the connection is lost.
    pub fn begin_release(&self, amf_id: u64, sender: Sender<Event>) -> Option<u32> {
        let mut state = self.state();
        let connected = state.connections.get_mut(&amf_id)?;
        connected.handle = UeHandle { number: NO_UE, sender };
        connected.is_in_release = true;
        connected.ran_id
    }

    /// The recipient of a message from a gNB.
    pub fn route(&self, gnb: u64, amf_id: u64, ran_id: u32) -> Route {
        self.route_if(gnb, amf_id, |connected| connected.is_named(ran_id))
    }

    /// The recipient of a message from a gNB that has the AMF UE NGAP ID alone. The gNB knows, or
    /// has known, the RAN UE NGAP ID of the connection.
    pub fn route_without_ran_id(&self, gnb: u64, amf_id: u64) -> Route {
        self.route_if(gnb, amf_id, |connected| {
            connected.ran_id.is_some() || connected.is_in_release
        })
    }

    fn route_if(&self, gnb: u64, amf_id: u64, is_named: impl Fn(&Connected) -> bool) -> Route {
        match self.state().connections.get(&amf_id) {
            None => Route::Unknown,
            Some(connected) if connected.gnb == gnb && is_named(connected) => {
                let handle = connected.handle.clone();
                if connected.is_in_release { Route::InRelease(handle) } else { Route::To(handle) }
            }
            Some(_) => Route::Inconsistent,
        }
    }

    /// Drops all connections of a gNB. Returns their number.
    pub fn drop_gnb(&self, gnb: u64) -> usize {
        let mut state = self.state();
        let of_gnb = state.connections.iter().filter(|(_, connected)| connected.gnb == gnb);
        let lost: Vec<u64> = of_gnb.map(|(amf_id, _)| *amf_id).collect();
        lost.iter().for_each(|amf_id| state.lose(*amf_id));
        lost.len()
    }

    /// Drops the connection of a gNB with one or both identities. Returns whether it existed.
    pub fn drop_connection(&self, gnb: u64, amf_id: Option<u64>, ran_id: Option<u32>) -> bool {
        let mut state = self.state();
        let amf_id = amf_id.or_else(|| state.by_ran_id.get(&(gnb, ran_id?)).copied());
        let Some(amf_id) = amf_id else { return false };
        let matches = |connected: &Connected| {
            connected.gnb == gnb && ran_id.is_none_or(|id| connected.ran_id == Some(id))
        };
        let found = state.connections.get(&amf_id).is_some_and(matches);
        if found {
            state.lose(amf_id);
        }
        found
    }
}

impl State {
    /// Adds a connection. Returns its AMF UE NGAP ID and the notification of its loss. The identity
    /// has 40 bits, but 31 at the target gNB of a handover: UERANSIM reads HANDOVER REQUEST's into
    /// a signed integer of 32 bits, and answers with what it has left.
    fn begin(&mut self, gnb: u64, ran_id: Option<u32>, handle: &UeHandle) -> (u64, Arc<Notify>) {
        let mut rng = rand::rng();
        let bits = if ran_id.is_some() { 40 } else { 31 };
        let amf_id = loop {
            let id = rng.random_range(1..1u64 << bits);
            if !self.connections.contains_key(&id) {
                break id;
            }
        };
        let lost = Arc::new(Notify::new());
        let (handle, is_in_release) = (handle.clone(), false);
        let connected = Connected { gnb, ran_id, handle, is_in_release, lost: lost.clone() };
        self.connections.insert(amf_id, connected);
        crate::metrics::connected(1);
        (amf_id, lost)
    }

    /// Drops the connection that had a RAN UE NGAP ID which the gNB reuses.
    fn drop_ran_id(&mut self, gnb: u64, ran_id: u32) {
        if let Some(old) = self.by_ran_id.get(&(gnb, ran_id)).copied() {
            self.lose(old);
        }
    }

    fn disconnect(&mut self, amf_id: u64) -> Option<Connected> {
        let connected = self.connections.remove(&amf_id)?;
        if let Some(key) = connected.ran_id.map(|ran_id| (connected.gnb, ran_id))
            && self.by_ran_id.get(&key) == Some(&amf_id)
        {
            self.by_ran_id.remove(&key);
        }
        crate::metrics::connected(-1);
        Some(connected)
    }

    fn lose(&mut self, amf_id: u64) {
        if let Some(connected) = self.disconnect(amf_id) {
            connected.lost.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(number: u64) -> UeHandle {
        UeHandle { number, sender: martlet_event_queue::bounded(1).0 }
    }

    fn routed_to(tables: &Tables, gnb: u64, amf_id: u64, ran_id: u32) -> Option<u64> {
        match tables.route(gnb, amf_id, ran_id) {
            Route::To(handle) => Some(handle.number),
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_reused_ran_ue_ngap_id_drops_the_old_connection() {
        let tables = Tables::default();
        let (first, lost) = tables.connect(1, 7, &handle(1));
        let (second, _) = tables.connect(1, 7, &handle(2));
        lost.notified().await;
        assert_eq!(
            (routed_to(&tables, 1, first, 7), routed_to(&tables, 1, second, 7)),
            (None, Some(2))
        );
        // The end of the lost connection does not affect its successor.
        tables.disconnect(first);
        assert_eq!(routed_to(&tables, 1, second, 7), Some(2));
        assert!(matches!(tables.route(2, second, 7), Route::Inconsistent));
        assert!(matches!(tables.route(1, second, 8), Route::Inconsistent));
        assert!(matches!(tables.route_without_ran_id(1, second), Route::To(_)));
        assert!(matches!(tables.route_without_ran_id(2, second), Route::Inconsistent));
        assert!(matches!(tables.route_without_ran_id(1, first), Route::Unknown));
    }

    #[test]
    fn a_gnb_loses_only_its_own_connections() {
        let tables = Tables::default();
        let (ours, _) = tables.connect(1, 7, &handle(1));
        let (theirs, _) = tables.connect(2, 7, &handle(2));
        assert!(!tables.drop_connection(2, Some(ours), None));
        assert!(!tables.drop_connection(1, Some(ours), Some(8)));
        assert_eq!(tables.drop_gnb(1), 1);
        assert_eq!(
            (routed_to(&tables, 1, ours, 7), routed_to(&tables, 2, theirs, 7)),
            (None, Some(2))
        );
        assert!(tables.drop_connection(2, None, Some(7)));
    }

    #[tokio::test]
    async fn a_connection_moves_to_another_gnb() {
        let tables = Tables::default();
        let (moved, _) = tables.connect(1, 7, &handle(1));
        let (there, lost) = tables.connect(2, 9, &handle(2));
        assert!(tables.move_connection(moved, 2, 9));
        lost.notified().await;
        assert_eq!(
            (routed_to(&tables, 2, moved, 9), routed_to(&tables, 1, moved, 7)),
            (Some(1), None)
        );
        assert!(tables.by_amf_id(there).is_none() && !tables.move_connection(there, 1, 1));
        assert_eq!(tables.drop_gnb(1), 0);
        // The target of a handover gives its identity only in its response.
        let (target, _) = tables.connect_target(3, &handle(1));
        assert_eq!(routed_to(&tables, 3, target, 0), None);
        assert!(tables.connect_target_response(2, target, Some(5)).is_none());
        assert_eq!(
            tables.connect_target_response(3, target, Some(5)).map(|handle| handle.number),
            Some(1)
        );
        assert!(tables.connect_target_response(3, target, Some(6)).is_none());
        assert_eq!(routed_to(&tables, 3, target, 5), Some(1));
        tables.disconnect(target);
        assert!(tables.by_amf_id(target).is_none());
    }

    /// As UERANSIM's target gNB reads it.
    #[test]
    fn the_identity_at_a_target_fits_into_a_signed_integer_of_32_bits() {
        let tables = Tables::default();
        for _ in 0..100 {
            let (target, _) = tables.connect_target(3, &handle(1));
            assert!(i32::try_from(target).is_ok_and(|id| id > 0), "{target}");
        }
    }

    #[test]
    fn a_target_without_an_answer_names_its_identity_in_the_release() {
        let tables = Tables::default();
        let (target, _) = tables.connect_target(3, &handle(1));
        assert!(matches!(tables.route(3, target, 5), Route::Inconsistent));
        assert_eq!(tables.begin_release(target, martlet_event_queue::bounded(1).0), None);
        assert!(matches!(tables.route(3, target, 5), Route::InRelease(_)));
        assert!(matches!(tables.route(2, target, 5), Route::Inconsistent));
        let (known, _) = tables.connect(3, 7, &handle(1));
        assert_eq!(tables.begin_release(known, martlet_event_queue::bounded(1).0), Some(7));
        assert!(matches!(tables.route(3, known, 7), Route::InRelease(_)));
        assert!(matches!(tables.route(3, known, 8), Route::Inconsistent));
    }

    #[test]
    fn a_change_that_an_operator_sees_is_reported() {
        let tables = Tables::default();
        tables.add(&handle(1));
        let supi: Supi = "imsi-001010000000001".parse().unwrap();
        let mut position = tables.changed_after(0).position;
        let mut reports = |what: &str, expected: bool| {
            let changed = tables.changed_after(position);
            position = changed.position;
            assert_eq!(
                (changed.supis.contains(&supi), changed.complete),
                (expected, true),
                "{what}"
            );
        };
        let gnb = Some(Arc::from("gnb-1"));
        let connected =
            Summary { supi: Some(supi.clone()), registered: true, gnb, ..Summary::default() };
        tables.set_summary(1, Summary { gnb: connected.gnb.clone(), ..Summary::default() });
        reports("not authenticated", false);
        tables.set_summary(1, connected.clone());
        reports("registered", true);
        tables.set_summary(1, Summary { can_be_paged: true, ..connected.clone() });
        reports("nothing that is shown", false);
        tables.set_summary(1, Summary { sessions: Box::new([(1, 7)]), ..connected.clone() });
        reports("a session", true);
        tables.set_summary(1, Summary { gnb: None, ..connected.clone() });
        reports("idle", true);
        tables.remove(1, Some(&supi), []);
        reports("removed", true);
    }

    #[test]
    fn an_identity_maps_to_the_ue_that_claimed_it_last() {
        let tables = Tables::default();
        let supi: Supi = "imsi-001010000000001".parse().unwrap();
        assert!(tables.claim_supi(&supi, &handle(1)).is_none());
        assert_eq!(tables.claim_supi(&supi, &handle(2)).unwrap().number, 1);
        let tmsi = tables.allocate_tmsi(&handle(2));
        tables.remove(1, Some(&supi), [tmsi]);
        assert_eq!(tables.by_supi(&supi).unwrap().number, 2);
        assert_eq!(tables.by_tmsi(tmsi).unwrap().number, 2);
        tables.remove(2, Some(&supi), [tmsi]);
        assert!(tables.by_supi(&supi).is_none() && tables.by_tmsi(tmsi).is_none());
    }
}

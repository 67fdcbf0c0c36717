//! The forwarder: sessions by TEID and address, and the processing of packets. Without sockets:
//! packets are bytes and leave through an [`Egress`].
use super::correlation::Correlation;
use super::egress::Egress;
use super::entry::{Entry, State, Waiting};
use super::fragments::Fragments;
use super::frame::HEADROOM;
use super::handed_over::{BufferedPacket, HandedOver};
use super::lan::Lan;
use super::limiter::PeerLimiter;
use super::lock::lock;
use super::shape::Shaper;
use martlet_gtpu::end_marker;
use martlet_upf_config::{KernelLimits, N3Config, UeToUe, UeToUeOfNetworks};
use martlet_upf_datapath::counters::{Counters, DropReason};
use martlet_upf_datapath::early::EarlyPackets;
use martlet_upf_datapath::fair_share::FairShare;
use martlet_upf_datapath::perimeter::{Perimeter, Policy};
use martlet_upf_datapath::telemetry::{PdrTraffic, TableUsage, Traffic};
use martlet_upf_datapath::{
    Buffered, Change, DatapathError, Event, EventSender, PdrError, Reached, ResourceError, Shaping,
    Usage,
};
use martlet_upf_rules::{Flow, Prefix, UeAddress};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

const UDP: u8 = 17;

/// What happens to packets to the UE with an address, if another datapath serves one. It is asked
/// while no session is locked.
pub type UeElsewhere = Box<dyn Fn(IpAddr) -> Option<UeToUe> + Send + Sync>;

/// The state of all sessions, used by the threads that forward packets and by the one that changes
/// rules.
pub(super) struct Forwarder<O> {
    tables: RwLock<Tables>,
    pub(super) egress: O,
    pub(super) counters: Arc<Counters>,
    pub(super) events: EventSender,
    pub(super) limits: KernelLimits,
    /// Number of buffered packets of all sessions.
    pub(super) buffered: AtomicUsize,
    /// The shares of sessions in the buffer.
    share: FairShare,
    /// The network instances that have an interface of their own.
    pub(super) network_instances: Vec<Vec<u8>>,
    pub(super) shaper: Shaper,
    /// Rate limit of responses to unsolicited packets.
    pub(super) response_limiter: Mutex<PeerLimiter>,
    /// The perimeter: what UEs may not reach, and the peers.
    pub(super) perimeter: Arc<Perimeter>,
    /// Packets that wait for a path switch.
    pub(super) early: Mutex<EarlyPackets>,
    /// What happens to packets between UEs.
    pub(super) ue_to_ue: UeToUeOfNetworks,
    /// The UEs of another datapath beside this one.
    pub(super) elsewhere: Option<UeElsewhere>,
    /// Networks of Ethernet sessions.
    pub(super) lans: Vec<Arc<Lan<Entry>>>,
    /// Our own ends of tunnels.
    own: Vec<SocketAddr>,
    /// Until this time, unknown tunnels may belong to sessions that are not restored yet.
    suppress_errors_until: Option<Instant>,
    /// Packets without a QFI match no PDR that has QFIs.
    pub(super) require_qfi: bool,
    /// Ports of fragmented datagrams.
    pub(super) fragments: Mutex<Fragments>,
    /// Bit rates that sessions share.
    correlation: Correlation,
}

/// Packets that are being carried.
pub(super) struct Sampled<'a> {
    counters: &'a Counters,
    since: Instant,
}

impl Sampled<'_> {
    /// Number of packets so far.
    pub fn each(self, packets: usize) {
        if let Some(each) = self.since.elapsed().as_nanos().checked_div(packets as u128) {
            self.counters.latency.add(each as u64);
        }
    }
}

#[derive(Default)]
struct Tables {
    sessions: HashMap<u64, Arc<Entry>>,
    by_teid: HashMap<u32, Arc<Entry>>,
    by_ue: HashMap<UeAddress, Arc<Entry>>,
    /// Networks behind UEs, the longest prefix first.
    by_route: BTreeMap<(Reverse<u8>, IpAddr), Arc<Entry>>,
}

impl Tables {
    /// Longest prefix match of framed routes: one lookup for each prefix length.
    fn behind(&self, address: IpAddr) -> Option<&Arc<Entry>> {
        let (mut from, first) = (Reverse(u8::MAX), IpAddr::from([0, 0, 0, 0]));
        loop {
            let (&(length, _), _) = self.by_route.range((from, first)..).next()?;
            let network = Prefix::of(address, length.0).network;
            if let Some(entry) = self.by_route.get(&(length, network)) {
                return Some(entry);
            }
            from = Reverse(length.0.checked_sub(1)?);
        }
    }
}

impl<O: Egress> Forwarder<O> {
    pub fn new(egress: O, limits: KernelLimits, events: EventSender) -> Self {
        let total = limits.error_indications_per_second;
        let each = N3Config::default().error_indications_per_peer;
        let response_limiter = Mutex::new(PeerLimiter::per_second(total, each));
        Forwarder {
            tables: RwLock::default(),
            egress,
            counters: Arc::default(),
            events,
            limits,
            buffered: AtomicUsize::new(0),
            share: FairShare::default(),
            network_instances: Vec::new(),
            shaper: Shaper::default(),
            response_limiter,
            perimeter: Arc::new(Perimeter::new(Policy::default())),
            early: Mutex::default(),
            ue_to_ue: UeToUeOfNetworks::default(),
            elsewhere: None,
            lans: Vec::new(),
            own: Vec::new(),
            suppress_errors_until: None,
            require_qfi: false,
            fragments: Mutex::default(),
            correlation: Correlation::default(),
        }
    }

    /// Sends what the calling thread has queued, and counts what could not be sent.
    pub fn flush(&self) {
        let lost = self.egress.flush();
        self.counters.lost_packets.add(lost.peers + lost.network);
        self.counters.drops(DropReason::N3).add(lost.peers);
        self.counters.drops(DropReason::N6).add(lost.network);
    }

    /// Enables latency samples of packets received at `since`.
    pub fn sampled(&self, since: Instant) -> Sampled<'_> {
        Sampled { counters: &self.counters, since }
    }

    /// See [`Datapath::traffic`](martlet_upf_datapath::Datapath::traffic).
    pub fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        self.expire_early(Instant::now());
        let of = |seid: &u64| {
            self.by_seid(*seid).map(|entry| lock(&entry.state).traffic()).unwrap_or_default()
        };
        seids.iter().map(of).collect()
    }

    /// See [`Datapath::pdr_traffic`](martlet_upf_datapath::Datapath::pdr_traffic).
    pub fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        self.expire_early(Instant::now());
        let traffic = |entry: Arc<Entry>| lock(&entry.state).pdr_traffic(crate::NAME);
        self.by_seid(seid).map(traffic).unwrap_or_default()
    }

    /// See [`Datapath::tables`](martlet_upf_datapath::Datapath::tables).
    pub fn tables(&self) -> Vec<TableUsage> {
        self.expire_early(Instant::now());
        let sessions = self.tables.read().unwrap_or_else(PoisonError::into_inner).sessions.len();
        let fill = |table, used: usize, capacity: usize| TableUsage {
            table,
            used: used as u64,
            capacity: capacity as u64,
        };
        vec![
            fill("sessions", sessions, self.limits.sessions),
            fill("waiting", self.buffered.load(Ordering::Relaxed), self.limits.buffer_packets),
        ]
    }

    /// Sets the network instances by the names that FARs have.
    pub fn network_instances(self, network_instances: Vec<Vec<u8>>) -> Self {
        Forwarder { network_instances, ..self }
    }

    /// QFIs of the flows that are shaped first.
    pub fn lowest(mut self, qfis: Vec<u8>) -> Self {
        self.shaper.lowest = qfis;
        self
    }

    /// See [`Datapath::shape`](martlet_upf_datapath::Datapath::shape).
    pub fn shape(&self, shaping: &Shaping) {
        self.shaper.set(shaping, self.limits.mbr_burst(), Instant::now());
    }

    /// Sends no Error Indication for unknown tunnels until this time.
    pub fn suppress_errors_until(self, until: Instant) -> Self {
        Forwarder { suppress_errors_until: Some(until), ..self }
    }

    /// Uses these counters.
    pub fn counting(self, counters: Arc<Counters>) -> Self {
        Forwarder { counters, ..self }
    }

    /// Sets the networks of Ethernet sessions.
    pub fn with(self, lans: Vec<Arc<Lan<Entry>>>) -> Self {
        Forwarder { lans, ..self }
    }

    /// With a perimeter.
    pub fn within(self, perimeter: Arc<Perimeter>) -> Self {
        Forwarder { perimeter, ..self }
    }

    /// Sets what happens to packets between UEs.
    pub fn between_ues(self, ue_to_ue: UeToUeOfNetworks) -> Self {
        Forwarder { ue_to_ue, ..self }
    }

    /// Sets how to find UEs of another datapath beside this one.
    pub fn beside(self, elsewhere: UeElsewhere) -> Self {
        Forwarder { elsewhere: Some(elsewhere), ..self }
    }

    /// Sets our own ends of tunnels, which UEs must not reach, and the limits of N3.
    pub fn ending_at(mut self, n3: &N3Config) -> Self {
        let total = self.limits.error_indications_per_second;
        let each = n3.error_indications_per_peer;
        self.require_qfi = n3.require_qfi;
        self.response_limiter = Mutex::new(PeerLimiter::per_second(total, each));
        let (four, six) = n3.addresses();
        let own = four.map(IpAddr::V4).into_iter().chain(six.map(IpAddr::V6));
        self.own = own.map(|address| SocketAddr::new(address, n3.address.port())).collect();
        self
    }

    /// Whether a packet is for a tunnel endpoint of ours: a UE could inject into tunnels of others
    /// or fake Error Indications.
    pub(super) fn is_tunnel(&self, flow: &Flow) -> bool {
        let to = flow
            .ports
            .filter(|_| flow.protocol == UDP)
            .map(|(_, port)| SocketAddr::new(flow.destination, port));
        to.is_some_and(|to| self.own.contains(&to))
    }

    /// Whether a packet in an unknown tunnel is answered.
    pub(super) fn may_respond(&self, from: IpAddr, now: Instant) -> bool {
        self.suppress_errors_until.is_none_or(|until| until <= now)
            && self.perimeter.informs(from)
            && lock(&self.response_limiter).allows(from, now)
    }

    pub(super) fn by_teid(&self, teid: u32) -> Option<Arc<Entry>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).by_teid.get(&teid).cloned()
    }

    pub(super) fn by_ue(&self, address: IpAddr) -> Option<Arc<Entry>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let own = tables.by_ue.get(&UeAddress::of(address));
        if own.is_some() || tables.by_route.is_empty() {
            return own.cloned();
        }
        tables.behind(address).cloned()
    }

    pub(super) fn by_seid(&self, seid: u64) -> Option<Arc<Entry>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).sessions.get(&seid).cloned()
    }

    /// See [`Datapath::apply`](martlet_upf_datapath::Datapath::apply).
    pub fn apply(&self, change: &Change<'_>) -> Result<(), DatapathError> {
        let session = change.session;
        let now = Instant::now();
        let (limit, burst) = (self.limits.buffer_packets_per_session, self.limits.mbr_burst());
        let known = self.by_seid(session.seid);
        self.free_for(change, known.as_ref())?;
        let Some(entry) = known else {
            let mut state =
                State::new(session, limit, burst, self.require_qfi, &self.correlation, now);
            state.lan = self.lan_of(session)?;
            let lan = state.lan.clone();
            let ue_to_ue = self.ue_to_ue.of(session.network());
            let entry = Entry { seid: session.seid, ue_to_ue, state: Mutex::new(state) };
            let entry = Arc::new(entry);
            if let Some(lan) = lan {
                lan.join(entry.seid, &entry);
            }
            self.list(&entry, session.teids(), session.ue_addresses());
            self.route(&entry, &BTreeSet::new(), &session.routes());
            return Ok(());
        };
        let mut state = lock(&entry.state);
        let (old_teids, old_ue, old_routes) =
            (state.teids.clone(), state.ue.clone(), state.routes.clone());
        if change.drop_buffered {
            self.drop_buffer(&mut state);
        }
        // Packets are sent under the lock of the state, so the last ones on the old tunnels have
        // been sent.
        for tunnel in change.end_markers {
            if self.egress.to_peer(&end_marker(tunnel.teid, None), tunnel.peer).is_ok() {
                self.counters.end_markers_sent.add(1);
            }
        }
        state.take_rules(session, limit, burst, &self.correlation, now);
        self.report_reached(session.seid, &mut state);
        if change.renotify {
            state.notified = false;
        }
        let of_ue = self.release_buffer(&entry, &mut state, now);
        let (teids, ue) = (state.teids.clone(), state.ue.clone());
        drop(state);
        self.route(&entry, &old_routes, &session.routes());
        if teids != old_teids || ue != old_ue {
            let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
            let gone = old_teids.iter().filter(|teid| !teids.contains(teid));
            gone.for_each(|teid| drop(tables.by_teid.remove(teid)));
            let gone = old_ue.iter().filter(|address| !ue.contains(address));
            gone.for_each(|address| drop(tables.by_ue.remove(address)));
            drop(tables);
            self.list(&entry, teids, ue);
        }
        self.uplink_again(&entry, of_ue, now);
        self.release_early(session.seid, now);
        Ok(())
    }

    /// Tunnels and addresses belong to one session each.
    fn free_for(&self, change: &Change<'_>, own: Option<&Arc<Entry>>) -> Result<(), DatapathError> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() && tables.sessions.len() >= self.limits.sessions {
            return Err(ResourceError::Sessions { max: self.limits.sessions }.into());
        }
        let taken = |entry: Option<&Arc<Entry>>| {
            entry.is_some_and(|e| own.is_none_or(|own| !Arc::ptr_eq(e, own)))
        };
        for pdr in change.session.pdrs.values() {
            let failure = |why: PdrError| Err(DatapathError::Pdr { pdr: pdr.id, why });
            if let Some(local) = pdr.local.filter(|local| taken(tables.by_teid.get(&local.teid))) {
                return failure(PdrError::Teid(local.teid));
            }
            let routed = |route: &&Prefix| {
                taken(tables.by_route.get(&(Reverse(route.length), route.network)))
            };
            if let Some(route) = pdr.routes().iter().filter(|_| pdr.local.is_none()).find(routed) {
                return failure(PdrError::Route(*route));
            }
            if pdr.local.is_none()
                && let Some(address) =
                    pdr.ue.iter().find(|address| taken(tables.by_ue.get(address)))
            {
                return failure(PdrError::Address(*address));
            }
        }
        Ok(())
    }

    fn list(
        &self,
        entry: &Arc<Entry>,
        teids: impl IntoIterator<Item = u32>,
        ue: impl IntoIterator<Item = UeAddress>,
    ) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.sessions.insert(entry.seid, entry.clone());
        tables.by_teid.extend(teids.into_iter().map(|teid| (teid, entry.clone())));
        tables.by_ue.extend(ue.into_iter().map(|address| (address, entry.clone())));
    }

    /// Framed routes change: update the kernel's routes to N6.
    fn route(&self, entry: &Arc<Entry>, before: &BTreeSet<Prefix>, now: &BTreeSet<Prefix>) {
        if before == now {
            return;
        }
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for gone in before.difference(now) {
            tables.by_route.remove(&(Reverse(gone.length), gone.network));
        }
        for new in now.difference(before) {
            tables.by_route.insert((Reverse(new.length), new.network), entry.clone());
        }
        drop(tables);
        before.difference(now).for_each(|gone| self.egress.route(*gone, false));
        now.difference(before).for_each(|new| self.egress.route(*new, true));
    }

    /// See [`Datapath::remove`](martlet_upf_datapath::Datapath::remove).
    pub fn remove(&self, seid: u64) -> Vec<Usage> {
        let Some(entry) = self.by_seid(seid) else { return Vec::new() };
        let mut state = lock(&entry.state);
        state.removed = true;
        self.drop_buffer(&mut state);
        let usage = state.urrs.iter_mut().map(|urr| urr.take()).collect();
        let (teids, ue) = (std::mem::take(&mut state.teids), std::mem::take(&mut state.ue));
        let (routes, lan) = (std::mem::take(&mut state.routes), state.lan.take());
        drop(state);
        if let Some(lan) = lan {
            lan.leave(seid);
        }
        self.route(&entry, &routes, &BTreeSet::new());
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.sessions.remove(&seid);
        teids.iter().for_each(|teid| drop(tables.by_teid.remove(teid)));
        ue.iter().for_each(|address| drop(tables.by_ue.remove(address)));
        usage
    }

    /// See [`Datapath::take_usage`](martlet_upf_datapath::Datapath::take_usage).
    pub fn take_usage(&self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        let Some(entry) = self.by_seid(seid) else { return Vec::new() };
        let mut state = lock(&entry.state);
        state
            .urrs
            .iter_mut()
            .filter(|urr| urrs.contains(&urr.urr.id))
            .map(|urr| urr.take())
            .collect()
    }

    /// Reports new thresholds that the usage so far has already reached.
    fn report_reached(&self, seid: u64, state: &mut State) {
        for urr in state.urrs.iter_mut().filter(|urr| !urr.urr.inactive) {
            let report = |limit| {
                let event = Event::UsageReached { seid, urr: urr.urr.id, limit };
                self.events.try_send(event).is_ok()
            };
            let (quota, threshold) = (urr.quota_reached(), urr.threshold_reached());
            let quota = !urr.quota_reported && quota && report(Reached::Quota);
            let threshold = !urr.threshold_reported && threshold && report(Reached::Threshold);
            urr.quota_reported |= quota;
            urr.threshold_reported |= threshold;
        }
    }

    /// Continues a session that another datapath carried until now.
    pub fn take_over(&self, seid: u64, handed: HandedOver, drop_buffered: bool) {
        let Some(entry) = self.by_seid(seid) else { return };
        let mut state = lock(&entry.state);
        state.take_over(&handed);
        self.report_reached(seid, &mut state);
        if drop_buffered {
            let dropped = handed.waiting.len() as u64;
            return self.counters.drops(DropReason::BufferDropped).add(dropped);
        }
        // As in `release_buffer`.
        state.notified = true;
        let (mut of_ue, now) = (Vec::new(), Instant::now());
        for BufferedPacket { packet, tunnel } in handed.waiting {
            let bytes = [&[0; HEADROOM][..], &packet].concat();
            let waiting = Waiting { bytes, tunnel };
            of_ue.extend(self.downlink_again(&entry, &mut state, waiting, now));
        }
        state.notified = handed.notified && !state.buffer.is_empty();
        drop(state);
        self.uplink_again(&entry, of_ue, now);
    }

    /// See [`Datapath::last_packet`](martlet_upf_datapath::Datapath::last_packet).
    pub fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        let entry = self.by_seid(seid)?;
        let state = lock(&entry.state);
        state.urrs.iter().find(|state| state.urr.id == urr)?.last
    }

    /// See [`Datapath::forwarded`](martlet_upf_datapath::Datapath::forwarded).
    pub fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.by_seid(seid)
            .map_or([0; 2], |entry| lock(&entry.state).forwarded.map(|volume| volume.bytes))
    }

    pub fn last_activity(&self, seid: u64) -> Option<Instant> {
        lock(&self.by_seid(seid)?.state).last_activity
    }

    pub fn buffered_of(&self, seid: u64) -> Buffered {
        let Some(entry) = self.by_seid(seid) else { return Buffered::default() };
        let state = lock(&entry.state);
        Buffered { packets: state.buffer.len(), bytes: state.buffered_bytes }
    }

    /// Whether a session may buffer another packet. The caller has locked its state.
    pub(super) fn has_room(&self, state: &State) -> bool {
        let (now, packets) = (Instant::now(), state.buffer.len());
        if packets >= state.buffer_limit || packets >= self.share.limit(now) {
            return false;
        }
        let is_full = || self.buffered.load(Ordering::Relaxed) >= self.limits.buffer_packets;
        if is_full() && self.share.is_due(now) {
            self.share_out(packets, now);
        }
        !is_full()
    }

    /// Takes packets from sessions that have more than their share of the full buffer, if a session
    /// with so many packets has less. No lock is waited for, since the caller holds that of a
    /// session: sessions that other threads use now are left alone.
    fn share_out(&self, packets: usize, now: Instant) {
        let Ok(tables) = self.tables.try_read() else { return };
        let holds = |entry: &&Arc<Entry>| {
            entry.state.try_lock().is_ok_and(|state| !state.buffer.is_empty())
        };
        let others: Vec<_> = tables.sessions.values().filter(holds).collect();
        let (max, sessions) = (self.limits.buffer_packets, others.len() + 1);
        let Some(share) = self.share.set(max, sessions, packets, now) else { return };
        for other in others {
            let Ok(mut state) = other.state.try_lock() else { continue };
            let dropped = state.drop_surplus(share);
            if dropped > 0 {
                self.share.found_surplus();
            }
            self.buffered.fetch_sub(dropped, Ordering::Relaxed);
            self.counters.drops(DropReason::BufferFull).add(dropped as u64);
        }
    }

    fn drop_buffer(&self, state: &mut State) {
        let dropped = state.take_buffer().len();
        self.buffered.fetch_sub(dropped, Ordering::Relaxed);
        self.counters.drops(DropReason::BufferDropped).add(dropped as u64);
        state.notified = false;
    }

    /// Processes buffered packets again, in order. Those that must still be buffered remain.
    /// Returns those of the UE, for [`uplink_again`](Self::uplink_again).
    fn release_buffer(&self, entry: &Entry, state: &mut State, now: Instant) -> Vec<Waiting> {
        let waiting = state.take_buffer();
        if waiting.is_empty() {
            state.notified = false;
            return Vec::new();
        }
        self.buffered.fetch_sub(waiting.len(), Ordering::Relaxed);
        // Packets that are still buffered cause no further notification; a new packet does.
        let notified = std::mem::replace(&mut state.notified, true);
        let mut of_ue = Vec::new();
        for packet in waiting {
            of_ue.extend(self.downlink_again(entry, state, packet, now));
        }
        state.notified = notified;
        if state.buffer.is_empty() {
            state.notified = false;
        }
        of_ue
    }
}

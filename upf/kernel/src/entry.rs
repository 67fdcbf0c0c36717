//! A session as the forwarder uses it: its rules by precedence, and their counters.
use super::bucket::Bucket;
use super::correlation::{Correlation, Shared};
use super::detected_flows::DetectedFlows;
use super::frame::HEADROOM;
use super::handed_over::{HandedOver, UrrHandedOver};
use super::lan::Lan;
use super::lock::lock;
use super::packet_rate::Window;
use super::redirected_flows::RedirectedFlows;
use martlet_pfcp::ie::{Interface, ReportingTriggers};
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::Usage;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::fair_share::surplus;
use martlet_upf_datapath::perimeter::{Perimeter, Sender};
use martlet_upf_datapath::senders::Senders;
use martlet_upf_datapath::tally::{Tally, direction_index};
use martlet_upf_datapath::telemetry::{PdrTraffic, Traffic, Volume};
use martlet_upf_rules::{
    Action, Direction, Duplicate, Far, Flow, Pdr, Prefix, Redirect, Session, SessionKind, Tunnel,
    UeAddress, Urr, shared,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// A session in the tables.
pub(super) struct Entry {
    pub seid: u64,
    /// What happens to packets between this UE and others.
    pub ue_to_ue: UeToUe,
    /// Held for the time of one packet, or of one change.
    pub state: Mutex<State>,
}

pub(super) struct State {
    /// Set when the session is removed while other references exist.
    pub removed: bool,
    /// See [`Session::asks_for_dns`].
    pub asks_for_dns: bool,
    /// By precedence.
    pub rules: Vec<Rule>,
    pub qers: Vec<QerState>,
    pub urrs: Vec<UrrState>,
    pub ue: Box<[UeAddress]>,
    pub teids: Box<[u32]>,
    /// Networks behind the UE.
    pub routes: BTreeSet<Prefix>,
    /// Its gNBs.
    pub senders: Senders,
    /// See [`Session::tunnels_of_others`].
    pub of_others: Box<[u32]>,
    /// The type of its packets.
    pub kind: SessionKind,
    /// For an Ethernet session, its network.
    pub lan: Option<Arc<Lan<Entry>>>,
    /// See [`Session::relays`].
    pub relays: BTreeMap<u32, Tunnel>,
    pub buffer: VecDeque<Waiting>,
    pub buffered_bytes: usize,
    /// Limit of buffered packets.
    pub buffer_limit: usize,
    require_qfi: bool,
    pub notified: bool,
    pub last_activity: Option<Instant>,
    /// Flows that are redirected to a server.
    pub redirected: Option<Box<RedirectedFlows>>,
    /// Connections of applications with URLs; `None` if no PDR detects one.
    pub detected: Option<Box<DetectedFlows>>,
    /// Forwarded since the session began, from and to the UE.
    pub forwarded: [Volume; 2],
    /// Not forwarded, by reason.
    pub drops: [u32; DropReason::ALL.len()],
}

/// A buffered packet.
pub(super) struct Waiting {
    /// The packet, after headroom.
    pub bytes: Vec<u8>,
    /// The tunnel in which it arrived, and its QFI there; `None` if the data network sent it.
    pub tunnel: Option<(u32, Option<u8>)>,
}

/// A PDR with the rules that apply to its packets.
pub(super) struct Rule {
    pub pdr: Pdr,
    pub target: Target,
    /// Positions in [`State::qers`].
    pub qers: Box<[usize]>,
    /// Positions in [`State::urrs`].
    pub urrs: Box<[usize]>,
    /// QoS flow of downlink packets, and whether reflective QoS is indicated.
    pub mark: Option<(u8, bool)>,
    /// Network instance of the FAR.
    pub network_instance: Option<std::sync::Arc<[u8]>>,
    /// A QER guarantees a bit rate.
    pub guaranteed: bool,
    /// The QFI that stands for that of a packet without one: this is the default QoS flow.
    pub unmarked_qfi: Option<u8>,
    /// Type of service of the outer header.
    pub marking: Option<u8>,
    /// Paging policy indicator of downlink packets.
    pub paging_policy: Option<u8>,
    /// Where copies go.
    pub copies: Box<[Duplicate]>,
    /// Where traffic of the UE is redirected.
    pub redirect: Option<Arc<Redirect>>,
    /// Forwarded since the PDR was created.
    pub forwarded: Volume,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Drop,
    Buffer {
        notify: bool,
    },
    Network,
    /// Over UDP, without GTP-U.
    Datagrams(SocketAddrV6),
    Tunnel {
        tunnel: Tunnel,
        direction: Direction,
    },
}

pub(super) struct QerState {
    pub id: u32,
    open: [bool; 2],
    /// `None` where no bit rate is limited, as in most QERs of a QoS flow.
    buckets: Option<Box<[Option<Bucket>; 2]>>,
    /// Buckets that QERs with the same correlation identifier share, in place of its own.
    shared: Option<Shared>,
    /// `None` where no packet rate is limited.
    packets: Option<Box<[Option<Window>; 2]>>,
}

pub(super) struct UrrState {
    /// Equal for most sessions, and then shared with them.
    pub urr: Arc<Urr>,
    since: Tally,
    quota_used: [u64; 2],
    pub threshold_reported: bool,
    pub quota_reported: bool,
    /// The start of traffic was reported.
    pub start_reported: bool,
    /// When it last counted a packet.
    pub last: Option<Instant>,
}

impl State {
    pub fn new(
        session: &Session,
        buffer_limit: usize,
        burst: Duration,
        require_qfi: bool,
        correlation: &Correlation,
        now: Instant,
    ) -> Self {
        let mut state = State {
            removed: false,
            asks_for_dns: false,
            rules: Vec::new(),
            qers: Vec::new(),
            urrs: Vec::new(),
            ue: Box::default(),
            teids: Box::default(),
            routes: BTreeSet::new(),
            senders: Senders::default(),
            of_others: Box::default(),
            kind: session.kind,
            lan: None,
            relays: BTreeMap::new(),
            buffer: VecDeque::new(),
            buffered_bytes: 0,
            buffer_limit,
            require_qfi,
            notified: false,
            last_activity: None,
            redirected: None,
            detected: None,
            forwarded: [Volume::default(); 2],
            drops: [0; DropReason::ALL.len()],
        };
        state.take_rules(session, buffer_limit, burst, correlation, now);
        state
    }

    /// The traffic counters.
    pub fn traffic(&self) -> Traffic {
        let drops = DropReason::ALL.into_iter().zip(self.drops).filter(|(_, packets)| *packets > 0);
        let [uplink, downlink] = self.forwarded;
        Traffic {
            uplink,
            downlink,
            drops: drops.map(|(reason, packets)| (reason, packets.into())).collect(),
        }
    }

    /// What each PDR has forwarded.
    pub fn pdr_traffic(&self, engine: &'static str) -> Vec<PdrTraffic> {
        let of = |rule: &Rule| PdrTraffic { pdr: rule.pdr.id, engine, forwarded: rule.forwarded };
        let mut all: Vec<PdrTraffic> = self.rules.iter().map(of).collect();
        all.sort_unstable_by_key(|traffic| traffic.pdr);
        all
    }

    /// Adds what another datapath has counted for the session.
    pub fn take_over(&mut self, handed: &HandedOver) {
        for of_urr in &handed.urrs {
            if let Some(urr) = self.urrs.iter_mut().find(|urr| urr.urr.id == of_urr.urr) {
                urr.take_over(of_urr);
            }
        }
        self.forwarded = handed.forwarded;
        for (id, forwarded) in &handed.of_pdrs {
            if let Some(rule) = self.rules.iter_mut().find(|rule| rule.pdr.id == *id) {
                rule.forwarded = *forwarded;
            }
        }
        for (reason, packets) in &handed.drops {
            if let Some(count) = self.drops.get_mut(*reason as usize) {
                *count = u32::try_from(*packets).unwrap_or(u32::MAX);
            }
        }
        self.last_activity = handed.last_activity;
    }

    /// Counts a packet that is not forwarded.
    pub fn dropped(&mut self, reason: DropReason) {
        if let Some(packets) = self.drops.get_mut(reason as usize) {
            *packets = packets.saturating_add(1);
        }
    }

    /// Sets new rules; unchanged rules keep their counters.
    pub fn take_rules(
        &mut self,
        session: &Session,
        buffer_limit: usize,
        burst: Duration,
        correlation: &Correlation,
        now: Instant,
    ) {
        // Vectors of exact size, to save memory: most sessions have few rules.
        let mut old_qers = std::mem::take(&mut self.qers);
        self.qers.reserve_exact(session.qers.len());
        for qer in session.qers.values() {
            let old = old_qers.iter_mut().find(|old| old.id == qer.id);
            let (buckets, packets) =
                old.map_or_else(Default::default, |old| (old.buckets.take(), old.packets.take()));
            let mut buckets = buckets.map_or_else(Default::default, |buckets| *buckets);
            let mut packets = packets.map_or_else(Default::default, |packets| *packets);
            let renew = |buckets: &mut [Option<Bucket>; 2]| {
                for direction in [Direction::Uplink, Direction::Downlink] {
                    let bucket = &mut buckets[direction_index(direction)];
                    let rate = qer.mbr.map(|mbr| mbr.of(direction));
                    if bucket.as_ref().map(Bucket::rate) != rate {
                        *bucket = rate.map(|rate| Bucket::new(rate, burst, now));
                    }
                }
            };
            let shared = qer.correlation.filter(|_| qer.mbr.is_some());
            let shared = shared.map(|id| correlation.shared(id));
            match &shared {
                Some(shared) => renew(&mut lock(shared)),
                None => renew(&mut buckets),
            }
            for (window, rate) in packets.iter_mut().zip(qer.packet_rates) {
                if window.as_ref().map(Window::rate) != rate {
                    *window = rate.map(|rate| Window::new(rate, now));
                }
            }
            let open = [qer.passes(Direction::Uplink), qer.passes(Direction::Downlink)];
            self.qers.push(QerState {
                id: qer.id,
                open,
                buckets: if_any(buckets),
                shared,
                packets: if_any(packets),
            });
        }
        let mut old_urrs = std::mem::take(&mut self.urrs);
        self.urrs.reserve_exact(session.urrs.len());
        for urr in session.urrs.shared_values() {
            let old = old_urrs
                .iter()
                .position(|old| old.urr.id == urr.id)
                .map(|at| old_urrs.swap_remove(at));
            self.urrs.push(UrrState::renewed(old, urr));
        }
        let default_flows =
            if self.require_qfi { BTreeSet::new() } else { session.default_flows() };
        let rule = |pdr: &Pdr| self.rule(session, pdr, default_flows.contains(&pdr.id));
        let mut rules = Vec::with_capacity(session.pdrs.len());
        rules.extend(session.pdrs.values().filter_map(rule));
        self.rules = rules;
        self.rules.sort_by_key(|rule| (rule.pdr.precedence, rule.pdr.id));
        self.ue = session.ue_addresses().into_iter().collect();
        self.teids = session.teids().into_iter().collect();
        self.senders.update(session, now);
        self.of_others = session.tunnels_of_others().into_iter().collect();
        self.relays = session.relays();
        self.asks_for_dns = session.asks_for_dns();
        self.detected = DetectedFlows::renewed(self.detected.take(), session);
        self.routes = session.routes();
        let suggested = session.bars.values().filter_map(|bar| bar.suggested_packets).max();
        let suggested = suggested.map(usize::from).filter(|packets| *packets > 0);
        self.buffer_limit = suggested.map_or(buffer_limit, |packets| packets.min(buffer_limit));
    }

    fn rule(&self, session: &Session, pdr: &Pdr, default_flow: bool) -> Option<Rule> {
        let qers = pdr
            .qers
            .iter()
            .filter_map(|id| self.qers.iter().position(|qer| qer.id == *id))
            .collect();
        let urrs = pdr
            .urrs
            .iter()
            .filter_map(|id| {
                self.urrs.iter().position(|urr| urr.urr.id == *id && !urr.urr.inactive)
            })
            .collect();
        let flow_rules = pdr.qers.iter().filter_map(|id| session.qers.get(id));
        let mark = flow_rules.filter_map(|qer| qer.qfi.map(|qfi| (qfi, qer.reflective))).next();
        let guaranteed =
            pdr.qers.iter().any(|id| session.qers.get(id).is_some_and(|qer| qer.gbr.is_some()));
        let far = session.fars.get(&pdr.far)?;
        let network_instance = far.network_instance.clone();
        Some(Rule {
            pdr: pdr.clone(),
            target: target(far),
            qers,
            urrs,
            mark,
            network_instance,
            guaranteed,
            unmarked_qfi: pdr.qfis.first().copied().filter(|_| default_flow),
            marking: far.marking,
            paging_policy: pdr
                .qers
                .iter()
                .find_map(|id| session.qers.get(id).and_then(|qer| qer.paging_policy)),
            copies: far.copies.iter().filter(|_| far.duplicates).cloned().collect(),
            redirect: far.redirect.clone().filter(|_| far.action == Action::Forward),
            forwarded: self
                .rules
                .iter()
                .find(|old| old.pdr.id == pdr.id)
                .map_or_else(Volume::default, |old| old.forwarded),
        })
    }

    /// The PDR for a packet from a tunnel.
    pub fn rule_for_tunnel(&self, teid: u32, flow: &Flow, qfi: Option<u8>) -> Option<usize> {
        let tunnelled = |rule: &Rule| rule.pdr.local.is_some_and(|local| local.teid == teid);
        let matches = |rule: &Rule| self.matches(rule, flow, qfi.or(rule.unmarked_qfi));
        self.rules.iter().position(|rule| tunnelled(rule) && matches(rule))
    }

    /// The relation of a sender to the session, in one of its tunnels.
    pub fn sender(&self, perimeter: &Perimeter, from: IpAddr, teid: u32, now: Instant) -> Sender {
        perimeter.sender(from, &self.senders, !self.of_others.contains(&teid), now)
    }

    /// Whether packets of a rule leave to the data network.
    pub fn leaves(&self, rule: usize) -> bool {
        self.rules.get(rule).is_some_and(|rule| {
            rule.target == Target::Network && rule.pdr.direction() == Direction::Uplink
        })
    }

    /// Whether the source address is not the UE's. With IPv6, link-local addresses are the UE's on
    /// its link (RFC 4862, 5.3), and no packet with one leaves it (RFC 4291, 2.5.6).
    pub fn is_foreign(&self, flow: &Flow) -> bool {
        let Flow { source, destination, .. } = *flow;
        let on_link = matches!(
            destination,
            IpAddr::V6(to) if to.is_unicast_link_local() || to.is_multicast()
        );
        let link_local = matches!(source, IpAddr::V6(source) if source.is_unicast_link_local())
            && on_link
            && self.ue.iter().any(|address| matches!(address, UeAddress::V6(_)));
        let behind = self.routes.iter().any(|route| route.contains(source));
        !self.ue.is_empty() && !self.ue.contains(&UeAddress::of(source)) && !link_local && !behind
    }

    /// Notes the URL that a packet of the UE requests, if it is the UE's.
    pub fn note_request(&mut self, packet: &[u8], flow: &Flow) {
        let foreign = flow.ethernet.is_none() && self.is_foreign(flow);
        if let Some(detected) = self.detected.as_mut().filter(|_| !foreign) {
            detected.note(packet, flow);
        }
    }

    /// The header fields that filters match.
    pub fn flow(&self, packet: &[u8], direction: Direction) -> Option<Flow> {
        match self.kind {
            SessionKind::Ip => Flow::of(packet),
            SessionKind::Ethernet => Flow::of_frame(packet),
            SessionKind::Unstructured => {
                let (own, other) =
                    (IpAddr::V6(self.own_address()?), IpAddr::V6(Ipv6Addr::UNSPECIFIED));
                Some(match direction {
                    Direction::Uplink => Flow::between(own, other, packet.len()),
                    Direction::Downlink => Flow::between(other, own, packet.len()),
                })
            }
        }
    }

    /// The address that stands for an unstructured session on N6.
    pub fn own_address(&self) -> Option<Ipv6Addr> {
        self.prefix().map(|prefix| Ipv6Addr::from_bits(u128::from(prefix) << 64 | 1))
    }

    /// The server of an unstructured session.
    pub fn server(&self) -> Option<SocketAddrV6> {
        self.rules
            .iter()
            .find_map(|rule| if let Target::Datagrams(to) = rule.target { Some(to) } else { None })
    }

    /// The upper half of the UE's IPv6 addresses, where it has them.
    pub fn prefix(&self) -> Option<u64> {
        self.ue.iter().find_map(|address| {
            if let UeAddress::V6(prefix) = address { Some(*prefix) } else { None }
        })
    }

    /// The default downlink PDR.
    pub fn downlink_default(&self) -> Option<usize> {
        self.rules.iter().rposition(|rule| rule.pdr.local.is_none())
    }

    /// The PDR for a packet from the data network.
    pub fn rule_for_network(&self, flow: &Flow) -> Option<usize> {
        let matches = |rule: &Rule| rule.pdr.local.is_none() && self.matches(rule, flow, None);
        self.rules.iter().position(matches)
    }

    /// Whether a packet matches a rule, also by the URL that its connection has requested.
    fn matches(&self, rule: &Rule, flow: &Flow, qfi: Option<u8>) -> bool {
        let requested = |detected: &DetectedFlows| detected.has(&rule.pdr, flow);
        rule.pdr.matches(flow, qfi)
            || (self.detected.as_deref().is_some_and(requested) && rule.pdr.admits(flow, qfi))
    }

    /// Removes the oldest buffered packets, as many as exceed the share by
    /// [`surplus`](martlet_upf_datapath::fair_share::surplus). Returns how many.
    pub fn drop_surplus(&mut self, share: usize) -> usize {
        let surplus = surplus(self.buffer.len(), share);
        let bytes = self.buffer.drain(..surplus).map(|packet| packet.bytes.len() - HEADROOM).sum();
        self.buffered_bytes = self.buffered_bytes.saturating_sub(bytes);
        for _ in 0..surplus {
            self.dropped(DropReason::BufferFull);
        }
        surplus
    }

    /// Removes all buffered packets.
    pub fn take_buffer(&mut self) -> VecDeque<Waiting> {
        self.buffered_bytes = 0;
        std::mem::take(&mut self.buffer)
    }
}

fn target(far: &Far) -> Target {
    if let (Action::Forward, Some(to)) = (far.action, far.datagrams) {
        return Target::Datagrams(to);
    }
    match (far.action, far.tunnel) {
        (Action::Drop, _) => Target::Drop,
        (Action::Buffer { notify }, _) => Target::Buffer { notify },
        (Action::Forward, None) => Target::Network,
        (Action::Forward, Some(tunnel)) => {
            let to_access = far.destination == Some(Interface::Access);
            let direction = if to_access { Direction::Downlink } else { Direction::Uplink };
            Target::Tunnel { tunnel, direction }
        }
    }
}

impl QerState {
    pub fn is_open(&self, direction: Direction) -> bool {
        self.open[direction_index(direction)]
    }

    pub fn has_tokens(&mut self, direction: Direction, bytes: usize, now: Instant) -> bool {
        let at = direction_index(direction);
        let window = self.packets.as_mut().and_then(|packets| packets[at].as_mut());
        let packets = window.is_none_or(|window| window.has(now));
        let has = |bucket: &mut Option<Bucket>| {
            bucket.as_mut().is_none_or(|bucket| bucket.has(bytes, now))
        };
        packets
            && match &self.shared {
                Some(shared) => has(&mut lock(shared)[at]),
                None => self.buckets.as_mut().is_none_or(|buckets| has(&mut buckets[at])),
            }
    }

    pub fn take_tokens(&mut self, direction: Direction, bytes: usize) {
        let at = direction_index(direction);
        if let Some(window) = self.packets.as_mut().and_then(|packets| packets[at].as_mut()) {
            window.take();
        }
        let take = |bucket: &mut Option<Bucket>| {
            if let Some(bucket) = bucket {
                bucket.take(bytes);
            }
        };
        match &self.shared {
            Some(shared) => take(&mut lock(shared)[at]),
            None => {
                if let Some(buckets) = &mut self.buckets {
                    take(&mut buckets[at]);
                }
            }
        }
    }
}

/// A boxed pair, or nothing if both are absent, to save memory per session.
fn if_any<T>(pair: [Option<T>; 2]) -> Option<Box<[Option<T>; 2]>> {
    pair.iter().any(Option::is_some).then(|| Box::new(pair))
}

impl UrrState {
    fn renewed(old: Option<UrrState>, urr: &Arc<Urr>) -> Self {
        let urr = shared(urr.clone());
        let Some(mut state) = old else {
            return UrrState {
                urr,
                since: Tally::default(),
                quota_used: [0; 2],
                threshold_reported: false,
                quota_reported: false,
                start_reported: false,
                last: None,
            };
        };
        if urr.awaits_traffic && !state.urr.awaits_traffic {
            state.start_reported = false;
        }
        // A renewed quota starts at 0; `quota_given` distinguishes it from an unchanged one.
        if state.urr.quota_given != urr.quota_given {
            state.quota_used = [0; 2];
            state.quota_reported = false;
        }
        state.urr = urr;
        state
    }

    /// Whether the rule lets packets pass.
    pub fn passes(&self) -> bool {
        !self.urr.exhausted && !self.quota_reached()
    }

    /// Adds what another datapath has counted for it.
    fn take_over(&mut self, handed: &UrrHandedOver) {
        if let Some(usage) = &handed.usage {
            self.since.add_usage(usage);
        }
        self.last = handed.last;
        self.threshold_reported = handed.threshold_reported && self.threshold_reached();
        if handed.quota_given == self.urr.quota_given {
            self.quota_used = handed.quota;
            // The other datapath has reported it.
            self.quota_reported = self.quota_reached();
        }
    }

    pub fn count(&mut self, direction: Direction, bytes: usize, now: Instant, wall: SystemTime) {
        self.last = Some(now);
        let at = direction_index(direction);
        let bytes = bytes as u64;
        self.since.add(direction, bytes, 1, wall, wall);
        self.quota_used[at] = self.quota_used[at].saturating_add(bytes);
    }

    pub fn quota_reached(&self) -> bool {
        let [uplink, downlink] = self.quota_used;
        self.urr.volume_quota.is_some_and(|quota| quota.reached(uplink, downlink))
    }

    pub fn threshold_reached(&self) -> bool {
        let [uplink, downlink] = self.since.bytes();
        uplink + downlink > 0
            && self.urr.triggers.has(ReportingTriggers::VOLTH)
            && self
                .urr
                .volume_threshold
                .is_some_and(|threshold| threshold.reached(uplink, downlink))
    }

    /// The usage since the last call.
    pub fn take(&mut self) -> Usage {
        self.threshold_reported = false;
        self.since.take(self.urr.id)
    }
}

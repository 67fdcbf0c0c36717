//! The native UPF and the switch, and what is known of each session on either.
use super::account::Accounts;
use super::controller::{Ask, Controller, Told};
use super::neighbours;
use super::plan::Plan;
use super::policy::Policy;
use super::tables::{ACCESS, CORE, Counted, OURS, Placed, Tables};
use crate::config::{OffloadPolicy, SwitchConfig, network};
use crate::counters::Counters;
use crate::datapath::{Change, Datapath, DatapathError, Event, EventSender, Reached, Usage};
use crate::kernel::exits::exit_of;
use crate::kernel::netns;
use crate::rules::{Direction, Session};
use crate::telemetry::{Traffic, Volume};
use martlet_switch_control::model::{Key, Operation, TableEntry, Update};
use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Counters asked for in one question.
const AT_A_TIME: usize = 2048;
/// Seconds in which a session on the switch must not use up its quota.
const QUOTA_SECONDS: u64 = 10;

/// Where a session's packets go.
pub(super) enum Place {
    Native,
    /// They wait at the switch, until the native UPF has none left.
    Moving(Placed),
    Switch(Placed),
}

pub(super) struct Known {
    pub session: Session,
    pub plan: Result<Plan, String>,
    /// The policy lets the switch carry it.
    pub wanted: bool,
    pub place: Place,
    pub accounts: Accounts,
    /// The native UPF has other limits than the session's.
    adjusted: bool,
    /// What the native UPF had forwarded when it was last looked at.
    pub seen: [u64; 2],
    /// Octets on the switch since the last look.
    pub carried: u64,
    /// What the switch has forwarded of it, from and to the UE.
    pub volumes: [Volume; 2],
    last: Option<Instant>,
}

/// Counters of rules that are gone, or that a switch had which did not answer.
struct Orphan {
    seid: u64,
    placed: Placed,
}

/// What has happened, for people.
#[derive(Debug, Default, Clone)]
pub(super) struct Happened {
    pub moved_on: u64,
    pub moved_off: u64,
    pub failed: u64,
    pub connections: u64,
    /// Octets that the switch has forwarded.
    pub octets: u64,
    pub why: String,
}

pub(super) struct State {
    pub native: Box<dyn Datapath>,
    controller: Controller,
    pub connected: bool,
    pub tables: Tables,
    pub policy: Policy,
    pub config: SwitchConfig,
    pub known: HashMap<u64, Known>,
    orphans: Vec<Orphan>,
    events: EventSender,
    counters: Arc<Counters>,
    pub happened: Happened,
    /// When counters were last read: what they have more is of between.
    looked: SystemTime,
    netns: [Option<String>; 2],
    /// UEs' addresses, where packets between UEs are the native UPF's.
    ues: Option<(u32, u32)>,
    longest: u16,
    /// Network instances with an exit of their own, which only the native UPF knows.
    exits: Vec<Vec<u8>>,
    /// Nothing moves onto the switch any more.
    ended: bool,
}

pub(super) struct Surroundings {
    pub netns: [Option<String>; 2],
    pub ues: Option<(u32, u32)>,
    pub longest: u16,
    pub exits: Vec<Vec<u8>>,
}

fn direction_of(counters: &Counters, direction: Direction) -> (&crate::counters::Count, &crate::counters::Count) {
    match direction {
        Direction::Uplink => (&counters.uplink_packets, &counters.uplink_octets),
        Direction::Downlink => (&counters.downlink_packets, &counters.downlink_octets),
    }
}

impl State {
    pub fn new(
        native: Box<dyn Datapath>,
        controller: Controller,
        tables: Tables,
        config: SwitchConfig,
        surroundings: Surroundings,
    ) -> State {
        let (events, counters) = (native.events(), native.counters());
        let Surroundings { netns, ues, longest, exits } = surroundings;
        State {
            native,
            controller,
            connected: false,
            tables,
            policy: Policy::new(&config),
            config,
            known: HashMap::new(),
            orphans: Vec::new(),
            events,
            counters,
            happened: Happened::default(),
            looked: SystemTime::now(),
            netns,
            ues,
            longest,
            exits,
            ended: false,
        }
    }

    /// The UPF ends: a switch that outlives it has none of its rules.
    pub fn end(&mut self) {
        self.ended = true;
        let seids: Vec<u64> = self.known.keys().copied().collect();
        self.take_off(&seids);
    }

    /// Asks the switch; one that does not answer is lost until it is connected again.
    fn ask(&mut self, ask: Ask) -> Told {
        if !self.connected {
            return Told::Lost("there is no switch".into());
        }
        let told = self.controller.ask(ask);
        if let Told::Lost(why) = &told {
            self.connected = false;
            self.happened.why = why.clone();
            tracing::warn!(why, "the switch is lost: its sessions take the native path");
        }
        told
    }

    /// Connects, and has the switch be what it is to be. False where there is none.
    pub fn connect(&mut self) -> bool {
        match self.controller.ask(Ask::Connect) {
            Told::Done => {}
            Told::Lost(why) | Told::Refused(why) => {
                self.happened.why = why;
                return false;
            }
            _ => return false,
        }
        self.connected = true;
        let ports = self.tables.ports(self.ues, self.longest);
        if !matches!(self.ask(Ask::Write(ports)), Told::Done) || !self.reconcile() {
            self.connected = false;
            return false;
        }
        self.happened.connections += 1;
        tracing::info!(sessions = self.on_switch(), "the switch is there");
        true
    }

    pub fn on_switch(&self) -> usize {
        self.known.values().filter(|known| matches!(known.place, Place::Switch(_))).count()
    }

    /// Makes our entries in the switch what they are to be, whatever is there.
    fn reconcile(&mut self) -> bool {
        let Told::Entries(there) = self.ask(Ask::Entries) else { return false };
        let mut wanted: HashMap<(usize, Key), TableEntry> = HashMap::new();
        let placed = self.known.values().filter_map(|known| match &known.place {
            Place::Switch(placed) => Some(&placed.entries),
            Place::Moving(placed) => Some(&placed.holds),
            Place::Native => None,
        });
        for entry in placed.flatten().cloned().chain(self.tables.hop_entries()) {
            wanted.insert((entry.table, entry.key.clone()), entry);
        }
        let mut updates = Vec::new();
        for entry in there {
            match wanted.remove(&(entry.table, entry.key.clone())) {
                Some(own) if own.call == entry.call => {}
                Some(own) => updates.push(Update { operation: Operation::Modify, entry: own }),
                None if entry.metadata == OURS => updates.push(Update { operation: Operation::Delete, entry }),
                None => {}
            }
        }
        updates.extend(wanted.into_values().map(|entry| Update { operation: Operation::Insert, entry }));
        for chunk in updates.chunks(4096) {
            if let told @ (Told::Lost(_) | Told::Refused(_)) = self.ask(Ask::Write(chunk.to_vec())) {
                tracing::error!(?told, "the switch does not take back what it had");
                return false;
            }
        }
        let meters: Vec<_> = self
            .known
            .values()
            .filter_map(|known| match &known.place {
                Place::Switch(placed) | Place::Moving(placed) => Some(placed.meters.clone()),
                Place::Native => None,
            })
            .flatten()
            .collect();
        if !meters.is_empty() && !matches!(self.ask(Ask::Meters(meters)), Told::Done) {
            return false;
        }
        for mut orphan in std::mem::take(&mut self.orphans) {
            if !self.count(orphan.seid, &mut orphan.placed.counted) {
                self.orphans.push(orphan);
                return false;
            }
            self.tables.free(&orphan.placed);
        }
        true
    }

    /// Adds what counters of a session have more to its accounts. False where the switch does not tell.
    fn count(&mut self, seid: u64, counted: &mut [Counted]) -> bool {
        let indexes = counted.iter().map(|of| of.index).collect();
        let Told::Counts(counts) = self.ask(Ask::Counts(indexes)) else { return false };
        self.credit(seid, counted, &counts);
        true
    }

    fn credit(&mut self, seid: u64, counted: &mut [Counted], counts: &[(u64, u64)]) {
        let now = SystemTime::now();
        let mut known = self.known.get_mut(&seid);
        for (of, (packets, octets)) in counted.iter_mut().zip(counts) {
            let news = (packets.saturating_sub(of.packets), octets.saturating_sub(of.octets));
            if news == (0, 0) {
                continue;
            }
            (of.packets, of.octets) = (*packets, *octets);
            let (all_packets, all_octets) = direction_of(&self.counters, of.direction);
            all_packets.add(news.0);
            all_octets.add(news.1);
            self.counters.received_packets.add(news.0);
            self.happened.octets += news.1;
            let Some(known) = &mut known else { continue };
            known.carried += news.1;
            let volume = &mut known.volumes[usize::from(of.direction == Direction::Downlink)];
            (volume.packets, volume.octets) = (volume.packets + news.0, volume.octets + news.1);
            known.last = Some(Instant::now());
            for urr in of.urrs.iter().filter_map(|urr| known.session.urrs.get(urr)) {
                known.accounts.of(urr).count(of.direction, news, self.looked, now);
            }
        }
    }

    /// Reads the counters of sessions on the switch.
    pub fn settle(&mut self, seids: &[u64]) -> bool {
        let mut taken: Vec<(u64, Vec<Counted>)> = Vec::new();
        for seid in seids {
            if let Some(Known { place: Place::Switch(placed), .. }) = self.known.get_mut(seid) {
                taken.push((*seid, std::mem::take(&mut placed.counted)));
            }
        }
        let indexes: Vec<u32> = taken.iter().flat_map(|(_, counted)| counted.iter().map(|of| of.index)).collect();
        let mut counts = Vec::with_capacity(indexes.len());
        let mut whole = true;
        for chunk in indexes.chunks(AT_A_TIME) {
            match self.ask(Ask::Counts(chunk.to_vec())) {
                Told::Counts(told) => counts.extend(told),
                _ => {
                    whole = false;
                    break;
                }
            }
        }
        let mut counts = &counts[..];
        for (seid, mut counted) in taken {
            let own = counts.split_off(..counted.len().min(counts.len())).unwrap_or_default();
            self.credit(seid, &mut counted, own);
            if let Some(Known { place: Place::Switch(placed), .. }) = self.known.get_mut(&seid) {
                placed.counted = counted;
            }
        }
        whole
    }

    /// All sessions on the switch.
    pub fn settle_all(&mut self) -> bool {
        let on_switch = |(seid, known): (&u64, &Known)| matches!(known.place, Place::Switch(_)).then_some(*seid);
        let seids: Vec<u64> = self.known.iter().filter_map(on_switch).collect();
        let whole = self.settle(&seids);
        self.looked = SystemTime::now();
        whole
    }

    /// Sessions take the native path from here on, and all that the switch has counted of them is known.
    pub fn take_off(&mut self, seids: &[u64]) {
        let mut gone = Vec::new();
        for seid in seids {
            let Some(known) = self.known.get_mut(seid) else { continue };
            let (placed, moving) = match std::mem::replace(&mut known.place, Place::Native) {
                Place::Native => continue,
                Place::Moving(placed) => (placed, true),
                Place::Switch(placed) => (placed, false),
            };
            gone.push((*seid, placed, moving));
        }
        if gone.is_empty() {
            return;
        }
        let entries = gone.iter().flat_map(|(_, placed, moving)| if *moving { &placed.holds } else { &placed.entries });
        let updates = entries.map(|entry| Update { operation: Operation::Delete, entry: entry.clone() }).collect();
        if let Told::Refused(why) = self.ask(Ask::Write(updates)) {
            // Somebody else has had a hand in it.
            tracing::warn!(why, "the switch's rules are not what they were: they are made anew");
            self.reconcile();
        }
        for (seid, mut placed, moving) in gone {
            self.happened.moved_off += u64::from(!moving);
            if moving || self.count(seid, &mut placed.counted) {
                self.tables.free(&placed);
            } else {
                self.orphans.push(Orphan { seid, placed });
            }
            self.adjust(seid);
        }
        self.show();
    }

    fn show(&self) {
        super::SESSIONS.set(self.on_switch() as i64);
    }

    /// Has the native UPF count against what is left of each limit.
    fn adjust(&mut self, seid: u64) {
        let Some(known) = self.known.get_mut(&seid) else { return };
        let adjusted = known.accounts.adjusted(&known.session);
        if adjusted.is_none() && !known.adjusted {
            return;
        }
        known.adjusted = adjusted.is_some();
        let session = adjusted.as_ref().unwrap_or(&known.session);
        if let Err(error) = self.native.apply(&Change::to(session)) {
            tracing::warn!(seid, %error, "the native UPF does not take the rules that it has");
        }
    }

    /// See [`Datapath::apply`]. True where the switch may carry it now, and does not.
    pub fn apply(&mut self, change: &Change<'_>) -> Result<bool, DatapathError> {
        let session = change.session;
        let plan = Plan::of(session);
        let wanted = plan.as_ref().is_ok_and(|plan| self.wants(session, plan));
        let stays = |known: &Known| {
            let same = known.plan.as_ref().ok() == plan.as_ref().ok() && wanted;
            same && matches!(known.place, Place::Switch(_)) && change.end_markers.is_empty() && !change.drop_buffered
        };
        let seid = session.seid;
        let (there, stays) = self.known.get(&seid).map_or((false, false), |known| (true, stays(known)));
        if there {
            if !stays {
                self.take_off(&[seid]);
                self.policy.released(seid);
            }
            self.renew_quotas(session);
        }
        let adjusted = match self.known.get(&seid) {
            Some(known) => {
                let mut accounts = known.accounts.clone();
                accounts.follow(session);
                let adjusted = accounts.adjusted(session);
                Some((accounts, adjusted))
            }
            None => None,
        };
        let for_native = adjusted.as_ref().and_then(|(_, adjusted)| adjusted.as_ref());
        self.native.apply(&Change { session: for_native.unwrap_or(session), ..*change })?;
        match (self.known.get_mut(&seid), adjusted) {
            (Some(known), Some((accounts, adjusted))) => {
                (known.session, known.plan, known.wanted) = (session.clone(), plan, wanted);
                (known.accounts, known.adjusted) = (accounts, adjusted.is_some());
            }
            _ => {
                let known = Known {
                    session: session.clone(),
                    plan,
                    wanted,
                    place: Place::Native,
                    accounts: Accounts::default(),
                    adjusted: false,
                    seen: [0; 2],
                    carried: 0,
                    volumes: [Volume::default(); 2],
                    last: None,
                };
                self.known.insert(seid, known);
            }
        }
        Ok(wanted && !stays)
    }

    /// A quota that is given anew counts from here on: what was counted before is of the one before.
    fn renew_quotas(&mut self, session: &Session) {
        let Some(known) = self.known.get(&session.seid) else { return };
        let renewed = session
            .urrs
            .values()
            .any(|urr| known.session.urrs.get(&urr.id).is_some_and(|before| before.quota_given != urr.quota_given));
        if renewed && !known.accounts.is_empty() {
            self.settle(&[session.seid]);
            self.carry(session.seid);
        }
    }

    /// Takes over what the native UPF has counted.
    pub fn carry(&mut self, seid: u64) {
        let Some(known) = self.known.get_mut(&seid) else { return };
        let urrs: Vec<u32> = known.session.urrs.keys().copied().collect();
        if urrs.is_empty() {
            return;
        }
        for usage in self.native.take_usage(seid, &urrs) {
            if let Some(urr) = known.session.urrs.get(&usage.urr) {
                known.accounts.of(urr).carry(&usage);
            }
        }
        self.adjust(seid);
    }

    /// See [`Datapath::remove`].
    pub fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.take_off(&[seid]);
        let mut usage = self.native.remove(seid);
        self.policy.forget(seid);
        if let Some(mut known) = self.known.remove(&seid) {
            known.accounts.add_to(&mut usage, |_| true);
        }
        usage
    }

    /// See [`Datapath::take_usage`].
    pub fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.settle(&[seid]);
        let mut usage = self.native.take_usage(seid, urrs);
        if let Some(known) = self.known.get_mut(&seid) {
            known.accounts.add_to(&mut usage, |urr| urrs.contains(&urr));
        }
        self.adjust(seid);
        usage
    }

    /// See [`Datapath::last_activity`].
    pub fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.native.last_activity(seid).max(self.known.get(&seid)?.last)
    }

    /// See [`Datapath::traffic`]. What the switch has counted since the last look is not in it.
    pub fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        let mut all = self.native.traffic(seids);
        for (traffic, known) in all.iter_mut().zip(seids).filter_map(|(t, seid)| Some((t, self.known.get(seid)?))) {
            for (sum, more) in [&mut traffic.uplink, &mut traffic.downlink].into_iter().zip(known.volumes) {
                (sum.octets, sum.packets) = (sum.octets + more.octets, sum.packets + more.packets);
            }
        }
        all
    }

    /// Whether the policy lets the switch carry a session.
    fn wants(&self, session: &Session, plan: &Plan) -> bool {
        if session.fars.values().any(|far| exit_of(&self.exits, far.network_instance.as_deref()) > 0) {
            return false;
        }
        match self.config.policy {
            OffloadPolicy::None => false,
            OffloadPolicy::All | OffloadPolicy::Hot => true,
            OffloadPolicy::Dnn => {
                let mut names = session.pdrs.values().filter_map(|pdr| pdr.network_instance.as_deref());
                names.any(|name| self.config.dnns.iter().any(|dnn| is_named(name, dnn)))
            }
            OffloadPolicy::Rule => {
                let within = |text: &Option<String>, addresses: &BTreeSet<Ipv4Addr>| {
                    let Some((network, mask)) = text.as_deref().and_then(network) else { return text.is_none() };
                    addresses.iter().any(|address| address.to_bits() & mask == network)
                };
                let (peers, qfis) = (plan.peers(), plan.qfis());
                self.config.rules.iter().any(|rule| {
                    within(&rule.ue, &BTreeSet::from([plan.ue]))
                        && within(&rule.gnb, &peers)
                        && rule.qfi.is_none_or(|qfi| qfis.contains(&qfi))
                })
            }
        }
    }

    /// Whether a quota of a session is so nearly used up that the native UPF has to watch over it.
    pub fn is_near_quota(&mut self, seid: u64) -> bool {
        let margin = (self.config.quota_margin_kb * 1000).max(self.policy.rate(seid).saturating_mul(QUOTA_SECONDS));
        let Some(known) = self.known.get_mut(&seid) else { return false };
        let Known { session, accounts, .. } = known;
        session.urrs.values().filter(|urr| urr.volume_quota.is_some()).any(|urr| {
            let left = match accounts.get_mut(urr.id) {
                Some(account) => account.quota_left(urr),
                // Nothing is known yet of what it has used: to be looked at once it has been carried over.
                None => urr.volume_quota.and_then(|quota| quota.total.or(quota.uplink).or(quota.downlink)),
            };
            left.is_some_and(|left| left < margin)
        })
    }

    /// Tells of thresholds that sessions on the switch have reached.
    pub fn tell_thresholds(&mut self) {
        for (seid, known) in &mut self.known {
            if !matches!(known.place, Place::Switch(_)) {
                continue;
            }
            for urr in known.session.urrs.values().filter(|urr| urr.volume_threshold.is_some()) {
                let Some(account) = known.accounts.get_mut(urr.id) else { continue };
                if account.reaches_threshold(urr) {
                    let event = Event::UsageReached { seid: *seid, urr: urr.id, limit: Reached::Threshold };
                    if self.events.try_send(event).is_err() {
                        account.tell_again();
                    }
                }
            }
        }
    }

    /// The next hop to a gNB or, without one, to the data network; with its entry where it is new.
    fn next_hop(&mut self, peer: Option<Ipv4Addr>) -> Result<(u32, Option<TableEntry>), String> {
        let netns = self.netns[usize::from(peer.is_none())].clone();
        let configured = self.config.core_next_hop;
        let (to, hop) = netns::within(netns.as_deref(), || {
            let to = match peer.or(configured) {
                Some(to) => to,
                None => neighbours::default_router()?,
            };
            Ok((to, neighbours::hop(to)?))
        })?;
        self.tables.hop(if peer.is_some() { ACCESS } else { CORE }, to, hop)
    }

    /// Neighbours may have other link addresses than before.
    pub fn renew_hops(&mut self) {
        for (port, to) in self.tables.hop_targets() {
            let netns = self.netns[usize::from(port == CORE)].clone();
            let Ok(hop) = netns::within(netns.as_deref(), || neighbours::hop(to)) else { continue };
            if let Some(entry) = self.tables.renew_hop(port, to, hop) {
                self.ask(Ask::Write(vec![Update { operation: Operation::Modify, entry }]));
            }
        }
    }

    /// Makes the entries of sessions that are to move. Gives, with what it needs of next hops, each that can.
    pub fn prepare(&mut self, seids: &[u64]) -> Vec<u64> {
        let seids = if self.ended { &[] } else { seids };
        let (mut ready, mut hops, mut meters, mut hop_entries) =
            (Vec::new(), HashMap::<Option<Ipv4Addr>, u32>::new(), Vec::new(), Vec::new());
        for &seid in seids {
            let Some(known) = self.known.get(&seid) else { continue };
            let Ok(plan) = known.plan.clone() else { continue };
            if !matches!(known.place, Place::Native) || !known.wanted {
                continue;
            }
            let peers = plan.peers().into_iter().map(Some).chain(plan.uplink.as_ref().map(|_| None));
            let mut found = Ok(());
            for peer in peers {
                if hops.contains_key(&peer) {
                    continue;
                }
                match self.next_hop(peer) {
                    Ok((number, entry)) => {
                        hops.insert(peer, number);
                        hop_entries.extend(entry);
                    }
                    Err(why) => found = Err(why),
                }
            }
            match found.and_then(|()| self.tables.place(&plan, &hops)) {
                Ok(placed) => {
                    meters.extend(placed.meters.iter().copied());
                    if let Some(known) = self.known.get_mut(&seid) {
                        known.place = Place::Moving(placed);
                    }
                    ready.push(seid);
                }
                Err(why) => self.fail(seid, why),
            }
        }
        let hop_updates =
            hop_entries.into_iter().map(|entry| Update { operation: Operation::Insert, entry }).collect::<Vec<_>>();
        let mut done = hop_updates.is_empty() || matches!(self.ask(Ask::Write(hop_updates)), Told::Done);
        if done && !meters.is_empty() {
            done &= matches!(self.ask(Ask::Meters(meters)), Told::Done);
        }
        if !done {
            self.abandon(&ready, "the switch does not take what the sessions need");
            self.reconcile();
            return Vec::new();
        }
        ready
    }

    fn fail(&mut self, seid: u64, why: String) {
        tracing::debug!(seid, why, "the session stays on the native path");
        self.happened.failed += 1;
        self.happened.why = why;
        self.policy.failed(seid, Instant::now());
    }

    /// Sessions that were to move and have no entry in the switch yet.
    fn abandon(&mut self, seids: &[u64], why: &str) {
        for &seid in seids {
            if let Some(known) = self.known.get_mut(&seid)
                && let Place::Moving(placed) = std::mem::replace(&mut known.place, Place::Native)
            {
                self.tables.free(&placed);
            }
            self.fail(seid, why.into());
        }
    }

    /// Has the packets of sessions wait at the switch. Gives those that do.
    pub fn hold(&mut self, seids: Vec<u64>) -> Vec<u64> {
        let holds = seids.iter().filter_map(|seid| match &self.known.get(seid)?.place {
            Place::Moving(placed) => Some(&placed.holds),
            _ => None,
        });
        let updates: Vec<Update> =
            holds.flatten().map(|entry| Update { operation: Operation::Insert, entry: entry.clone() }).collect();
        match self.ask(Ask::Write(updates)) {
            Told::Done => seids,
            Told::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "one by one");
                seids.into_iter().flat_map(|seid| self.hold(vec![seid])).collect()
            }
            told => {
                self.abandon(&seids, &format!("{told:?}"));
                Vec::new()
            }
        }
    }

    /// Puts sessions onto the switch whose packets wait there, or that have had none.
    pub fn put_on(&mut self, seids: &[u64], held: bool) {
        for &seid in seids {
            self.carry(seid);
        }
        let (near, seids): (Vec<u64>, Vec<u64>) = seids.iter().partition(|seid| self.is_near_quota(**seid));
        if held {
            self.take_off(&near);
        } else {
            self.abandon(&near, "its quota is nearly used up");
        }
        // Counters go on from wherever they are.
        let indexes: Vec<u32> = seids
            .iter()
            .filter_map(|seid| match &self.known.get(seid)?.place {
                Place::Moving(placed) => Some(&placed.counted),
                _ => None,
            })
            .flatten()
            .map(|counted| counted.index)
            .collect();
        let Told::Counts(counts) = self.ask(Ask::Counts(indexes)) else {
            return if held { self.take_off(&seids) } else { self.abandon(&seids, "the switch does not answer") };
        };
        let (mut counts, mut updates) = (counts.into_iter(), Vec::new());
        for seid in &seids {
            let Some(Known { place: Place::Moving(placed), .. }) = self.known.get_mut(seid) else { continue };
            for counted in &mut placed.counted {
                (counted.packets, counted.octets) = counts.next().unwrap_or_default();
            }
            for entry in &placed.entries {
                let was_held =
                    held && placed.holds.iter().any(|hold| (hold.table, &hold.key) == (entry.table, &entry.key));
                let operation = if was_held { Operation::Modify } else { Operation::Insert };
                updates.push(Update { operation, entry: entry.clone() });
            }
        }
        match self.ask(Ask::Write(updates)) {
            Told::Done => {
                for seid in &seids {
                    let Some(known) = self.known.get_mut(seid) else { continue };
                    known.place = match std::mem::replace(&mut known.place, Place::Native) {
                        Place::Moving(placed) => Place::Switch(placed),
                        other => other,
                    };
                    self.happened.moved_on += 1;
                }
                self.show();
            }
            Told::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "one by one");
                seids.iter().for_each(|seid| self.put_on(&[*seid], held));
            }
            told => {
                if held {
                    self.take_off(&seids);
                    seids.iter().for_each(|seid| self.fail(*seid, format!("{told:?}")));
                } else {
                    self.abandon(&seids, &format!("{told:?}"));
                }
            }
        }
    }
}

/// A name as it is written, or in labels with their lengths (TS 23.003, 9.1).
fn is_named(octets: &[u8], name: &str) -> bool {
    let labels: Vec<u8> =
        name.split('.').flat_map(|label| std::iter::once(label.len() as u8).chain(label.bytes())).collect();
    octets.eq_ignore_ascii_case(name.as_bytes()) || octets.eq_ignore_ascii_case(&labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_networks_are_known_in_either_form() {
        assert!(is_named(b"internet", "internet") && is_named(b"\x08internet", "Internet"));
        assert!(is_named(b"\x03ims\x03mnc", "ims.mnc"));
        assert!(!is_named(b"internet2", "internet"));
    }
}

//! The native UPF, the switch, and the state of each session.
mod moves;
mod reconcile;
mod usage;

use super::NAME;
use super::account::Accounts;
use super::controller::{Controller, Reply, Request};
use super::plan::{Plan, Unsupported};
use super::policy::Policy;
use super::poll_backoff::PollBackoff;
use super::tables::{Installed, Tables, Ues};
use martlet_upf_config::{OffloadPolicy, SwitchConfig, network};
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::perimeter::{Perimeter, Sources};
use martlet_upf_datapath::telemetry::{PdrTraffic, Traffic, Volume};
use martlet_upf_datapath::{Change, Datapath, DatapathError, EventSender, Usage};
use martlet_upf_kernel::network_instances::network_instance_of;
use martlet_upf_rules::Session;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// The path of a session's packets.
pub(super) enum Path {
    Native,
    /// The switch holds them until the native UPF has forwarded those in flight.
    Moving(Installed),
    Switch(Installed),
}

pub(super) struct Known {
    pub session: Session,
    pub plan: Result<Plan, Unsupported>,
    /// Whether the policy allows offloading it.
    pub wanted: bool,
    /// Time of the last change by N4.
    pub changed: Instant,
    pub path: Path,
    pub accounts: Accounts,
    /// The native UPF has limits other than the session's.
    adjusted: bool,
    /// Bytes that the native UPF had forwarded at the last sample.
    pub sampled: [u64; 2],
    /// Bytes on the switch since the last sample.
    pub switch_bytes: u64,
    /// Volume that the switch has forwarded, uplink and downlink.
    pub volumes: [Volume; 2],
    /// The same of each PDR that has some.
    of_pdrs: BTreeMap<u16, Volume>,
    last: Option<Instant>,
}

/// Counters of removed rules, or of a switch that did not reply.
struct Orphan {
    seid: u64,
    installed: Installed,
}

/// Statistics for operators.
#[derive(Debug, Default, Clone)]
pub(super) struct Statistics {
    pub moved_on: u64,
    pub moved_off: u64,
    pub failed: u64,
    pub connections: u64,
    /// Bytes that the switch has forwarded.
    pub bytes: u64,
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
    pub statistics: Statistics,
    /// Time of the last counter poll; new counts are from after it.
    polled_at: SystemTime,
    pub poll_backoff: PollBackoff,
    /// Samples that the last poll covered.
    pub samples_covered: u32,
    netns: [Option<String>; 2],
    /// The UEs' networks: packets between UEs go to the native UPF.
    ues: Ues,
    longest: u16,
    /// Network instances with their own interface on N6, which only the native UPF supports.
    network_instances: Vec<Vec<u8>>,
    /// What UEs may not reach, and who sends on N3; as the native UPF has it, and its generation in
    /// the tables.
    perimeter: Option<Arc<Perimeter>>,
    isolated: Option<u64>,
    /// The switch was lost, and the native UPF does not know yet what is left of the limits.
    limits_due: bool,
    /// No session moves to the switch any more.
    ended: bool,
}

pub(super) struct Environment {
    pub netns: [Option<String>; 2],
    pub ues: Ues,
    pub longest: u16,
    pub network_instances: Vec<Vec<u8>>,
}

impl State {
    pub fn new(
        native: Box<dyn Datapath>,
        controller: Controller,
        tables: Tables,
        config: SwitchConfig,
        environment: Environment,
    ) -> State {
        let (events, counters) = (native.events(), native.counters());
        let perimeter = native.perimeter();
        let Environment { netns, ues, longest, network_instances } = environment;
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
            statistics: Statistics::default(),
            polled_at: SystemTime::now(),
            poll_backoff: PollBackoff::new(Instant::now()),
            samples_covered: 1,
            netns,
            ues,
            longest,
            network_instances,
            perimeter,
            isolated: None,
            limits_due: false,
            ended: false,
        }
    }

    /// Removes all rules from the switch, which may outlive the UPF.
    pub fn end(&mut self) {
        self.ended = true;
        let seids: Vec<u64> = self.known.keys().copied().collect();
        self.withdraw(&seids);
    }

    /// Sends a request. A switch that does not reply is lost until it reconnects.
    fn request(&mut self, request: Request) -> Reply {
        if !self.connected {
            return Reply::Lost("there is no switch".into());
        }
        let reply = self.controller.request(request);
        if let Reply::Lost(why) = &reply {
            (self.connected, self.limits_due) = (false, true);
            self.statistics.why = why.clone();
            tracing::warn!(why, "switch lost: its sessions use the native path");
        }
        reply
    }

    pub fn on_switch(&self) -> usize {
        self.known.values().filter(|known| matches!(known.path, Path::Switch(_))).count()
    }

    fn seids_on_switch(&self) -> Vec<u64> {
        let on_switch = |known: &Known| matches!(known.path, Path::Switch(_));
        let known = self.known.iter().filter(|(_, known)| on_switch(known));
        known.map(|(seid, _)| *seid).collect()
    }

    fn show(&self) {
        super::SESSIONS.set(self.on_switch() as i64);
    }

    /// See [`Datapath::apply`].
    pub fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        let session = change.session;
        let sources = self.perimeter.as_ref().map_or(Sources::Any, |p| p.source_check());
        let plan = Plan::of(session).and_then(|plan| plan.checked(sources));
        let wanted = plan.as_ref().is_ok_and(|plan| self.wants(session, plan));
        let unchanged = |known: &Known| {
            let same = known.plan.as_ref().ok() == plan.as_ref().ok() && wanted;
            same && matches!(known.path, Path::Switch(_))
                && change.end_markers.is_empty()
                && !change.drop_buffered
        };
        let seid = session.seid;
        let (exists, unchanged) =
            self.known.get(&seid).map_or((false, false), |known| (true, unchanged(known)));
        if exists {
            if !unchanged {
                self.withdraw(&[seid]);
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
                known.of_pdrs.retain(|pdr, _| session.pdrs.contains_key(pdr));
                known.changed = Instant::now();
                (known.accounts, known.adjusted) = (accounts, adjusted.is_some());
            }
            _ => {
                let known = Known {
                    session: session.clone(),
                    plan,
                    wanted,
                    changed: Instant::now(),
                    path: Path::Native,
                    accounts: Accounts::default(),
                    adjusted: false,
                    sampled: [0; 2],
                    switch_bytes: 0,
                    volumes: [Volume::default(); 2],
                    of_pdrs: BTreeMap::new(),
                    last: None,
                };
                self.known.insert(seid, known);
            }
        }
        Ok(())
    }

    /// See [`Datapath::remove`].
    pub fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.withdraw(&[seid]);
        let mut usage = self.native.remove(seid);
        self.policy.forget(seid);
        if let Some(mut known) = self.known.remove(&seid) {
            known.accounts.add_to(&mut usage, |_| true);
        }
        usage
    }

    /// See [`Datapath::last_activity`].
    pub fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.native.last_activity(seid).max(self.known.get(&seid)?.last)
    }

    /// See [`Datapath::traffic`]. Excludes what the switch has counted since the last sample.
    pub fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        let mut all = self.native.traffic(seids);
        for (traffic, known) in
            all.iter_mut().zip(seids).filter_map(|(t, seid)| Some((t, self.known.get(seid)?)))
        {
            for (sum, more) in
                [&mut traffic.uplink, &mut traffic.downlink].into_iter().zip(known.volumes)
            {
                (sum.bytes, sum.packets) = (sum.bytes + more.bytes, sum.packets + more.packets);
            }
        }
        all
    }

    /// See [`Datapath::forwarded_by`]. Excludes what the switch has counted since the last sample.
    pub fn forwarded_by(&self, seids: &[u64]) -> Vec<[u64; 2]> {
        let mut all = self.native.forwarded_by(seids);
        for (bytes, seid) in all.iter_mut().zip(seids) {
            let Some(known) = self.known.get(seid) else { continue };
            for (sum, more) in bytes.iter_mut().zip(known.volumes) {
                *sum += more.bytes;
            }
        }
        all
    }

    /// See [`Datapath::pdr_traffic`]. Excludes what the switch has counted since the last sample.
    pub fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        let mut all = self.native.pdr_traffic(seid);
        let Some(known) = self.known.get(&seid) else { return all };
        for of_pdr in &mut all {
            let on_switch = known.of_pdrs.get(&of_pdr.pdr).copied().unwrap_or_default();
            of_pdr.forwarded.bytes += on_switch.bytes;
            of_pdr.forwarded.packets += on_switch.packets;
            if let Path::Switch(installed) = &known.path
                && installed.counted.iter().any(|counted| counted.pdr == of_pdr.pdr)
            {
                of_pdr.engine = NAME;
            }
        }
        all
    }

    /// Whether the policy allows offloading a session.
    fn wants(&self, session: &Session, plan: &Plan) -> bool {
        if session.fars.values().any(|far| {
            network_instance_of(&self.network_instances, far.network_instance.as_deref()) > 0
        }) {
            return false;
        }
        match self.config.policy {
            OffloadPolicy::None => false,
            OffloadPolicy::All | OffloadPolicy::Hot => true,
            OffloadPolicy::Dnn => {
                let mut names =
                    session.pdrs.values().filter_map(|pdr| pdr.network_instance.as_deref());
                names.any(|name| self.config.dnns.iter().any(|dnn| is_named(name, dnn)))
            }
            OffloadPolicy::Rule => {
                let within = |text: &Option<String>, addresses: &BTreeSet<IpAddr>| {
                    let Some(network) = text.as_deref().and_then(network) else {
                        return text.is_none();
                    };
                    addresses.iter().any(|address| network.has(*address))
                };
                let (peers, qfis) = (plan.peers(), plan.qfis());
                self.config.rules.iter().any(|rule| {
                    within(&rule.ue, &plan.ue.addresses())
                        && within(&rule.gnb, &peers)
                        && rule.qfi.is_none_or(|qfi| qfis.contains(&qfi))
                })
            }
        }
    }
}

/// Whether a network instance has this name, as text or in labels with lengths (TS 23.003, 9.1).
fn is_named(bytes: &[u8], name: &str) -> bool {
    let labels: Vec<u8> = name
        .split('.')
        .flat_map(|label| std::iter::once(label.len() as u8).chain(label.bytes()))
        .collect();
    bytes.eq_ignore_ascii_case(name.as_bytes()) || bytes.eq_ignore_ascii_case(&labels)
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

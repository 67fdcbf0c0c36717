//! AMF load re-balancing (TS 23.501, 5.19.4): registered UEs move to other AMFs of the set, until
//! each has its share by relative capacity. The AMFs of a set share one database
//! (`amf.context_store.database`), in which each stores its load and the UEs that it offers.
//!
//! A run begins by command (`martlet rebalance`) or, if configured, above a threshold. It
//! determines how many UEs go to which AMF. From then on, an AMF that is drained or does not answer
//! gets none, and no AMF gets more than its share of that time.
mod share;

use crate::persisted::{REBALANCING, owner_of, owner_prefix};
use crate::ue::Event;
use crate::{Amf, metrics};
use martlet_context_store::StoreError;
use martlet_nas::Guti;
use martlet_nas::identifiers::AmfId;
use martlet_nf::{Others, callbacks};
use martlet_sbi::Problem;
use martlet_sbi_api::common;
use martlet_sbi_api::nnrf_nfmanagement::NfProfile;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use share::Load;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Shortest time between two reads.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(50);
/// Longest run. UEs that stay idle do not move.
const MAX_RUN: Duration = Duration::from_secs(600);
/// Time after a run in which no automatic one begins: members report their new loads.
const PAUSE: Duration = Duration::from_secs(10);
/// Time between two looks at the AMFs to which a run moves UEs.
const REVIEW_INTERVAL: Duration = Duration::from_secs(1);
/// UEs that an AMF offers at the same time. UEs of one gNB have at most as many places as are free,
/// so that gNBs whose UEs never answer leave some to others.
const MAX_OFFERS: usize = 256;

/// What an AMF stores for the others. Field names are part of the stored format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Member {
    registered: usize,
    capacity: u8,
    room: usize,
    /// Identities of its gNBs. A UE only moves to an AMF that has its gNB.
    gnbs: HashSet<String>,
    /// In the order of the contexts' numbers.
    pub offers: Vec<Offer>,
}

/// A UE that has a 5G-GUTI of another AMF, which takes the UE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// Number of the context, its identity in the store.
    pub context: u64,
    /// The 5G-GUTI in the form of a UE context ID.
    guti: String,
    /// The UE is idle: the other AMF need not wait for its next message.
    pub is_idle: bool,
    /// The gNB at which it was offered.
    #[serde(skip)]
    gnb: String,
}

impl Offer {
    /// The 5G-GUTI, assigned in the name of the other AMF.
    pub fn guti(&self) -> Option<Guti> {
        self.guti.parse().ok()
    }
}

/// UEs that still go to an AMF.
struct Target {
    id: AmfId,
    left: usize,
    gnbs: HashSet<String>,
}

/// A run of re-balancing.
struct Run {
    /// Connected UEs are released; else UEs move when they become inactive.
    is_by_command: bool,
    targets: Vec<Target>,
    started: Instant,
    /// When the other AMFs were last looked at.
    reviewed: Instant,
    moved: usize,
    /// UEs that may begin to move now, by `amf.rebalancing.max_per_s`, and when this was counted.
    allowed: f64,
    counted: Instant,
    /// Connections whose UEs were asked to move.
    requested: HashSet<u64>,
}

#[derive(Default)]
struct State {
    run: Option<Run>,
    ended: Option<Instant>,
    /// By the number of the context.
    offers: HashMap<u64, Offer>,
    /// Numbers of the contexts whose UEs are being taken from other AMFs.
    taking: HashSet<u64>,
    /// The load and the offers that this AMF has stored.
    stored: Member,
}

impl State {
    /// Ends the run, if there is one.
    fn end(&mut self) {
        let Some(run) = self.run.take() else { return };
        let left: usize = run.targets.iter().map(|target| target.left).sum();
        let (moved, ms) = (run.moved, run.started.elapsed().as_millis() as u64);
        tracing::info!(moved, left, ms, "AMF load re-balancing ended");
        self.ended = Some(Instant::now());
    }
}

/// The other members, and when they were read.
type Read = (Instant, Arc<Vec<(AmfId, Member)>>);

/// The state of re-balancing.
#[derive(Default)]
pub(crate) struct Rebalancing {
    state: Mutex<State>,
    /// The last read of the other members.
    read: tokio::sync::Mutex<Option<Read>>,
    /// A run has begun.
    pub begun: Notify,
}

impl Rebalancing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Ends the run, if there is one.
    pub fn end(&self) {
        self.state().end();
    }

    /// Whether a run moves UEs that become inactive.
    pub fn is_running(&self) -> bool {
        self.state().run.is_some()
    }

    /// The AMF to which a UE at this gNB moves; `None` if the UE stays.
    pub fn take_target(&self, gnb: &str) -> Option<AmfId> {
        let mut state = self.state();
        let of_gnb = state.offers.values().filter(|offer| offer.gnb == gnb).count();
        if state.offers.len() + of_gnb >= MAX_OFFERS {
            return None;
        }
        let run = state.run.as_mut().filter(|run| run.allowed >= 1.0)?;
        let target = run.targets.iter_mut().find(|it| it.left > 0 && it.gnbs.contains(gnb))?;
        (target.left, run.allowed) = (target.left - 1, run.allowed - 1.0);
        Some(target.id)
    }

    /// A UE stays for which a target was taken.
    pub fn return_target(&self, id: &AmfId) {
        let mut state = self.state();
        let targets = state.run.iter_mut().flat_map(|run| &mut run.targets);
        targets.filter(|target| target.id == *id).for_each(|target| target.left += 1);
    }

    /// Offers a UE at this gNB. The caller stores the offers.
    pub fn offer(&self, context: u64, guti: &Guti, gnb: &str) {
        let offer = Offer { context, guti: guti.to_string(), is_idle: false, gnb: gnb.into() };
        self.state().offers.insert(context, offer);
    }

    /// Whether the other AMF takes an offered UE without a message of the UE.
    pub fn set_idle(&self, context: u64, is_idle: bool) {
        if let Some(offer) = self.state().offers.get_mut(&context) {
            offer.is_idle = is_idle;
        }
    }

    /// Withdraws an offer. Returns whether there was one.
    pub fn withdraw(&self, context: u64) -> bool {
        self.state().offers.remove(&context).is_some()
    }

    /// Whether a UE is offered.
    pub fn is_offered(&self, context: u64) -> bool {
        self.state().offers.contains_key(&context)
    }

    /// The context that is offered with this 5G-GUTI.
    pub fn offered(&self, ue_context_id: &str) -> Option<u64> {
        let state = self.state();
        state.offers.values().find(|it| it.guti == ue_context_id).map(|it| it.context)
    }

    /// A task begins or ends to take a UE from another AMF.
    pub fn set_taking(&self, context: u64, is_taking: bool) {
        let taking = &mut self.state().taking;
        match is_taking {
            true => taking.insert(context),
            false => taking.remove(&context),
        };
    }

    /// Whether a task takes its UE from another AMF.
    pub fn is_taking(&self, context: u64) -> bool {
        self.state().taking.contains(&context)
    }

    /// The other AMF has taken an offered UE.
    pub fn moved(&self, context: u64) {
        let mut state = self.state();
        if state.offers.remove(&context).is_some() {
            metrics::rebalanced("out");
            state.run.iter_mut().for_each(|run| run.moved += 1);
        }
    }
}

impl Amf {
    /// The relative capacity for gNBs and for the other AMFs of the set.
    pub(crate) fn relative_capacity(&self) -> u8 {
        match *self.context.draining().borrow() {
            true => 0,
            false => self.config.relative_capacity,
        }
    }

    /// Stores the load and the offers, if they have changed.
    pub(crate) fn store_load(&self) {
        let registered = self.tables.registered();
        let gnbs = self.gnbs.all();
        let gnbs = gnbs.iter().filter_map(|gnb| Some(gnb.setup()?.id.clone())).collect();
        let member = Member {
            registered,
            // Gets no UEs while it cannot take them.
            capacity: match self.contexts.overdue() {
                Some(_) => 0,
                None => self.relative_capacity(),
            },
            room: self.config.limits.max_ues.saturating_sub(self.tables.len()),
            gnbs,
            offers: Vec::new(),
        };
        self.store_member(|stored| *stored = member);
    }

    /// Stores the offers.
    pub(crate) fn store_offers(&self) {
        self.store_member(|_| ());
    }

    fn store_member(&self, change: impl FnOnce(&mut Member)) {
        let mut state = self.rebalancing.state();
        let mut member = state.stored.clone();
        change(&mut member);
        member.offers = state.offers.values().cloned().collect();
        member.offers.sort_unstable_by_key(|offer| offer.context);
        if member == state.stored {
            return;
        }
        match serde_json::to_vec(&member) {
            Ok(value) => self.contexts.put(REBALANCING, value),
            Err(error) => tracing::error!(%error, "load of the AMF not encodable"),
        }
        state.stored = member;
    }

    /// Reads the loads and offers of the other AMFs of the set. Blocks.
    fn read_members(&self) -> Result<Vec<(AmfId, Member)>, StoreError> {
        let own = self.served.set_id();
        let prefix = owner_prefix(&own);
        let set = self.peers.set(&self.config.context_store)?;
        let members = set.members(&prefix, REBALANCING)?;
        let other = |(owner, value): (String, Option<Vec<u8>>)| {
            let pointer = u8::from_str_radix(owner.strip_prefix(&prefix)?, 16).ok()?;
            let id = AmfId::new(own.region(), own.set(), pointer).ok()?;
            Some((id, martlet_erased::from_json(&value?).ok()?)).filter(|(id, _)| *id != own)
        };
        Ok(members.into_iter().filter_map(other).collect())
    }

    /// The other AMFs of the set, read after this call. Callers share reads, so that messages with
    /// unknown identities do not load the database.
    pub(crate) async fn other_members(self: &Arc<Self>) -> Option<Arc<Vec<(AmfId, Member)>>> {
        let called = Instant::now();
        let mut last = self.rebalancing.read.lock().await;
        if let Some((at, members)) = last.as_ref() {
            if *at >= called {
                return Some(members.clone());
            }
            tokio::time::sleep(MIN_READ_INTERVAL.saturating_sub(at.elapsed())).await;
        }
        let (amf, at) = (self.clone(), Instant::now());
        let read = tokio::task::spawn_blocking(move || amf.read_members()).await.ok()?;
        let failed = |error: &StoreError| {
            tracing::warn!(%error, "loads of the AMF set cannot be read");
        };
        let members = Arc::new(read.inspect_err(failed).ok()?);
        *last = Some((at, members.clone()));
        Some(members)
    }

    /// The stored context of an offered UE. Blocks.
    pub(crate) fn read_offered(
        &self,
        owner: &AmfId,
        offer: &Offer,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let set = self.peers.set(&self.config.context_store)?;
        set.peer(&owner_of(owner)).context(&offer.context.to_string())
    }
}

/// Begins a run by command, in place of one that runs. Answers how many UEs are to move, to how
/// many AMFs, how many gNBs have no association with any of these, and which AMFs of the set do not
/// answer.
pub(crate) async fn command(amf: &Arc<Amf>) -> Result<Value, Problem> {
    let mut begun = Begun::default();
    // Without another member no UE moves.
    if amf.contexts.has_other_members() {
        let others = amf.other_members().await;
        let failed = || Problem::system_failure("the database does not answer");
        begun = begin(amf, &others.ok_or_else(failed)?, true).await;
    }
    if begun.planned == 0 {
        amf.rebalancing.end();
    }
    let Begun { planned, amfs, gnbs_without, silent } = begun;
    Ok(json!({
        "registered": amf.tables.registered(), "toMove": planned, "amfs": amfs,
        "gnbsWithout": gnbs_without, "noAnswer": silent,
    }))
}

/// What a run begins with.
#[derive(Default)]
struct Begun {
    /// UEs to move.
    planned: usize,
    /// AMFs that can take UEs.
    amfs: usize,
    /// gNBs without an association with any of these.
    gnbs_without: usize,
    /// Identity and address of the AMFs that do not answer.
    silent: Vec<String>,
}

/// The other members that can take UEs: not drained, and ready. Also the identity and address of
/// those that are registered at the NRF and do not answer.
async fn serving<'a>(
    amf: &Arc<Amf>,
    others: &'a [(AmfId, Member)],
) -> (Vec<(AmfId, &'a Member)>, Vec<String>) {
    // A killed or hung AMF is in the database, too.
    let Others { ready, silent } = martlet_nf::others_by_readiness(&amf.context).await;
    let is_of = |profile: &NfProfile, id: &AmfId| {
        let id = common::AmfId::from_parts(id.region(), id.set(), id.pointer());
        let info = profile.amf_info.as_ref();
        info.is_some_and(|info| info.guami_list.iter().any(|guami| guami.amf_id == id))
    };
    let is_ready = |id: &AmfId| ready.iter().any(|profile| is_of(profile, id));
    let can_take = |(id, member): &&(AmfId, Member)| member.capacity > 0 && is_ready(id);
    let serving = others.iter().filter(can_take).map(|(id, member)| (*id, member)).collect();
    let name = |(id, _): &(AmfId, Member)| {
        let profile = silent.iter().find(|profile| is_of(profile, id))?;
        let at = callbacks::authorities(profile).into_iter().next().unwrap_or_default();
        let id = common::AmfId::from_parts(id.region(), id.set(), id.pointer());
        Some(format!("{id} at {at}"))
    };
    (serving, others.iter().filter_map(name).collect())
}

fn loads(amf: &Amf, serving: &[(AmfId, &Member)]) -> (Load, Vec<Load>) {
    let load = |(_, member): &(AmfId, &Member)| Load {
        registered: member.registered,
        capacity: member.capacity,
        room: member.room.saturating_sub(member.offers.len()),
    };
    let registered = amf.tables.registered();
    let own = Load { registered, capacity: amf.relative_capacity(), room: 0 };
    (own, serving.iter().map(load).collect())
}

/// Begins a run, unless no UE is to move.
async fn begin(amf: &Arc<Amf>, others: &[(AmfId, Member)], is_by_command: bool) -> Begun {
    let (serving, silent) = serving(amf, others).await;
    let (own, loads) = loads(amf, &serving);
    let config = &amf.config.rebalancing;
    if !is_by_command
        && (share::excess(&own, &loads) < config.min_excess
            || !share::is_above(&own, &loads, config.above_percent))
    {
        return Begun::default();
    }
    let moves = share::moves(&own, &loads);
    let planned: usize = moves.iter().sum();
    let gnbs = amf.gnbs.all();
    let own_gnbs = gnbs.iter().filter_map(|gnb| gnb.setup());
    let is_without = |id: &String| !serving.iter().any(|(_, member)| member.gnbs.contains(id));
    let gnbs_without = own_gnbs.filter(|setup| is_without(&setup.id)).count();
    let begun = Begun { planned, amfs: serving.len(), gnbs_without, silent };
    if planned == 0 {
        return begun;
    }
    let target = |((id, member), left): ((AmfId, &Member), usize)| Target {
        id,
        left,
        gnbs: member.gnbs.clone(),
    };
    let targets = serving.into_iter().zip(moves).map(target).collect();
    let mut state = amf.rebalancing.state();
    state.end();
    state.run = Some(Run {
        is_by_command,
        targets,
        started: Instant::now(),
        reviewed: Instant::now(),
        moved: 0,
        allowed: 0.0,
        counted: Instant::now(),
        requested: HashSet::new(),
    });
    drop(state);
    amf.rebalancing.begun.notify_one();
    let registered = own.registered;
    tracing::info!(registered, planned, is_by_command, "AMF load re-balancing begins");
    begun
}

/// Adapts a run to what the other AMFs are now: none gets more UEs than its share, and one that is
/// drained or does not answer gets none.
pub(crate) async fn review(amf: &Arc<Amf>, others: &[(AmfId, Member)]) {
    let is_due = {
        let mut state = amf.rebalancing.state();
        let due = |run: &&mut Run| run.reviewed.elapsed() >= REVIEW_INTERVAL;
        state.run.as_mut().filter(due).map(|run| run.reviewed = Instant::now()).is_some()
    };
    if !is_due {
        return;
    }
    let (serving, _) = serving(amf, others).await;
    let (own, loads) = loads(amf, &serving);
    let moves = share::moves(&own, &loads);
    let mut state = amf.rebalancing.state();
    for target in state.run.iter_mut().flat_map(|run| &mut run.targets) {
        let mut now = serving.iter().zip(&moves).filter(|((id, _), _)| *id == target.id);
        target.left = target.left.min(now.next().map_or(0, |(_, share)| *share));
    }
}

/// Begins an automatic run, if one is due.
pub(crate) async fn begin_if_due(amf: &Arc<Amf>, others: &[(AmfId, Member)]) {
    let is_due = amf.rebalancing.state().ended.is_none_or(|at| at.elapsed() >= PAUSE);
    if is_due && amf.config.rebalancing.automatic && amf.relative_capacity() > 0 {
        begin(amf, others, false).await;
    }
}

/// Asks further UEs to move, or ends the run. Returns whether UEs are moved.
pub(crate) fn advance(amf: &Arc<Amf>) -> bool {
    let mut guard = amf.rebalancing.state();
    let state = &mut *guard;
    let has_offers = !state.offers.is_empty();
    let Some(run) = &mut state.run else { return has_offers };
    let left: usize = run.targets.iter().map(|target| target.left).sum();
    if left == 0 && !has_offers || run.started.elapsed() >= MAX_RUN {
        state.end();
        return has_offers;
    }
    let rate = f64::from(amf.config.rebalancing.max_per_s);
    run.allowed = (run.allowed + run.counted.elapsed().as_secs_f64() * rate).min(rate);
    run.counted = Instant::now();
    if run.is_by_command && left > 0 {
        let connected = amf.tables.connected_ues();
        let is_connected: HashSet<u64> = connected.iter().map(|(amf_id, _)| *amf_id).collect();
        run.requested.retain(|amf_id| is_connected.contains(amf_id));
        let free = left.min(run.allowed as usize);
        let unasked = connected.iter().filter(|(amf_id, _)| !run.requested.contains(amf_id));
        let asked = unasked.filter(|(_, ue)| ue.sender.try_send(Event::Rebalance).is_ok());
        let asked: Vec<u64> = asked.take(free).map(|(amf_id, _)| *amf_id).collect();
        run.requested.extend(asked);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::Plmn;

    #[test]
    fn ues_of_one_gnb_leave_places_to_those_of_others() {
        let (rebalancing, id) = (Rebalancing::default(), AmfId::new(1, 1, 2).unwrap());
        let gnbs: Vec<String> = (0..4).map(|n| format!("gnb-{n}")).collect();
        rebalancing.state().run = Some(Run {
            is_by_command: true,
            targets: vec![Target { id, left: 10_000, gnbs: gnbs.iter().cloned().collect() }],
            started: Instant::now(),
            reviewed: Instant::now(),
            moved: 0,
            allowed: 10_000.0,
            counted: Instant::now(),
            requested: HashSet::new(),
        });
        let guti = id.guti(Plmn::new("001", "01").unwrap(), 7).unwrap();
        let mut context = 0;
        let mut offer_all = |gnb: &str| {
            let mut offered = 0;
            while rebalancing.take_target(gnb).is_some() {
                context += 1;
                rebalancing.offer(context, &guti, gnb);
                offered += 1;
            }
            offered
        };
        let offered: Vec<usize> = gnbs.iter().map(|gnb| offer_all(gnb)).collect();
        assert_eq!(offered, [128, 64, 32, 16]);
    }
}

//! NF discovery (TS 29.510, 5.3): selects a producer from cached results of the NRF, and drops
//! producers that fail.
use crate::binding::Binding;
use martlet_interop::{Quirk, SbiQuirk};
use martlet_sbi::{ApiRoot, Peer, Problem, QueryParams, Request, Route};
use martlet_sbi_api::common::{Dnn, Guami, NfInstanceId, PlmnId, Snssai, Supi, Tai};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{
    NfManagementClient, NfProfile, NfService, NfStatus, NfType, NotificationData, ServiceName,
    SubscrCond, SubscriptionData,
};
use martlet_sbi_api::nnrf_nfstatus_callback::{NNRF_NFSTATUS_CALLBACK, NfStatusCallback};
use martlet_sbi_api::{Json, TextList};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OnceCell, watch};

/// Maximum number of cached results.
const CACHE_SIZE: usize = 512;
/// Time that a failed producer is avoided while there is another.
const AVOIDANCE: Duration = Duration::from_secs(10);
/// Validity of an empty result: the producer may be starting.
const EMPTY_VALIDITY: Duration = Duration::from_millis(50);

/// Timeout of a discovery request that has an earlier answer.
const STALE_AFTER: Duration = Duration::from_secs(1);
/// Validity of an earlier answer while the NRF does not answer.
const STALE_VALIDITY: Duration = Duration::from_secs(1);
/// How long a discovery request without an earlier answer is repeated, and the pause between two.
const NRF_RETRIES: Duration = Duration::from_secs(3);
const NRF_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Feature 6, "Service-Map" (TS 29.510, 6.2.9).
const SERVICE_MAP: &str = "20";

/// What a producer has to serve. An absent criterion matches everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Criteria {
    /// The slice.
    pub snssai: Option<Snssai>,
    /// The data network.
    pub dnn: Option<Dnn>,
    /// The AMF's identity.
    pub guami: Option<Guami>,
    /// The subscriber.
    pub supi: Option<Supi>,
    /// The network.
    pub plmn: Option<PlmnId>,
    /// The tracking area.
    pub tai: Option<Tai>,
    /// The routing indicator of the SUCI.
    pub routing_indicator: Option<String>,
    /// One instance.
    pub nf_instance_id: Option<NfInstanceId>,
    /// The NF set (TS 23.003, 28.12).
    pub nf_set_id: Option<String>,
    /// The AMF set: region and set, as the AMF's identity has them.
    pub amf_set: Option<(String, String)>,
}

impl Criteria {
    fn query(&self, target: NfType, requester: NfType, api: &str) -> SearchQuery {
        SearchQuery {
            target_nf_type: Some(target),
            requester_nf_type: Some(requester),
            service_names: Some(TextList(vec![ServiceName::from(api)])),
            requester_features: Some(SERVICE_MAP.into()),
            snssais: self.snssai.map(|s| Json(vec![s])),
            dnn: self.dnn.clone(),
            guami: self.guami.clone().map(Json),
            supi: self.supi.clone(),
            target_plmn_list: self.plmn.clone().map(|p| Json(vec![p])),
            tai: self.tai.clone().map(Json),
            routing_indicator: self.routing_indicator.clone(),
            target_nf_instance_id: self.nf_instance_id.clone(),
            target_nf_set_id: self.nf_set_id.clone(),
            amf_region_id: self.amf_set.as_ref().map(|(region, _)| region.clone()),
            amf_set_id: self.amf_set.as_ref().map(|(_, set)| set.clone()),
            ..Default::default()
        }
    }
}

/// A result of the NRF.
struct DiscoveryResult {
    /// In the NRF's order, the equally good ones first.
    roots: Vec<ApiRoot>,
    /// The number of producers as good as the first.
    equals: usize,
    until: Instant,
}

/// Concurrent callers share a cell, and so a request.
type Cell = Arc<OnceCell<DiscoveryResult>>;

struct CacheEntry {
    target: NfType,
    cell: Cell,
}

/// The members of an NF set, as the NRF last reported.
struct Members {
    /// The `nfInstanceId` of each. None until the NRF has answered.
    instances: Option<Vec<String>>,
    until: Instant,
}

impl Members {
    /// Whether the set has a member besides the binding's instance. True if not known yet.
    fn has_other(&self, binding: &Binding) -> bool {
        let Some(instances) = &self.instances else { return true };
        match &binding.instance {
            Some(own) => instances.iter().any(|instance| instance != own),
            None => instances.len() > 1,
        }
    }
}

#[derive(Default)]
struct State {
    entries: HashMap<String, CacheEntry>,
    suspects: HashMap<ApiRoot, Instant>,
    /// The `nfInstanceId` of producers.
    instances: HashMap<ApiRoot, String>,
    /// The bindings of producers.
    sets: HashMap<ApiRoot, Binding>,
    /// The members of NF sets.
    members: HashMap<String, Members>,
    /// The replacement of a failed set member, and until when it is valid.
    replacements: HashMap<ApiRoot, (ApiRoot, Instant)>,
    /// Producers that are being probed.
    probed: HashSet<ApiRoot>,
    /// The service and the producers of the last answers, by query.
    last_known: HashMap<String, (&'static str, Vec<ApiRoot>)>,
    /// NF types with a subscription to status changes, and whether the NRF confirmed it.
    subscribed: HashMap<NfType, bool>,
}

/// The discovery of one function.
pub(crate) struct Discovery {
    requester: NfType,
    nrf: Peer,
    own_root: ApiRoot,
    /// Refuse deviations of other network functions.
    is_strict: bool,
    state: Mutex<State>,
    turn: AtomicUsize,
    /// The NRF did not answer a discovery request.
    nrf_failed: Notify,
    /// Whether the NRF has the own profile: it sends notifications to registered functions only.
    registered: watch::Sender<bool>,
}

impl Discovery {
    pub(crate) fn new(requester: NfType, nrf: Peer, own_root: ApiRoot) -> Self {
        Discovery {
            requester,
            nrf,
            own_root,
            is_strict: false,
            state: Mutex::default(),
            turn: AtomicUsize::new(0),
            nrf_failed: Notify::new(),
            registered: watch::Sender::new(false),
        }
    }

    /// The same with `sbi.strict`.
    pub(crate) fn strict(self, is_strict: bool) -> Self {
        Discovery { is_strict, ..self }
    }

    /// [`candidate`], unless it deviates and deviations are refused.
    fn candidate(&self, profile: &NfProfile, api: &str) -> Option<(u32, ApiRoot)> {
        let candidate = candidate(profile, api)?;
        if candidate.is_absolute {
            if self.is_strict {
                return None;
            }
            SbiQuirk::AbsoluteApiPrefix.met(self.requester.as_str(), &candidate.root.authority);
        }
        let mut state = self.state();
        let id = profile.nf_instance_id.as_str();
        let known = state.instances.get(&candidate.root).map(String::as_str);
        if known != Some(id) && (known.is_some() || state.instances.len() < CACHE_SIZE) {
            state.instances.insert(candidate.root.clone(), id.into());
        }
        Some((candidate.priority, candidate.root))
    }

    /// The `nfInstanceId` of a producer that the NRF named.
    pub(crate) fn instance_of(&self, root: &ApiRoot) -> Option<String> {
        self.state().instances.get(root).cloned()
    }

    /// The route of the NRF's status notifications.
    pub(crate) fn routes(self: &Arc<Self>) -> Vec<Route> {
        NNRF_NFSTATUS_CALLBACK.routes(self.clone())
    }

    /// Returns when the NRF did not answer a discovery request.
    pub(crate) async fn nrf_failed(&self) {
        self.nrf_failed.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The API root of a producer.
    pub(crate) async fn find(
        self: &Arc<Self>,
        target: NfType,
        api: &'static str,
        criteria: &Criteria,
    ) -> Result<ApiRoot, Problem> {
        self.find_for(None, target, api, criteria).await
    }

    /// The API root of a producer; the same one for the same `affinity`.
    pub(crate) async fn find_for(
        self: &Arc<Self>,
        affinity: Option<&str>,
        target: NfType,
        api: &'static str,
        criteria: &Criteria,
    ) -> Result<ApiRoot, Problem> {
        let query = || criteria.query(target.clone(), self.requester.clone(), api);
        // Most requests have no criteria: they need no query to find the cached result.
        let mut key = String::new();
        match *criteria == Criteria::default() {
            true => key.push_str(api),
            false => query().to_query().append_to(&mut key),
        }
        let name = key.clone();
        let cell = self.cell(key, &target);
        let found = match cell.get() {
            Some(found) => found,
            None => {
                let ask = || self.request_or_last_known(&name, query, &target, api);
                cell.get_or_try_init(ask).await?
            }
        };
        self.choose(found, affinity).ok_or_else(|| {
            Problem::new(504, "TARGET_NF_NOT_REACHABLE")
                .detail(format!("the NRF has no matching {target} with {api}"))
        })
    }

    /// Requests producers from the NRF. While the NRF does not answer, those of the last answer
    /// are used; a function that has none waits a while for the NRF.
    async fn request_or_last_known(
        self: &Arc<Self>,
        key: &str,
        query: impl Fn() -> SearchQuery,
        target: &NfType,
        api: &'static str,
    ) -> Result<DiscoveryResult, Problem> {
        let known = self.state().last_known.get(key).map(|(_, roots)| roots.clone());
        let nrf = if known.is_some() { self.nrf.within(STALE_AFTER) } else { self.nrf.clone() };
        let give_up = Instant::now() + NRF_RETRIES;
        loop {
            let problem = match self.ask(&nrf, query(), target.clone(), api).await {
                Ok(found) => {
                    let mut state = self.state();
                    let has_room = state.last_known.len() < CACHE_SIZE;
                    if !found.roots.is_empty() && (has_room || known.is_some()) {
                        state.last_known.insert(key.to_string(), (api, found.roots.clone()));
                    }
                    return Ok(found);
                }
                Err(problem) => problem,
            };
            if !is_absence(&problem) {
                return Err(problem);
            }
            self.nrf_failed.notify_waiters();
            if let Some(roots) = known {
                let (equals, until) = (1, Instant::now() + STALE_VALIDITY);
                return Ok(DiscoveryResult { roots, equals, until });
            }
            if Instant::now() >= give_up {
                return Err(problem);
            }
            tokio::time::sleep(NRF_RETRY_PAUSE).await;
        }
    }

    /// The valid cell of a query, or a new one.
    fn cell(&self, key: String, target: &NfType) -> Cell {
        let mut state = self.state();
        let now = Instant::now();
        let valid = |entries: &CacheEntry| entries.cell.get().is_none_or(|found| found.until > now);
        if let Some(entries) = state.entries.get(&key).filter(|entries| valid(entries)) {
            return entries.cell.clone();
        }
        if state.entries.len() >= CACHE_SIZE {
            state.entries.retain(|_, entries| valid(entries));
        }
        if state.entries.len() >= CACHE_SIZE {
            state.entries.clear();
        }
        let cell = Cell::default();
        state.entries.insert(key, CacheEntry { target: target.clone(), cell: cell.clone() });
        cell
    }

    async fn ask(
        self: &Arc<Self>,
        nrf: &Peer,
        query: SearchQuery,
        target: NfType,
        api: &str,
    ) -> Result<DiscoveryResult, Problem> {
        let is_subscribed = self.subscribed(&target);
        let result = NfDiscoveryClient::new(nrf.clone()).search_nf_instances(query).await?;
        let mut candidates: Vec<_> =
            result.nf_instances.iter().filter_map(|profile| self.candidate(profile, api)).collect();
        for profile in &result.nf_instances {
            if let (Some((_, root)), Some(binding)) =
                (self.candidate(profile, api), Binding::of(profile))
            {
                self.add_binding(&root, binding);
            }
        }
        candidates.sort_by_key(|(priority, _)| *priority);
        let equals =
            candidates.iter().take_while(|(priority, _)| *priority == candidates[0].0).count();
        let roots: Vec<ApiRoot> = candidates.into_iter().map(|(_, root)| root).collect();
        let valid = match (roots.is_empty(), is_subscribed) {
            (false, _) => Duration::from_secs(result.validity_period.into()),
            (true, true) => EMPTY_VALIDITY,
            // A producer that registers before the subscription is confirmed would be missed.
            (true, false) => Duration::ZERO,
        };
        Ok(DiscoveryResult { roots, equals, until: Instant::now() + valid })
    }

    /// Selects among the best producers that are not avoided: the one of an affinity, else the next
    /// one in turn. If all are avoided, selects any.
    fn choose(&self, found: &DiscoveryResult, affinity: Option<&str>) -> Option<ApiRoot> {
        let mut state = self.state();
        let now = Instant::now();
        state.suspects.retain(|_, until| *until > now);
        let trusted = |root: &&ApiRoot| !state.suspects.contains_key(*root);
        let best: Vec<&ApiRoot> = found.roots[..found.equals].iter().filter(trusted).collect();
        if let Some(affinity) = affinity.filter(|_| best.len() > 1) {
            // Rendezvous hashing: an affinity moves only when its producer is not among the best.
            return best.into_iter().max_by_key(|root| weight(affinity, root)).cloned();
        }
        if !best.is_empty() {
            return Some(best[self.turn.fetch_add(1, Ordering::Relaxed) % best.len()].clone());
        }
        found.roots.iter().find(trusted).or(found.roots.first()).cloned()
    }

    /// Records the binding of a producer.
    pub(crate) fn add_binding(&self, root: &ApiRoot, binding: Binding) {
        let mut state = self.state();
        if state.sets.len() < CACHE_SIZE || state.sets.contains_key(root) {
            state.sets.insert(root.clone(), binding);
        }
    }

    /// Whether the producer's set has other members. A failed producer may have left the set.
    pub(crate) fn has_other_members(self: &Arc<Self>, root: &ApiRoot) -> bool {
        let state = &mut *self.state();
        let Some(binding) = state.sets.get(root) else { return false };
        let now = Instant::now();
        let known = state.members.get(&binding.set);
        if let Some(members) = known.filter(|members| members.until > now) {
            return members.has_other(binding);
        }
        let members = Members {
            instances: known.and_then(|members| members.instances.clone()),
            until: now + AVOIDANCE,
        };
        let beside = members.has_other(binding);
        if state.members.len() < CACHE_SIZE || known.is_some() {
            martlet_tasks::spawn(self.clone().ask_members(binding.clone()));
            state.members.insert(binding.set.clone(), members);
        }
        beside
    }

    /// Requests the members of a set from the NRF.
    async fn ask_members(self: Arc<Self>, binding: Binding) {
        let Some(target) = binding.nf_type() else { return };
        self.subscribed(&target);
        let query = SearchQuery {
            target_nf_type: Some(target),
            requester_nf_type: Some(self.requester.clone()),
            target_nf_set_id: Some(binding.set.clone()),
            requester_features: Some(SERVICE_MAP.into()),
            ..Default::default()
        };
        if let Ok(found) = NfDiscoveryClient::new(self.nrf.clone()).search_nf_instances(query).await
        {
            let until = Instant::now() + Duration::from_secs(found.validity_period.into());
            let instances = found
                .nf_instances
                .iter()
                .map(|profile| profile.nf_instance_id.to_string())
                .collect();
            self.state().members.insert(binding.set, Members { instances: Some(instances), until });
        }
    }

    /// The replacement of a producer that failed recently.
    pub(crate) fn replacement(&self, root: &ApiRoot) -> Option<ApiRoot> {
        let mut state = self.state();
        if state.replacements.is_empty() {
            return None;
        }
        let now = Instant::now();
        state.replacements.retain(|_, (_, until)| *until > now);
        state.replacements.get(root).map(|(other, _)| other.clone())
    }

    /// Reselects another member of a failed producer's set (TS 29.500, 6.12.1). Returns its root
    /// and the binding.
    pub(crate) async fn reselect(
        self: &Arc<Self>,
        root: &ApiRoot,
        api: &str,
    ) -> Option<(ApiRoot, Binding)> {
        let binding = self.state().sets.get(root).cloned()?;
        let target = binding.nf_type()?;
        // A callback has no other producer than its URI's.
        let service =
            Some(ServiceName::from(api)).filter(|name| !matches!(name, ServiceName::Other(_)))?;
        let query = SearchQuery {
            target_nf_type: Some(target.clone()),
            requester_nf_type: Some(self.requester.clone()),
            service_names: Some(TextList(vec![service])),
            target_nf_set_id: Some(binding.set.clone()),
            requester_features: Some(SERVICE_MAP.into()),
            ..Default::default()
        };
        let found = NfDiscoveryClient::new(self.nrf.clone()).search_nf_instances(query).await;
        let found = found
            .inspect_err(|problem| tracing::debug!(%problem, "NF set has no other member"))
            .ok()?;
        let member = |profile: &NfProfile| {
            Some((self.candidate(profile, api)?, profile.nf_instance_id.to_string()))
        };
        let mut members: Vec<_> = found.nf_instances.iter().filter_map(member).collect();
        let mut state = self.state();
        let now = Instant::now();
        members.retain(|((_, other), _)| {
            other != root
                && *other != self.own_root
                && state.suspects.get(other).is_none_or(|until| *until <= now)
        });
        members.sort_by_key(|((priority, _), _)| *priority);
        let ((_, other), instance) = members.into_iter().next()?;
        if state.replacements.len() < CACHE_SIZE {
            state.replacements.insert(root.clone(), (other.clone(), now + AVOIDANCE));
        }
        state.sets.insert(other.clone(), Binding { instance: Some(instance), ..binding.clone() });
        tracing::warn!(
            failed = %root,
            other = %other,
            set = binding.set,
            "producer failed, another member of its set selected"
        );
        Some((other, binding))
    }

    /// The other producers of a request that any of them can serve.
    pub(crate) fn alternatives(&self, root: &ApiRoot, request: &Request) -> Vec<ApiRoot> {
        let Some(api) = replaceable_service(root, request) else { return Vec::new() };
        let state = self.state();
        let mut lists = state.last_known.values();
        let list = lists.find(|(of, all)| *of == api && all.contains(root));
        // One that was suspended since it was selected is in no list any more.
        let list = list.or_else(|| state.last_known.get(api));
        let others = list.into_iter().flat_map(|(_, all)| all);
        others.filter(|other| *other != root).cloned().collect()
    }

    /// The first of these producers that is not avoided.
    pub(crate) fn trusted<'a>(&self, roots: &'a [ApiRoot]) -> Option<&'a ApiRoot> {
        let (state, now) = (self.state(), Instant::now());
        roots.iter().find(|root| state.suspects.get(*root).is_none_or(|until| *until <= now))
    }

    /// Starts a probe. False if one is in progress.
    pub(crate) fn begin_probe(&self, root: &ApiRoot) -> bool {
        self.state().probed.insert(root.clone())
    }

    /// Ends a probe.
    pub(crate) fn end_probe(&self, root: &ApiRoot) {
        self.state().probed.remove(root);
    }

    /// A producer failed: drops the results that contain it, and avoids it for a while.
    pub(crate) fn mark_failed(&self, root: &ApiRoot) {
        self.forget(root);
        let mut state = self.state();
        if state.suspects.len() < CACHE_SIZE {
            state.suspects.insert(root.clone(), Instant::now() + AVOIDANCE);
        }
    }

    /// Drops the results that contain a producer.
    pub(crate) fn forget(&self, root: &ApiRoot) {
        self.state().entries.retain(|_, entries| {
            entries.cell.get().is_none_or(|found| !found.roots.contains(root))
        });
    }

    /// The NRF was restarted: drops all results and subscriptions.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        state.entries.clear();
        state.subscribed.clear();
    }

    /// Whether status changes of an NF type are notified. Subscribes if not yet done.
    fn subscribed(self: &Arc<Self>, target: &NfType) -> bool {
        let known = self.state().subscribed.get(target).copied();
        if known.is_none() {
            self.state().subscribed.insert(target.clone(), false);
            martlet_tasks::spawn(self.clone().subscribe(target.clone()));
        }
        known.unwrap_or(false)
    }

    /// The own profile is registered, or no longer.
    pub(crate) fn set_registered(&self, registered: bool) {
        self.registered.send_replace(registered);
    }

    /// Subscribes to status changes of an NF type.
    async fn subscribe(self: Arc<Self>, target: NfType) {
        let mut registered = self.registered.subscribe();
        // The sender lives as long as this.
        let _ = registered.wait_for(|registered| *registered).await;
        drop(registered);
        let data = SubscriptionData {
            nf_status_notification_uri: format!(
                "{}/nnrf-nfstatus-callback/v1/nf-status",
                self.own_root
            ),
            subscr_cond: Some(SubscrCond::nf_type(target.clone())),
            req_nf_type: Some(self.requester.clone()),
            ..Default::default()
        };
        let outcome = NfManagementClient::new(self.nrf.clone()).create_subscription(data).await;
        match outcome {
            Ok(_) => drop(self.state().subscribed.insert(target, true)),
            Err(problem) => {
                tracing::debug!(
                    %problem,
                    %target,
                    "subscription to status changes failed; results expire by their validity only"
                );
                self.state().subscribed.remove(&target);
            }
        }
    }
}

impl NfStatusCallback for Discovery {
    async fn nf_status_notify(&self, body: NotificationData) -> Result<(), Problem> {
        let mut state = self.state();
        state.members.clear();
        state.replacements.clear();
        match body.nf_profile.as_ref().map(|profile| &profile.nf_type) {
            Some(changed) => state.entries.retain(|_, entries| entries.target != *changed),
            // The notification has no type of an instance that deregistered. Results that are
            // dropped without need are only requested again.
            None => state.entries.clear(),
        }
        Ok(())
    }
}

/// Services whose producers have no state of their own, so that each serves each request.
const STATELESS: [&str; 8] = [
    "nudr-dr",
    "nudm-ueau",
    "nudm-uecm",
    "nudm-sdm",
    "nnssf-nsselection",
    "nnssf-nssaiavailability",
    "nlmf-loc",
    "nnrf-disc",
];
/// Services whose producers hold the resources that they created. Any producer can create one.
const WITH_RESOURCES: [&str; 4] =
    ["nausf-auth", "npcf-am-policy-control", "npcf-smpolicycontrol", "nchf-convergedcharging"];

/// The service of a request that another producer can serve as well.
fn replaceable_service<'a>(root: &ApiRoot, request: &'a Request) -> Option<&'a str> {
    let path = request.target.strip_prefix(&*root.prefix)?.split('?').next()?;
    let mut segments = path.trim_matches('/').split('/');
    let api = segments.next()?;
    // API, version and collection: a resource is created.
    let creates = request.method == http::Method::POST && segments.count() == 2;
    let is_replaceable = STATELESS.contains(&api) || creates && WITH_RESOURCES.contains(&api);
    is_replaceable.then_some(api)
}

/// The weight of a producer for an affinity (FNV-1a).
fn weight(affinity: &str, root: &ApiRoot) -> u64 {
    let bytes = affinity.bytes().chain([0]).chain(root.authority.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Otherwise the last bytes alone would decide.
    hash ^ (hash >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether a call failed since its peer does not answer.
pub fn is_absence(problem: &Problem) -> bool {
    problem.transport.is_some() || problem.cause() == "TIMED_OUT_REQUEST"
}

/// A service of an instance.
struct Candidate {
    priority: u32,
    root: ApiRoot,
    /// Its `apiPrefix` is the whole API root.
    is_absolute: bool,
}

/// An instance's service, if the instance is registered.
fn candidate(profile: &NfProfile, api: &str) -> Option<Candidate> {
    if profile.nf_status != NfStatus::Registered {
        return None;
    }
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let service = listed
        .chain(profile.nf_services.iter().flatten())
        .find(|s| s.service_name.as_str() == api)?;
    let priority = service.priority.or(profile.priority).unwrap_or(0);
    let (root, is_absolute) = root_of(profile, service)?;
    Some(Candidate { priority: priority.into(), root, is_absolute })
}

/// The API root of an instance: that of its first service.
pub(crate) fn root_of_instance(profile: &NfProfile) -> Option<ApiRoot> {
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let service = listed.chain(profile.nf_services.iter().flatten()).next()?;
    Some(root_of(profile, service)?.0)
}

/// The API root of a service, and whether an absolute `apiPrefix` has it.
fn root_of(profile: &NfProfile, service: &NfService) -> Option<(ApiRoot, bool)> {
    if let Some((root, path)) = service.api_prefix.as_deref().and_then(ApiRoot::split) {
        return Some((ApiRoot { prefix: path.trim_end_matches('/').to_string(), ..root }, true));
    }
    let endpoint = service.ip_end_points.as_ref().and_then(|list| list.first());
    let scheme = service.scheme.as_str();
    let port = endpoint.and_then(|e| e.port).unwrap_or(if scheme == "https" { 443 } else { 80 });
    let ipv4 = endpoint
        .and_then(|e| e.ipv4_address)
        .or_else(|| profile.ipv4_addresses.as_ref()?.first().copied());
    let ipv6 = endpoint
        .and_then(|e| e.ipv6_address)
        .or_else(|| profile.ipv6_addresses.as_ref()?.first().copied());
    let host = match (ipv4, ipv6) {
        (Some(ip), _) => ip.to_string(),
        (None, Some(ip)) => format!("[{ip}]"),
        (None, None) => service.fqdn.clone().or_else(|| profile.fqdn.clone())?,
    };
    let prefix =
        service.api_prefix.as_ref().map_or(String::new(), |p| format!("/{}", p.trim_matches('/')));
    let root = ApiRoot { scheme: scheme.to_string(), authority: format!("{host}:{port}"), prefix };
    Some((root, false))
}

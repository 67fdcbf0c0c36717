//! NF discovery (TS 29.510, 5.3): selects a producer from cached results of the NRF, and drops
//! producers that fail.
use crate::binding::Binding;
use crate::tolerance::Tolerance;
use api_root::candidate;
use martlet_interop::SbiQuirk;
use martlet_sbi::{ApiRoot, BoxFuture, Peer, Problem, QueryParams};
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use replacement::Members;
use status_notifications::Subscription;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OnceCell, watch};

mod api_root;
mod criteria;
mod replacement;
mod status_notifications;
pub(crate) use api_root::root_of_instance;
pub use criteria::Criteria;

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
/// Time in which all functions register again with an NRF that lost their registrations: they
/// notice it by their heartbeats.
const REREGISTRATION: Duration = Duration::from_secs(5);
/// How long a discovery request without an earlier answer is repeated, and the pause between two.
const NRF_RETRIES: Duration = Duration::from_secs(3);
const NRF_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A result of the NRF.
struct DiscoveryResult {
    /// In the NRF's order, the equally good ones first.
    roots: Vec<ApiRoot>,
    /// The number of producers as good as the first.
    equals: usize,
    until: Instant,
    /// Selects among the equally good producers in turn. Each result has its own number: with one
    /// for all of them, a procedure that requests an even number of producers would always get the
    /// same one of two.
    round_robin: AtomicUsize,
}

/// Concurrent callers share a cell, and so a request.
type Cell = Arc<OnceCell<DiscoveryResult>>;

struct CacheEntry {
    target: NfType,
    cell: Cell,
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
    /// When all functions are registered again with an NRF that lost their registrations.
    reregistered_at: Option<Instant>,
    /// The subscriptions to status changes, by NF type.
    subscribed: HashMap<NfType, Subscription>,
}

/// The discovery of one function.
pub(crate) struct Discovery {
    requester: NfType,
    /// The own `nfInstanceId`.
    instance: Option<NfInstanceId>,
    nrf: Peer,
    own_root: ApiRoot,
    /// Which deviations of other network functions are refused.
    tolerance: Tolerance,
    state: Mutex<State>,
    /// Number of results, at which the selection of each begins.
    results: AtomicUsize,
    /// The NRF did not answer a discovery request.
    nrf_failed: Notify,
    /// Whether the NRF has the own profile: it sends notifications to registered functions only.
    registered: watch::Sender<bool>,
}

impl Discovery {
    pub(crate) fn new(requester: NfType, nrf: Peer, own_root: ApiRoot) -> Self {
        Discovery {
            tolerance: Tolerance::new(requester.clone(), false),
            requester,
            instance: None,
            nrf,
            own_root,
            state: Mutex::default(),
            results: AtomicUsize::new(0),
            nrf_failed: Notify::new(),
            registered: watch::Sender::new(false),
        }
    }

    /// The same with the own `nfInstanceId`, which the NRF gets with each request.
    pub(crate) fn of_instance(self, id: &str) -> Self {
        Discovery { instance: id.parse().ok(), ..self }
    }

    /// The same with `sbi.strict`.
    pub(crate) fn strict(self, is_strict: bool) -> Self {
        let tolerance = Tolerance::new(self.requester.clone(), is_strict);
        Discovery { tolerance, ..self }
    }

    /// [`candidate`], unless it deviates and deviations are refused.
    fn candidate(&self, profile: &NfProfile, api: &str) -> Option<(u32, ApiRoot)> {
        let candidate = candidate(profile, api)?;
        let peer = &candidate.root.authority;
        if candidate.is_absolute && !self.tolerance.tolerates(SbiQuirk::AbsoluteApiPrefix, peer) {
            return None;
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
            None => self.fill(&cell, name, query(), target.clone(), api).await?,
        };
        self.choose(found, affinity).ok_or_else(|| {
            Problem::new(504, "TARGET_NF_NOT_REACHABLE")
                .detail(format!("the NRF has no matching {target} with {api}"))
        })
    }

    /// Requests producers from the NRF, unless another request for the same fills the cell. Boxed:
    /// the crate of each network function would compile it again otherwise.
    fn fill<'a>(
        self: &'a Arc<Self>,
        cell: &'a Cell,
        key: String,
        query: SearchQuery,
        target: NfType,
        api: &'static str,
    ) -> BoxFuture<'a, Result<&'a DiscoveryResult, Problem>> {
        Box::pin(async move {
            let ask = || self.request_or_last_known(&key, &query, &target, api);
            cell.get_or_try_init(ask).await
        })
    }

    /// Requests producers from the NRF. While the NRF does not answer, or has none since it lost
    /// the registrations, those of the last answer are used; a function that has none waits a while
    /// for the NRF.
    async fn request_or_last_known(
        self: &Arc<Self>,
        key: &str,
        query: &SearchQuery,
        target: &NfType,
        api: &'static str,
    ) -> Result<DiscoveryResult, Problem> {
        let known = self.state().last_known.get(key).map(|(_, roots)| roots.clone());
        let nrf = if known.is_some() { self.nrf.within(STALE_AFTER) } else { self.nrf.clone() };
        let give_up = Instant::now() + NRF_RETRIES;
        loop {
            let problem = match self.ask(&nrf, query.clone(), target.clone(), api).await {
                Ok(found) => {
                    let mut state = self.state();
                    let is_complete = state.reregistered_at.is_none_or(|at| at <= Instant::now());
                    if let (true, false, Some(roots)) =
                        (found.roots.is_empty(), is_complete, &known)
                    {
                        return Ok(self.result(roots.clone(), 1, EMPTY_VALIDITY));
                    }
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
                return Ok(self.result(roots, 1, STALE_VALIDITY));
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
        let query = SearchQuery { requester_nf_instance_id: self.instance.clone(), ..query };
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
        Ok(self.result(roots, equals, valid))
    }

    /// A result that is valid for a time.
    fn result(&self, roots: Vec<ApiRoot>, equals: usize, valid: Duration) -> DiscoveryResult {
        let round_robin = AtomicUsize::new(self.results.fetch_add(1, Ordering::Relaxed));
        DiscoveryResult { roots, equals, until: Instant::now() + valid, round_robin }
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
            let turn = found.round_robin.fetch_add(1, Ordering::Relaxed);
            return Some(best[turn % best.len()].clone());
        }
        found.roots.iter().find(trusted).or(found.roots.first()).cloned()
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

    /// The NRF was restarted: drops all results and subscriptions. The last answers remain, since
    /// other functions may not be registered again yet.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        state.entries.clear();
        state.subscribed.clear();
        state.reregistered_at = Some(Instant::now() + REREGISTRATION);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::{Bindings, Body, BoxFuture, CallPolicy, Request, Response, Transport};
    use martlet_sbi_api::common::UriScheme;
    use martlet_sbi_api::nnrf_nfdiscovery::SearchResult;
    use martlet_sbi_api::nnrf_nfmanagement::{NfService, NfServiceStatus, NfStatus, ServiceName};

    /// An NRF with these producers.
    struct FakeNrf(Mutex<Vec<NfProfile>>);

    impl Transport for FakeNrf {
        fn send<'a>(
            &'a self,
            _: &'a ApiRoot,
            _: Request,
        ) -> BoxFuture<'a, Result<Response, Problem>> {
            let nf_instances = self.0.lock().unwrap().clone();
            let found = SearchResult { validity_period: 60, nf_instances, ..Default::default() };
            Box::pin(async move { Ok(Response::new(200, Body::of(found))) })
        }
    }

    #[tokio::test]
    async fn the_last_producers_serve_until_they_are_registered_again() {
        let id = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64".parse().unwrap();
        let mut ausf = NfProfile::new(id, NfType::Ausf, NfStatus::Registered);
        ausf.ipv4_addresses = Some(vec![[127, 0, 0, 3].into()]);
        let name = ServiceName::from("nausf-auth");
        let (scheme, status) = (UriScheme::Http, NfServiceStatus::Registered);
        ausf.nf_services = Some(vec![NfService::new("1".into(), name, vec![], scheme, status)]);
        let nrf = Arc::new(FakeNrf(Mutex::new(vec![ausf])));
        let root = |last: u8| ApiRoot::http(format!("127.0.0.{last}:80"));
        let peer = Peer::new(nrf.clone(), root(10), "AMF", CallPolicy::default());
        let discovery = Arc::new(Discovery::new(NfType::Amf, peer, root(5)));
        let criteria = Criteria::default();
        let find = || discovery.find(NfType::Ausf, "nausf-auth", &criteria);
        assert_eq!(find().await.unwrap(), root(3));

        // The NRF starts again without registrations, and the AUSF has not noticed it yet.
        nrf.0.lock().unwrap().clear();
        discovery.reset();
        assert_eq!(find().await.unwrap(), root(3));
        // It had time enough, so it is gone.
        discovery.state().entries.clear();
        discovery.state().reregistered_at = Some(Instant::now());
        assert_eq!(find().await.unwrap_err().cause(), "TARGET_NF_NOT_REACHABLE");
    }

    #[test]
    fn equal_producers_are_selected_in_turn_among_requests_for_others() {
        let root = |last: u8| ApiRoot::http(format!("127.0.0.{last}:7777"));
        let nrf = Peer::new(Arc::new(Bindings::default()), root(10), "AMF", CallPolicy::default());
        let discovery = Discovery::new(NfType::Amf, nrf, root(5));
        let valid = Duration::from_secs(60);
        let smfs = discovery.result(vec![root(2), root(3)], 2, valid);
        let udm = discovery.result(vec![root(8)], 1, valid);
        let mut sessions = [0, 0];
        for _ in 0..10 {
            assert_eq!(discovery.choose(&udm, None), Some(root(8)));
            let smf = discovery.choose(&smfs, None).unwrap();
            sessions[usize::from(smf == root(3))] += 1;
        }
        assert_eq!(sessions, [5, 5]);
    }
}

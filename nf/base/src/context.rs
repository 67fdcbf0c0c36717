//! The context of a network function: its identity, and its clients of other functions.
use crate::binding::{Binding, ROUTING_BINDING};
use crate::callbacks::Callbacks;
use crate::discovery::{Criteria, Discovery};
use crate::failover;
use crate::liveness_probe::PendingRequest;
use crate::nrfs::{Nrf, NrfSelection};
use crate::profiles::Profiles;
use crate::tokens::{AtCallback, AtInstance, AtNrf, Tokens};
use crate::tolerance::Tolerance;
use crate::{CommonConfig, Shutdown, StartError};
use martlet_interop::SbiQuirk;
use martlet_outage::{Dependency, NotReady};
use martlet_sbi::{ApiRoot, BoxFuture, CallPolicy, Peer, Problem, Request, Response, Transport};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// The context of one network function.
pub struct NfContext {
    nf_type: NfType,
    instance_id: String,
    root: ApiRoot,
    nrf: Peer,
    profiles: Profiles,
    any: Peer,
    /// Time limit of a request to another function (`sbi.timeout_ms`).
    timeout: Duration,
    /// The transport to single instances, without failover.
    transport: Arc<dyn Transport>,
    tokens: Option<Arc<Tokens>>,
    discovery: Arc<Discovery>,
    callbacks: Arc<Callbacks>,
    shutdown: Shutdown,
    /// The NRFs, each with its own registration.
    nrfs: Vec<Nrf>,
    selection: Arc<NrfSelection>,
    /// Whether the function serves requests.
    operative: watch::Sender<bool>,
    /// Whether the operator has it drained.
    draining: watch::Sender<bool>,
    /// Which deviations of other network functions are refused.
    tolerance: Tolerance,
}

impl NfContext {
    pub(crate) fn new(
        nf_type: NfType,
        config: &CommonConfig,
        transport: Arc<dyn Transport>,
        shutdown: Shutdown,
    ) -> Result<Arc<Self>, StartError> {
        let mut nrf_roots = Vec::new();
        for text in std::iter::once(&config.nrf).chain(&config.further_nrfs) {
            let Some((root, _)) = ApiRoot::split(text) else {
                return Err(StartError::NrfRoot(text.clone()));
            };
            nrf_roots.push(root);
        }
        let nrf_root = nrf_roots[0].clone();
        let policy = CallPolicy {
            timeout: Duration::from_millis(config.timeout_ms.into()),
            strict: config.strict,
        };
        let user_agent = nf_type.as_str().to_string();
        let mut root = ApiRoot::http(config.authority());
        if config.https {
            root.scheme = "https".into();
        }
        let transport: Arc<dyn Transport> = match config.https {
            true => Arc::new(InOwnName(transport)),
            false => transport,
        };
        let instance_id =
            config.instance_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        // Requests for a token need none.
        let tokens = config.token_key.as_ref().map(|_| {
            let selection = Arc::new(NrfSelection::new(transport.clone(), nrf_roots.clone()));
            let nrf = Peer::new(selection, nrf_root.clone(), &user_agent, policy);
            Arc::new(Tokens::new(nrf, nf_type.clone(), &instance_id, config.service_tokens))
        });
        let tolerance = Tolerance::new(nf_type.clone(), config.strict);
        let to_nrf: Arc<dyn Transport> =
            Arc::new(AtNrf::new(transport.clone(), tokens.clone(), tolerance.clone()));
        let nrf = |root: &ApiRoot| Nrf {
            peer: Peer::new(to_nrf.clone(), root.clone(), &user_agent, policy),
            state: Dependency::new(&user_agent.to_ascii_lowercase(), "nrf", root),
            registered: AtomicBool::new(false),
        };
        let nrfs = nrf_roots.iter().map(nrf).collect();
        let selection = Arc::new(NrfSelection::new(to_nrf.clone(), nrf_roots));
        let plain = Peer::new(selection.clone(), nrf_root.clone(), &user_agent, policy);
        let discovery = Arc::new(
            Discovery::new(nf_type.clone(), plain.clone(), root.clone())
                .of_instance(&instance_id)
                .strict(config.strict),
        );
        let profiles = Profiles::new(plain.clone(), nf_type.clone(), config.strict);
        let callbacks = Arc::new(Callbacks::new(profiles.clone(), config.callbacks_allow.clone()));
        let to_instances = transport.clone();
        let transport: Arc<dyn Transport> = match &tokens {
            Some(tokens) => {
                let (tokens, callbacks) = (tokens.clone(), callbacks.clone());
                Arc::new(AtCallback::new(transport, tokens, callbacks, tolerance.clone()))
            }
            None => transport,
        };
        // Failures of calls to discovered producers are reported to discovery, so that a failed
        // producer is not selected again.
        let watched =
            Watched { inner: transport, discovery: discovery.clone(), tokens: tokens.clone() };
        let any = Peer::new(Arc::new(watched), nrf_root, &user_agent, policy);
        Ok(Arc::new(NfContext {
            nf_type,
            instance_id,
            root,
            nrf: plain,
            profiles,
            any,
            timeout: policy.timeout,
            transport: to_instances,
            tokens,
            discovery,
            callbacks,
            shutdown,
            nrfs,
            selection,
            operative: watch::Sender::new(true),
            draining: watch::Sender::new(false),
            tolerance,
        }))
    }

    /// Its NF type.
    pub fn nf_type(&self) -> &NfType {
        &self.nf_type
    }

    /// Its `nfInstanceId`.
    pub fn instance_id(&self) -> &str {
        &self.instance_id
    }

    /// Its API root, also for callback URIs.
    pub fn api_root(&self) -> &ApiRoot {
        &self.root
    }

    /// A client for the profiles of all functions.
    pub(crate) fn profiles(&self) -> Profiles {
        self.profiles.clone()
    }

    /// Whether deviations of other network functions are refused (`sbi.strict`).
    pub fn is_strict(&self) -> bool {
        self.tolerance.is_strict()
    }

    /// Whether a deviation of another network function is tolerated; then it is counted.
    pub fn tolerates(&self, quirk: SbiQuirk, peer: impl std::fmt::Display) -> bool {
        self.tolerance.tolerates(quirk, peer)
    }

    /// Time limit of a request to another function (`sbi.timeout_ms`).
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A client of the NRF.
    pub fn nrf(&self) -> Peer {
        self.nrf.clone()
    }

    /// A producer of a service, discovered through the NRF. Results are cached for their validity
    /// period, and dropped when the producer fails or the NRF notifies a change.
    pub async fn discover(
        &self,
        target: NfType,
        api: &'static str,
        criteria: &Criteria,
    ) -> Result<Peer, Problem> {
        let root = self.discovery.find(target, api, criteria).await?;
        Ok(self.peer_at(root))
    }

    /// A producer at this API root.
    pub fn peer_at(&self, root: ApiRoot) -> Peer {
        self.any.at(root)
    }

    /// A client of exactly this instance, for services that functions of all types have. Its
    /// failures do not count in the selection of producers. `instance` is `None` for an NRF.
    pub(crate) fn instance_peer(
        &self,
        root: ApiRoot,
        instance: Option<String>,
        timeout: Duration,
    ) -> Peer {
        let (inner, tokens) = (self.transport.clone(), self.tokens.clone());
        let transport = Arc::new(AtInstance { inner, tokens, instance });
        let policy = CallPolicy { timeout, strict: self.is_strict() };
        Peer::new(transport, root, self.nf_type.as_str(), policy)
    }

    /// A client for callbacks, whose URIs are absolute.
    pub fn callback_peer(&self) -> Peer {
        self.any.clone()
    }

    /// Whether notifications may go to this URI, which a consumer named: a registered function is
    /// there, or `sbi.callbacks.allow` has it.
    ///
    /// # Errors
    /// 403 with a cause, or the failure of the NRF.
    pub async fn check_callback(&self, uri: &str) -> Result<(), Problem> {
        self.callbacks.check(uri).await
    }

    /// Whether `sbi.callbacks.allow` has a host and port.
    pub fn is_callback_allowed(&self, authority: &str) -> bool {
        self.callbacks.is_allowed(authority)
    }

    /// As [`NfContext::discover`], for requests about one subscriber or session: `key` selects the
    /// same one of equally good producers until the producers change.
    pub async fn discover_for(
        &self,
        key: &str,
        target: NfType,
        api: &'static str,
    ) -> Result<Peer, Problem> {
        let root = self.discovery.find_for(Some(key), target, api, &Criteria::default()).await?;
        Ok(self.peer_at(root))
    }

    /// Whether an NRF has its profile.
    pub fn is_registered(&self) -> bool {
        self.nrfs.iter().any(|nrf| nrf.registered.load(Ordering::Relaxed))
    }

    /// Reports to the NRF whether this function serves requests: its status is `REGISTERED` or
    /// `SUSPENDED` (TS 29.510, 6.1.6.3.7). Consumers select no suspended one.
    pub fn set_operative(&self, operative: bool) {
        self.operative.send_if_modified(|now| std::mem::replace(now, operative) != operative);
    }

    /// Drains the function, or ends that: it is `SUSPENDED` at the NRF, so that consumers select
    /// another one, and serves what it has. Returns whether it was drained before.
    pub fn set_draining(&self, draining: bool) -> bool {
        let mut before = draining;
        let is_changed = self.draining.send_if_modified(|now| {
            before = std::mem::replace(now, draining);
            before != draining
        });
        if is_changed {
            tracing::info!(draining, "draining");
        }
        before
    }

    /// Whether the function is drained, and each change of it.
    pub fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// Whether consumers may select this function.
    pub(crate) fn is_selectable(&self) -> bool {
        *self.operative.borrow() && !*self.draining.borrow()
    }

    /// Whether this function serves requests, and each change of it.
    pub(crate) fn operative(&self) -> watch::Receiver<bool> {
        self.operative.subscribe()
    }

    /// The NRFs.
    pub(crate) fn nrfs(&self) -> &[Nrf] {
        &self.nrfs
    }

    /// The first NRF, which is reported as missing if no NRF answers.
    pub(crate) fn missing_nrf(&self) -> Option<NotReady> {
        let missing: Option<Vec<NotReady>> =
            self.nrfs.iter().map(|nrf| nrf.state.missing()).collect();
        missing?.into_iter().next()
    }

    /// Another NRF is used than before, which may lack this function's subscriptions.
    pub(crate) async fn nrf_changed(&self) {
        self.selection.changed().await;
    }

    /// Reports whether an NRF has the profile.
    pub(crate) fn registration_changed(&self) {
        self.discovery.set_registered(self.is_registered());
    }

    /// Ends with the program.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    pub(crate) fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }
}

/// Sends requests in the name of this function, also while it serves a consumer.
struct InOwnName(Arc<dyn Transport>);

impl Transport for InOwnName {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(martlet_sbi_http::as_own(self.0.send(to, request)))
    }
}

struct Watched {
    inner: Arc<dyn Transport>,
    discovery: Arc<Discovery>,
    tokens: Option<Arc<Tokens>>,
}

impl Transport for Watched {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(async move {
            let moved = self.discovery.replacement(to);
            let to = moved.as_ref().unwrap_or(to);
            if !self.discovery.has_other_members(to) {
                let others = self.discovery.alternatives(to, &request);
                return match others.is_empty() {
                    true => self.once(to, request).await,
                    false => self.request_with_failover(to, request, &others).await,
                };
            }
            let again = request.copy();
            let mut waiting = PendingRequest::new(&self.inner, &self.discovery, to, &request);
            let answer = self.once(to, request).await;
            waiting.answered();
            // A slow producer may still process the request, so it is not sent to another one.
            let gone = |problem: &Problem| {
                problem.transport.is_some() && problem.cause() != "TIMED_OUT_REQUEST"
            };
            let refused = failover::is_requested(&answer);
            if refused {
                self.discovery.mark_failed(to);
            }
            let failed = refused || answer.as_ref().is_err_and(gone);
            let Some(mut request) = again.filter(|_| failed) else { return answer };
            let api = request
                .target
                .strip_prefix(&to.prefix)
                .and_then(|path| path.split('/').nth(1))
                .unwrap_or_default();
            let Some((other, binding)) = self.discovery.reselect(to, api).await else {
                return answer;
            };
            if let Some(value) = binding.header() {
                request.headers.insert(ROUTING_BINDING, value);
            }
            let own_prefix = request.target.strip_prefix(&to.prefix).unwrap_or(&request.target);
            request.target = format!("{}{own_prefix}", other.prefix);
            self.once(&other, request).await
        })
    }
}

impl Watched {
    /// Sends a request that any producer of the service can serve: to one of `others` if the first
    /// does not answer, or requests it.
    async fn request_with_failover(
        &self,
        to: &ApiRoot,
        request: Request,
        others: &[ApiRoot],
    ) -> Result<Response, Problem> {
        let again = request.copy();
        let answer = self.once(to, request).await;
        let is_gone = |problem: &Problem| {
            problem.transport.is_some() && problem.cause() != "TIMED_OUT_REQUEST"
        };
        let is_refused = failover::is_requested(&answer);
        if is_refused {
            self.discovery.mark_failed(to);
        }
        let is_failed = is_refused || answer.as_ref().is_err_and(is_gone);
        let Some(mut request) = again.filter(|_| is_failed) else { return answer };
        let Some(other) = self.discovery.trusted(others) else { return answer };
        if let Some(suppressed) = martlet_log_limit::line("producer", &*to.authority) {
            tracing::warn!(failed = %to, other = %other, suppressed, "producer failed, retrying");
        }
        let path = request.target.strip_prefix(&to.prefix).unwrap_or(&request.target);
        request.target = format!("{}{path}", other.prefix);
        self.once(other, request).await
    }

    async fn once(&self, to: &ApiRoot, mut request: Request) -> Result<Response, Problem> {
        if let Some(tokens) = &self.tokens {
            tokens.attach(&mut request, || self.discovery.instance_of(to)).await?;
        }
        let answer = self.inner.send(to, request).await;
        if let (Some(tokens), Ok(response)) = (&self.tokens, &answer)
            && response.status == 401
        {
            tokens.clear();
            // It may have another instance identity since its restart.
            self.discovery.forget(to);
        }
        match &answer {
            Err(problem) if problem.transport.is_some() => self.discovery.mark_failed(to),
            Ok(response) => {
                if let Some(binding) = Binding::of_response(response) {
                    self.discovery.add_binding(to, binding);
                }
            }
            Err(_) => {}
        }
        answer
    }
}

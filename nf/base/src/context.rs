//! The context of a network function: its identity, and its clients of other functions.
use crate::binding::{Binding, ROUTING_BINDING};
use crate::callbacks::Callbacks;
use crate::discovery::{Criteria, Discovery};
use crate::liveness_probe::PendingRequest;
use crate::tokens::Tokens;
use crate::{CommonConfig, Shutdown, StartError};
use martlet_interop::{Quirk, SbiQuirk};
use martlet_outage::Dependency;
use martlet_sbi::{ApiRoot, BoxFuture, CallPolicy, Peer, Problem, Request, Response, Transport};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The context of one network function.
pub struct NfContext {
    nf_type: NfType,
    instance_id: String,
    root: ApiRoot,
    nrf: Peer,
    any: Peer,
    discovery: Arc<Discovery>,
    callbacks: Callbacks,
    shutdown: Shutdown,
    /// Whether the NRF has its profile.
    registered: AtomicBool,
    /// Refuse deviations of other network functions.
    strict: bool,
    /// The NRF, as readiness and log show it.
    nrf_state: Dependency,
}

impl NfContext {
    pub(crate) fn new(
        nf_type: NfType,
        config: &CommonConfig,
        transport: Arc<dyn Transport>,
        shutdown: Shutdown,
    ) -> Result<Arc<Self>, StartError> {
        let Some((nrf_root, _)) = ApiRoot::split(&config.nrf) else {
            return Err(StartError(format!(
                "sbi.nrf: {:?} is not an API root: write http://HOST:PORT",
                config.nrf
            )));
        };
        let policy = CallPolicy {
            timeout: Duration::from_millis(config.timeout_ms.into()),
            strict: config.strict,
        };
        let user_agent = nf_type.as_str().to_string();
        let nrf_state = Dependency::new(&user_agent.to_ascii_lowercase(), "nrf", &nrf_root);
        let mut root = ApiRoot::http(config.authority());
        if config.https {
            root.scheme = "https".into();
        }
        let transport: Arc<dyn Transport> = match config.https {
            true => Arc::new(InOwnName(transport)),
            false => transport,
        };
        let plain = Peer::new(transport.clone(), nrf_root.clone(), &user_agent, policy);
        let discovery = Arc::new(
            Discovery::new(nf_type.clone(), plain.clone(), root.clone()).strict(config.strict),
        );
        // Failures of calls to discovered producers are reported to discovery, so that a failed
        // producer is not selected again.
        let instance_id =
            config.instance_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let tokens = config
            .token_key
            .as_ref()
            .map(|_| Tokens::new(plain.clone(), nf_type.clone(), &instance_id));
        let callbacks = Callbacks::new(plain.clone(), config.callbacks_allow.clone());
        let watched = Arc::new(Watched { inner: transport, discovery: discovery.clone(), tokens });
        let any = Peer::new(watched, nrf_root, &user_agent, policy);
        Ok(Arc::new(NfContext {
            nf_type,
            instance_id,
            root,
            nrf: plain,
            any,
            discovery,
            callbacks,
            shutdown,
            registered: AtomicBool::new(false),
            strict: config.strict,
            nrf_state,
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

    /// Whether deviations of other network functions are refused (`sbi.strict`).
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether a deviation of another network function is tolerated; then it is counted.
    pub fn tolerates(&self, quirk: SbiQuirk, peer: impl std::fmt::Display) -> bool {
        if !self.strict {
            quirk.met(self.nf_type.as_str(), peer);
        }
        !self.strict
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

    /// Whether the NRF has its profile.
    pub fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Relaxed)
    }

    /// The NRF, as readiness and log show it.
    pub(crate) fn nrf_state(&self) -> &Dependency {
        &self.nrf_state
    }

    pub(crate) fn set_registered(&self, registered: bool) {
        self.registered.store(registered, Ordering::Relaxed);
        self.discovery.set_registered(registered);
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
    tokens: Option<Tokens>,
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
            if !self.discovery.has_siblings(to) {
                return self.once(to, request).await;
            }
            let again = request.copy();
            let mut waiting = PendingRequest::new(&self.inner, &self.discovery, to, &request);
            let answer = self.once(to, request).await;
            waiting.answered();
            // One that takes its time may be at work on the request: another one is not asked to do
            // the same.
            let gone = |problem: &Problem| {
                problem.transport.is_some() && problem.cause() != "TIMED_OUT_REQUEST"
            };
            let failed = answer.as_ref().is_err_and(gone);
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
    async fn once(&self, to: &ApiRoot, mut request: Request) -> Result<Response, Problem> {
        if let Some(tokens) = &self.tokens {
            tokens.attach(&mut request).await?;
        }
        let answer = self.inner.send(to, request).await;
        if let (Some(tokens), Ok(response)) = (&self.tokens, &answer)
            && response.status == 401
        {
            tokens.clear();
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

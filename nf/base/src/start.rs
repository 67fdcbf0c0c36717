//! Starts network functions, one or several per process.
use crate::metrics::SbiMetrics;
use crate::tolerance::Tolerance;
use crate::{
    CommonConfig, NetworkFunction, NfContext, NotReady, Shutdown, StartError, network,
    registration, status,
};
use martlet_fabric::Fabric;
use martlet_sbi::{Bindings, BoxFuture, OperationInfo, Problem, Route, Router, Tap};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use martlet_sbi_fabric::{FabricBinding, FabricServer};
use martlet_sbi_http::{HttpServer, LocalSockets, ServerLimits};
use martlet_tasks::{HandlerEnd, Tasks};
use std::any::Any;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

/// What the network functions of a process share.
#[derive(Clone)]
pub struct Environment {
    /// The transport of outgoing calls.
    pub bindings: Bindings,
    /// The fabric of the machine, if the process is a member.
    pub fabric: Option<FabricBinding>,
    /// Whether each function also serves HTTP at its own address.
    pub listen: bool,
    /// Where it then listens instead of TCP. `bindings` has to connect there, too.
    pub sockets: Option<LocalSockets>,
    /// Limits of a server.
    pub limits: ServerLimits,
    /// Observers of every served exchange.
    pub taps: Vec<Arc<dyn Tap>>,
    /// Ends the process.
    pub shutdown: Shutdown,
}

/// Passes a command line request to a running function. None if the request is not for it.
pub type AskSource = Arc<
    dyn Fn(&str) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> + Send + Sync,
>;

/// Passes a changed configuration to a running function. Returns what was applied.
pub type Reload = Arc<dyn Fn(Box<dyn std::any::Any>) -> Option<String> + Send + Sync>;

/// Returns whether a function is ready, or what is missing.
pub type Ready = Arc<dyn Fn() -> Result<(), NotReady> + Send + Sync>;

/// Returns the status of a running function.
pub type StatusSource = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// What identifies a function to other functions. Empty for the UPF, which has no SBI.
#[derive(Debug, Clone, Default)]
pub struct NfIdentity {
    /// `nfInstanceId`.
    pub instance_id: String,
    /// Authority of its API root: host and port.
    pub authority: String,
}

/// The means by which a process uses a running function. To end the function at once, end its
/// tasks, and drop this.
pub struct NfHandle {
    /// Its status.
    pub status: StatusSource,
    /// Passes it command line requests.
    pub ask: AskSource,
    /// Passes it a changed configuration, a boxed `F::Config`. `None` if it has none to reload.
    pub reload: Option<Reload>,
    /// Whether it is ready.
    pub ready: Ready,
    /// Its tasks.
    pub tasks: Tasks,
    /// The function itself, with its sockets and databases. Nothing else has a reference to it once
    /// its tasks have ended and the other fields are dropped. `None` for the UPF, which is dropped
    /// when it has finished.
    pub function: Option<Arc<dyn Any + Send + Sync>>,
}

/// A running network function.
pub struct RunningNf {
    /// Lower-case NF type, such as `amf`.
    pub name: &'static str,
    /// Its identity.
    pub identity: NfIdentity,
    /// The means to use it.
    pub handle: NfHandle,
    /// Completes when the function ends: by the shutdown, an error, or a panic of an essential
    /// task.
    pub finished: BoxFuture<'static, Result<(), StartError>>,
}

/// Waits until a function ends.
async fn finished(
    tasks: Tasks,
    mut work: JoinHandle<Result<(), StartError>>,
    servers: Vec<JoinHandle<()>>,
) -> Result<(), StartError> {
    let outcome = tokio::select! {
        biased;
        outcome = &mut work => outcome,
        task = tasks.failed() => Ok(Err(StartError::EssentialTask(task))),
    };
    for server in servers {
        // The registration ends by itself, after it has deregistered the function.
        server.abort();
    }
    let name = tasks.name();
    match outcome {
        Ok(outcome) => outcome.map_err(|error| error.of(name)),
        Err(error) => Err(StartError::MainLoop(error).of(name)),
    }
}

/// Time limit for joining the fabric. After it the function serves without it.
const FABRIC_TIMEOUT: Duration = Duration::from_millis(500);

/// Creates a network function, serves its services, registers it with the NRF, and runs it.
///
/// # Errors
/// What the operator can do. Nothing of the function is left.
pub async fn start<F: NetworkFunction>(
    config: F::Config,
    common: &CommonConfig,
    environment: &Environment,
) -> Result<RunningNf, StartError> {
    let tasks = Tasks::new(name_of::<F>());
    let started = start_within::<F>(config, common, environment, &tasks).await;
    if started.is_err() {
        tasks.end();
        tasks.ended().await;
    }
    started
}

async fn start_within<F: NetworkFunction>(
    config: F::Config,
    common: &CommonConfig,
    environment: &Environment,
    tasks: &Tasks,
) -> Result<RunningNf, StartError> {
    let name = tasks.name();
    let named = |error: StartError| error.of(name);
    let transport = Arc::new(environment.bindings.clone());
    let context =
        NfContext::new(F::TYPE, common, transport, environment.shutdown.clone()).map_err(named)?;
    let function = create::<F>(config, &context, tasks).await.map_err(named)?;

    let routes = function.routes();
    let served: Vec<&'static OperationInfo> = routes.iter().map(|route| route.operation).collect();
    let profile = registration::profile(&*function, &context, common, &served);
    let mut routes = crate::binding::indicate(routes, crate::Binding::of(&profile).as_ref());
    routes.extend(status::routes(name, &function, &context));
    let router = Arc::new(router(routes, &context, common.bind, environment, tasks));
    let authority = common.authority();
    if let Some(local) = environment.bindings.local() {
        local.add(&authority, router.clone());
    }
    let limits = server_limits(F::TYPE, &context, common, environment).map_err(named)?;
    let span = tracing::info_span!("nf", nf = name);
    let mut servers = Vec::new();
    if let Some(binding) = &environment.fabric {
        servers.extend(serve_fabric(binding, common, &router, environment, tasks, &span));
        // Functions without a link over the fabric are called over HTTP/2. None is found there
        // before the fabric knows this function, unless the manager is down.
        let _ = tokio::time::timeout(FABRIC_TIMEOUT, binding.fabric().joined()).await;
    }
    if environment.listen {
        let sockets = environment.sockets.as_ref();
        servers.push(serve_http(sockets, common, router, limits, tasks, &span).await?);
    }

    let run = function.clone().run(environment.shutdown.clone());
    let work = spawn_main_loop(run, context.clone(), profile, tasks, span);
    let shown = function.clone();
    let reloaded = function.clone();
    let reload: Reload =
        Arc::new(move |config| reloaded.reload(*config.downcast::<F::Config>().ok()?));
    Ok(RunningNf {
        name,
        identity: NfIdentity { instance_id: context.instance_id().to_string(), authority },
        handle: NfHandle {
            status: Arc::new(move || shown.status()),
            ask: ask_source(name, function.clone(), context.clone()),
            reload: Some(reload),
            ready: readiness(name, function.clone(), context),
            tasks: tasks.clone(),
            function: Some(function),
        },
        finished: Box::pin(finished(tasks.clone(), work, servers)),
    })
}

/// Creates the function within its tasks, which contain a panic.
async fn create<F: NetworkFunction>(
    config: F::Config,
    context: &Arc<NfContext>,
    tasks: &Tasks,
) -> Result<Arc<F>, StartError> {
    let created = tasks.handle(F::create(config, context.clone())).await;
    created.map_err(|end| match end {
        HandlerEnd::Panicked => StartError::Panicked,
        HandlerEnd::Ended => StartError::Ended,
    })?
}

/// The router of its services, with the observers of exchanges.
fn router(
    routes: Vec<Route>,
    context: &NfContext,
    address: SocketAddr,
    environment: &Environment,
    tasks: &Tasks,
) -> Router {
    let mut router = Router::new()
        .serve(routes)
        .serve(context.discovery().routes())
        .within(tasks.clone())
        .tap(Arc::new(SbiMetrics { nf: tasks.name() }));
    for tap in &environment.taps {
        router = router.tap(tap.clone());
    }
    let at = Some(address);
    router = router.tap(Arc::new(crate::signalling::SbiRecorder { at }));
    if crate::capture::wants(crate::capture::Link::Sbi) {
        router = router.tap(Arc::new(crate::capture::SbiCapture { at }));
    }
    router
}

/// The limits of its HTTP server, which requires access tokens if a key for them is configured.
fn server_limits(
    nf_type: NfType,
    context: &NfContext,
    common: &CommonConfig,
    environment: &Environment,
) -> Result<ServerLimits, StartError> {
    let mut limits = environment.limits.clone();
    if let Some(file) = &common.token_key {
        let has_operation_scopes = !common.service_tokens;
        let (id, file) = (context.instance_id(), Path::new(file));
        let tolerance = Tolerance::new(nf_type.clone(), common.strict);
        let guard = crate::tokens::guard(nf_type, id, file, has_operation_scopes, tolerance)?;
        limits.guard = Some(guard);
    }
    Ok(limits)
}

/// Serves calls over the fabric, and HTTP over its sockets.
fn serve_fabric(
    binding: &FabricBinding,
    common: &CommonConfig,
    router: &Arc<Router>,
    environment: &Environment,
    tasks: &Tasks,
    span: &Span,
) -> [JoinHandle<()>; 2] {
    let fabric = binding.fabric().clone();
    if let Some(guard) = &environment.limits.user_guard {
        binding.guard_users(guard.clone());
    }
    let calls = FabricServer::bind(binding, &common.authority(), router.clone());
    let sockets = over_sockets(fabric, common.bind, router.clone(), environment.limits.clone());
    [
        tasks.spawn_essential("fabric server", calls.run()),
        tasks.spawn_essential("socket server", sockets.instrument(span.clone())),
    ]
}

/// Serves HTTP over TCP, or over a unix socket instead.
async fn serve_http(
    sockets: Option<&LocalSockets>,
    common: &CommonConfig,
    router: Arc<Router>,
    limits: ServerLimits,
    tasks: &Tasks,
    span: &Span,
) -> Result<JoinHandle<()>, StartError> {
    let name = tasks.name();
    let failed = |source: std::io::Error| StartError::Sbi { nf: name, source }.of(name);
    Ok(match sockets {
        Some(sockets) => {
            let listener = sockets.bind(&common.authority()).await.map_err(failed)?;
            let server = HttpServer::over(listener, router, limits).run();
            tasks.spawn_essential("HTTP server", server.instrument(span.clone()))
        }
        None => {
            let server = HttpServer::bind(common.bind, router, limits).await.map_err(failed)?.run();
            tasks.spawn_essential("HTTP server", server.instrument(span.clone()))
        }
    })
}

/// Runs the function, registered with the NRF. The profile stays at the NRF while the function ends
/// its running procedures.
fn spawn_main_loop(
    run: impl Future<Output = Result<(), StartError>> + Send + 'static,
    context: Arc<NfContext>,
    profile: NfProfile,
    tasks: &Tasks,
    span: Span,
) -> JoinHandle<Result<(), StartError>> {
    let (end, ended) = Shutdown::new();
    let registered = registration::maintain(context, profile, ended);
    let is_nrf = tasks.name() == "nrf";
    let work = async move {
        if is_nrf {
            return run.await;
        }
        let registered = registered.in_current_span();
        let registered = martlet_tasks::spawn_essential("registration", registered);
        let outcome = run.await;
        end.trigger();
        // With a time limit: the NRF may have ended.
        let _ = tokio::time::timeout(registration::LONGEST_DEREGISTRATION, registered).await;
        outcome
    };
    tasks.spawn_essential("main loop", work.instrument(span))
}

/// Passes requests of the command line to a function.
fn ask_source<F: NetworkFunction>(
    name: &'static str,
    function: Arc<F>,
    context: Arc<NfContext>,
) -> AskSource {
    Arc::new(move |question: &str| {
        if let Some(answer) = crate::signalling::ask(question) {
            return Some(Box::pin(std::future::ready(answer)));
        }
        network::ask(&context, name, question).or_else(|| function.ask(question))
    })
}

/// Whether a function is ready.
fn readiness<F: NetworkFunction>(
    name: &'static str,
    function: Arc<F>,
    context: Arc<NfContext>,
) -> Ready {
    Arc::new(move || {
        // All that is missing, in one answer.
        let missing = status::missing(name, &*function, &context);
        match missing.is_empty() {
            true => Ok(()),
            false => Err(NotReady::Function { name, missing }),
        }
    })
}

/// Serves HTTP over the fabric's sockets, for functions in other languages on this machine.
async fn over_sockets(
    fabric: Fabric,
    address: SocketAddr,
    router: Arc<Router>,
    limits: ServerLimits,
) {
    loop {
        match fabric.listen(address).await {
            Ok(listener) => HttpServer::over(listener, router.clone(), limits.clone()).run().await,
            Err(error) => {
                tracing::warn!(%error, "HTTP over the fabric's sockets failed, will retry")
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The NF type in lower case.
fn name_of<F: NetworkFunction>() -> &'static str {
    // Leaked once per function: a few bytes.
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let nf_type = F::TYPE;
    let known = names.iter().find(|name| name.eq_ignore_ascii_case(nf_type.as_str()));
    known.copied().unwrap_or_else(|| {
        let name: &'static str = nf_type.as_str().to_ascii_lowercase().leak();
        names.push(name);
        name
    })
}

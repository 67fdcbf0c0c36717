//! Starts network functions, alone in a process or beside others.
use crate::metrics::SbiMetrics;
use crate::{CommonConfig, NetworkFunction, NfContext, Shutdown, StartError, registration};
use martlet_fabric::Fabric;
use martlet_sbi::{Bindings, BoxFuture, OperationInfo, Problem, Router, Tap};
use martlet_sbi_fabric::{FabricBinding, FabricServer};
use martlet_sbi_http::{HttpServer, ServerLimits};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// What the functions of one process share.
#[derive(Clone)]
pub struct Environment {
    /// How calls leave.
    pub bindings: Bindings,
    /// Where each function also serves in shared memory, if it takes part in the machine's fabric.
    pub fabric: Option<FabricBinding>,
    /// Whether each function also listens at its own address.
    pub listen: bool,
    /// What one server takes on.
    pub limits: ServerLimits,
    /// Observers of every exchange that a function serves.
    pub taps: Vec<Arc<dyn Tap>>,
    /// Ends the process.
    pub shutdown: Shutdown,
}

/// Asks a running function something; none where it has no answer to such questions.
pub type AskSource = Arc<
    dyn Fn(&str) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> + Send + Sync,
>;

/// Hands a running function its section of the configuration anew; what it took of it, in words.
pub type Reload = Arc<dyn Fn(Box<dyn std::any::Any>) -> Option<String> + Send + Sync>;

/// Says whether a function can do its work at this moment, and else what is missing.
pub type Ready = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A function at work.
pub struct RunningNf {
    /// Lower-case NF type, such as `amf`.
    pub name: &'static str,
    /// `nfInstanceId`.
    pub instance_id: String,
    /// Authority of its API root.
    pub authority: String,
    status: Arc<dyn Fn() -> serde_json::Value + Send + Sync>,
    ask: AskSource,
    reload: Reload,
    ready: Ready,
    work: JoinHandle<Result<(), StartError>>,
    beside: Vec<JoinHandle<()>>,
}

impl RunningNf {
    /// What the function says of itself.
    pub fn status(&self) -> serde_json::Value {
        (self.status)()
    }

    /// The means to ask for the status later, from elsewhere.
    pub fn status_source(&self) -> Arc<dyn Fn() -> serde_json::Value + Send + Sync> {
        self.status.clone()
    }

    /// The means to ask the function something later, from elsewhere.
    pub fn ask_source(&self) -> AskSource {
        self.ask.clone()
    }

    /// The means to ask whether the function can do its work.
    pub fn ready_source(&self) -> Ready {
        self.ready.clone()
    }

    /// The means to hand the function its configuration anew: an `F::Config` in a box.
    pub fn reload_source(&self) -> Reload {
        self.reload.clone()
    }

    /// Waits until the function has ended, by the shutdown or by an error.
    pub async fn finished(self) -> Result<(), StartError> {
        let outcome = self.work.await;
        for task in self.beside {
            // The registration ends by itself, after it has taken the function's profile back; the
            // server is stopped.
            task.abort();
        }
        match outcome {
            Ok(outcome) => outcome.map_err(|e| StartError(format!("{}: {e}", self.name))),
            Err(error) => Err(StartError(format!("{} ended abnormally: {error}", self.name))),
        }
    }
}

/// How long a function waits for the manager of its fabric before it serves without it.
const JOINING: Duration = Duration::from_millis(500);

/// Creates a function, makes its services reachable, registers it with the NRF, and lets it run.
pub async fn start<F: NetworkFunction>(
    config: F::Config,
    common: &CommonConfig,
    environment: &Environment,
) -> Result<RunningNf, StartError> {
    let name = name_of::<F>();
    let named = |error: StartError| StartError(format!("{name}: {error}"));
    let transport = Arc::new(environment.bindings.clone());
    let context =
        NfContext::new(F::TYPE, common, transport, environment.shutdown.clone()).map_err(named)?;
    let function = F::create(config, context.clone()).await.map_err(named)?;

    let own = function.routes();
    let served: Vec<&'static OperationInfo> = own.iter().map(|route| route.operation).collect();
    let profile = registration::profile(&*function, &context, common, &served);
    let own = crate::binding::indicate(own, crate::Binding::of(&profile).as_ref());
    let mut router = Router::new()
        .serve(own)
        .serve(context.discovery().routes())
        .tap(Arc::new(SbiMetrics { nf: name }));
    for tap in &environment.taps {
        router = router.tap(tap.clone());
    }
    if crate::capture::wants(crate::capture::Link::Sbi) {
        router = router.tap(Arc::new(crate::capture::SbiCapture { at: Some(common.bind) }));
    }
    let router = Arc::new(router);
    let authority = common.authority();
    if let Some(local) = environment.bindings.local() {
        local.add(&authority, router.clone());
    }
    let mut limits = environment.limits.clone();
    if let Some(file) = &common.token_key {
        limits.guard = Some(crate::tokens::guard(F::TYPE, Path::new(file)).map_err(named)?);
    }
    let span = tracing::info_span!("nf", nf = name);
    let mut beside = Vec::new();
    if let Some(binding) = &environment.fabric {
        let fabric = binding.fabric();
        beside.push(tokio::spawn(FabricServer::bind(binding, &authority, router.clone()).run()));
        let server =
            over_sockets(fabric.clone(), common.bind, router.clone(), environment.limits.clone());
        beside.push(tokio::spawn(server.instrument(span.clone())));
        // Whom the fabric does not know is called over HTTP/2: nobody finds that open before the
        // fabric knows us, unless its manager is away.
        let _ = tokio::time::timeout(JOINING, fabric.joined()).await;
    }
    if environment.listen {
        let server = HttpServer::bind(common.bind, router, limits).await.map_err(|e| {
            named(StartError(format!(
                "{e}; is another core running? Change sbi.{name} in the configuration"
            )))
        })?;
        beside.push(tokio::spawn(server.run().instrument(span.clone())));
    }

    let shutdown = environment.shutdown.clone();
    let (run, told) = (function.clone().run(shutdown.clone()), context.clone());
    let registered = registration::keep(told, profile, shutdown);
    let is_nrf = name == "nrf";
    let work = tokio::spawn(
        async move {
            if is_nrf {
                return run.await;
            }
            let registered = tokio::spawn(registered.in_current_span());
            let outcome = run.await;
            // Bounded: the NRF may be gone already.
            let _ = tokio::time::timeout(Duration::from_millis(500), registered).await;
            outcome
        }
        .instrument(span),
    );
    let instance_id = context.instance_id().to_string();
    let asked = function.clone();
    let ask: AskSource = Arc::new(move |question: &str| asked.ask(question));
    let (asked, known) = (function.clone(), context.clone());
    let ready: Ready = Arc::new(move || {
        let registered = is_nrf || known.is_registered();
        let outcome =
            registered.then_some(()).ok_or_else(|| "the NRF does not know it yet".to_string());
        outcome.and_then(|()| asked.ready()).map_err(|why| format!("{name}: {why}"))
    });
    let told = function.clone();
    let reload: Reload = Arc::new(move |config| told.reload(*config.downcast::<F::Config>().ok()?));
    let status = Arc::new(move || function.status());
    Ok(RunningNf { name, instance_id, authority, status, ask, reload, ready, work, beside })
}

/// Serves HTTP over the fabric's sockets: to others of this machine, in whatever language they are
/// written.
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
                tracing::warn!(%error, "no HTTP over the fabric's sockets; tried again in a second")
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The lower-case name of a function's type.
fn name_of<F: NetworkFunction>() -> &'static str {
    // Leaked once for each function that a process starts: a handful of bytes.
    F::TYPE.as_str().to_ascii_lowercase().leak()
}

//! The UPF put together: datapath, N4, status.
use crate::{metrics, n4_socket, thermal, volumes};
use martlet_upf_config::{DatapathChoice, UpfConfig};
use martlet_upf_datapath::telemetry::TraceRequest;
use martlet_upf_datapath::{CommandError, Datapath, OpenError, Signals};
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_n4::{Moment, N4, Settings, Snapshot};
use martlet_upf_offload::SwitchDatapath;
use martlet_upf_xdp::XdpDatapath;
use serde_json::Value;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::net::UdpSocket;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Why a UPF does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum UpfError {
    /// The configuration is invalid; `martlet check` reports the line.
    #[error("the configuration of the UPF is wrong: {0}")]
    Config(String),
    /// N4 cannot be served.
    #[error(
        "PFCP cannot be served at {address} ({error}): change upf.n4.address to one of this \
         machine that no other core uses"
    )]
    N4 {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// The datapath cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The datapath stopped.
    #[error("the datapath stopped: {0}")]
    Datapath(String),
    /// N4 failed.
    #[error("N4 failed: {0}")]
    Failed(String),
}

/// Provides the UPF's status on request.
pub type StatusSource = Arc<dyn Fn() -> Value + Send + Sync>;

/// Answers queries, such as `top`, `trace/all` and `drain`; `None` for an unknown query. An error
/// states why the query failed.
pub type AskSource = Arc<dyn Fn(&str) -> Option<Result<Value, CommandError>> + Send + Sync>;

/// What the command line requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Top,
    Trace { forwarded: bool },
    Drain(bool),
    Renew,
    RenewWithSample,
    Sessions,
    BeginCapture,
    Capture { end: bool },
}

/// The requests by their paths. They are made at the first request.
static REQUESTS: LazyLock<matchit::Router<Request>> = LazyLock::new(|| {
    let mut router = matchit::Router::new();
    for (path, request) in [
        ("top", Request::Top),
        ("trace", Request::Trace { forwarded: false }),
        ("trace/all", Request::Trace { forwarded: true }),
        ("drain", Request::Drain(true)),
        ("undrain", Request::Drain(false)),
        ("renew", Request::Renew),
        ("renew/sample/{argument}", Request::RenewWithSample),
        ("sessions/{argument}", Request::Sessions),
        // No sessions.
        ("sessions/", Request::Sessions),
        ("capture", Request::Capture { end: false }),
        ("capture/begin/{*argument}", Request::BeginCapture),
        ("capture/end", Request::Capture { end: true }),
    ] {
        router.insert(path, request).expect("constant paths that differ");
    }
    router
});

/// A UPF at work.
pub struct UpfHandle {
    n4: Arc<Mutex<N4>>,
    address: SocketAddr,
    task: JoinHandle<Result<(), UpfError>>,
    /// Wakes the task for messages that a query has queued.
    wake: Arc<Notify>,
    /// Registers the metrics until dropped.
    _watched: Arc<dyn Fn() -> Option<Snapshot> + Send + Sync>,
    /// The board and its thermal governor.
    thermal: Arc<thermal::Shared>,
    _thermal: tokio::task::JoinSet<()>,
    /// Dropped with the handle, which ends the UPF.
    _alive: oneshot::Sender<()>,
}

/// Opens the configured datapath, which blocks. The error has the remedy for the operator.
pub fn open_datapath(config: &UpfConfig) -> Result<(Box<dyn Datapath>, Signals), OpenError> {
    fn boxed<D: Datapath>((datapath, signals): (D, Signals)) -> (Box<dyn Datapath>, Signals) {
        (Box::new(datapath), signals)
    }
    match config.datapath {
        DatapathChoice::Kernel => KernelDatapath::open(config).map(boxed),
        DatapathChoice::Xdp => XdpDatapath::open(config).map(boxed),
        DatapathChoice::Switch => {
            let native = UpfConfig { datapath: config.switch.native, ..config.clone() };
            let (native, signals) = open_datapath(&native)?;
            SwitchDatapath::open(native, config).map(|datapath| boxed((datapath, signals)))
        }
    }
}

/// Starts a UPF. It ends with `shutdown`, or when its handle is dropped, and then removes what it
/// created, such as its device and address translation.
pub async fn start(
    config: UpfConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<UpfHandle, UpfError> {
    if let Some(finding) = config.check().into_iter().next() {
        return Err(UpfError::Config(format!("upf.{}: {}", finding.path, finding.message)));
    }
    martlet_upf_n4::metrics::register();
    let settings = Settings::from(&config);
    let address = config.n4.address;
    let socket = UdpSocket::bind(address).await.map_err(|error| UpfError::N4 { address, error })?;
    let opening = config.clone();
    let opened = tokio::task::spawn_blocking(move || open_datapath(&opening)).await;
    let opened = opened.map_err(|error| UpfError::Datapath(error.to_string()))?;
    let (datapath, mut signals) = opened?;
    let n4 = Arc::new(Mutex::new(N4::new(settings, datapath, Moment::now())));
    let (thermal, tasks) = thermal::run(&config, &n4);
    let snapshot = Arc::downgrade(&n4);
    let snapshot = metrics::watch(Arc::new(move || {
        let n4 = snapshot.upgrade()?;
        volumes::count(&n4);
        Some(n4.lock().unwrap_or_else(PoisonError::into_inner).snapshot())
    }));
    let (alive, dropped) = oneshot::channel::<()>();
    let (served, wake) = (n4.clone(), Arc::new(Notify::new()));
    let woken = wake.clone();
    let task = martlet_tasks::spawn_essential("N4", async move {
        let ended = async move {
            tokio::select! {
                () = shutdown => {}
                _ = dropped => {}
            }
        };
        let outcome = tokio::select! {
            outcome = n4_socket::run(served, socket, signals.events, woken, ended) => {
                outcome.map_err(|error| UpfError::Failed(error.to_string()))
            }
            Some(failure) = signals.failures.recv() => Err(UpfError::Datapath(failure)),
        };
        tracing::info!("UPF stopped");
        outcome
    });
    tracing::info!(n4 = %address, "UPF ready");
    Ok(UpfHandle {
        n4,
        address,
        task,
        wake,
        _watched: snapshot,
        thermal,
        _thermal: tasks,
        _alive: alive,
    })
}

impl UpfHandle {
    /// Where N4 is served.
    pub fn n4_address(&self) -> SocketAddr {
        self.address
    }

    /// Provides the UPF's status; nothing after its end.
    pub fn status_source(&self) -> StatusSource {
        let n4 = Arc::downgrade(&self.n4);
        Arc::new(move || match n4.upgrade() {
            Some(n4) => {
                volumes::count(&n4);
                n4.lock().unwrap_or_else(PoisonError::into_inner).status()
            }
            None => Value::Null,
        })
    }

    /// Answers queries; none after the UPF has ended.
    pub fn ask_source(&self) -> AskSource {
        let n4 = Arc::downgrade(&self.n4);
        let (thermal, wake) = (self.thermal.clone(), self.wake.clone());
        Arc::new(move |question| {
            let n4 = n4.upgrade()?;
            let mut n4 = n4.lock().unwrap_or_else(PoisonError::into_inner);
            let found = REQUESTS.at(question).ok()?;
            let argument = found.params.get("argument").unwrap_or_default();
            Some(match *found.value {
                Request::Top => {
                    let mut top = n4.top();
                    (top["board"], top["governor"]) = (thermal.board.top(), thermal.top());
                    Ok(top)
                }
                Request::Trace { forwarded } => n4.trace(TraceRequest { forwarded }),
                Request::Drain(draining) => {
                    let before = n4.drain(draining, Moment::now());
                    wake.notify_one();
                    Ok(serde_json::json!({
                        "function": "upf", "draining": draining, "draining_before": before,
                    }))
                }
                Request::Renew => n4.renew(None),
                Request::RenewWithSample => n4.renew(Some(argument.parse().ok()?)),
                Request::Sessions => {
                    Ok(n4.describe_sessions(&argument.split(',').collect::<Vec<_>>()))
                }
                Request::BeginCapture => n4.begin_capture(argument),
                Request::Capture { end } => n4.capture(end),
            })
        })
    }

    /// The UPF's status.
    pub fn status(&self) -> Value {
        volumes::count(&self.n4);
        self.n4.lock().unwrap_or_else(PoisonError::into_inner).status()
    }

    /// Waits for the end, by the shutdown or an error.
    pub async fn finished(self) -> Result<(), UpfError> {
        let UpfHandle { n4, task, _alive, .. } = self;
        let outcome = task.await.unwrap_or_else(|error| Err(UpfError::Failed(error.to_string())));
        // Dropping the datapath joins its threads and removes its devices, so it must not run on
        // the runtime's thread.
        let _ = tokio::task::spawn_blocking(move || drop(n4)).await;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_their_paths() {
        let found = |path: &str| {
            let found = REQUESTS.at(path).ok()?;
            let argument = found.params.get("argument").unwrap_or_default().to_string();
            Some((*found.value, argument))
        };
        for (path, request, argument) in [
            ("top", Request::Top, ""),
            ("trace", Request::Trace { forwarded: false }, ""),
            ("trace/all", Request::Trace { forwarded: true }, ""),
            ("drain", Request::Drain(true), ""),
            ("undrain", Request::Drain(false), ""),
            ("renew", Request::Renew, ""),
            ("renew/sample/64", Request::RenewWithSample, "64"),
            ("sessions/0x1,0x2", Request::Sessions, "0x1,0x2"),
            ("sessions/", Request::Sessions, ""),
            ("capture", Request::Capture { end: false }, ""),
            ("capture/end", Request::Capture { end: true }, ""),
            ("capture/begin/96/1000/65536/10", Request::BeginCapture, "96/1000/65536/10"),
        ] {
            assert_eq!(found(path), Some((request, argument.to_string())), "{path}");
        }
        assert_eq!(found("traces"), None);
    }
}

//! Starting the UPF: the datapath, N4 above it, and a task that serves both.
use crate::UpfError;
use crate::config::UpfConfig;
use crate::kernel::Kernel;
use crate::datapath::Datapath;
use crate::metrics;
use crate::n4::{Moment, N4, Settings, run};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A UPF at work.
pub struct UpfHandle {
    n4: Weak<Mutex<N4>>,
    task: JoinHandle<Result<(), UpfError>>,
}

/// Starts a UPF in the network namespace of this thread. It ends with `shutdown`, and takes down what it has set up.
///
/// # Errors
/// A configuration that [`UpfConfig::check`] finds wrong, an address that cannot be served, a TUN device that cannot
/// be made.
pub async fn start(
    config: UpfConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<UpfHandle, UpfError> {
    if let Some(finding) = config.check().into_iter().next() {
        return Err(UpfError::Config(format!("{}: {}", finding.path, finding.message)));
    }
    let address = config.n4.address();
    let socket = UdpSocket::bind(address).await.map_err(|error| UpfError::bind("n4", address, &error))?;
    let (sender, events) = mpsc::channel(config.limits.events);
    let (datapath, failure) = Kernel::start(&config, sender)?;
    metrics::show(&datapath.counters());
    let n4 = N4::new(Settings::from(&config), Box::new(datapath), Moment::now());
    let n4 = Arc::new(Mutex::new(n4));
    let weak = Arc::downgrade(&n4);
    tracing::info!(n4 = %address, n3 = %config.n3.bind, "the UPF is at work");
    // The task alone holds N4 and with it the datapath, so that all is taken down when it ends.
    let task = tokio::spawn(async move {
        tokio::select! {
            ended = run(n4, socket, events, shutdown) => ended.map_err(UpfError::N4),
            Ok(error) = failure => Err(UpfError::Datapath(error)),
        }
    });
    Ok(UpfHandle { n4: weak, task })
}

impl UpfHandle {
    /// Gives associations, sessions and counters whenever it is called, and what is left of them (nothing) after the end.
    pub fn status_source(&self) -> Arc<dyn Fn() -> Value + Send + Sync> {
        let n4 = self.n4.clone();
        Arc::new(move || match n4.upgrade() {
            Some(n4) => n4.lock().unwrap_or_else(PoisonError::into_inner).status(),
            None => json!({"ended": true}),
        })
    }

    /// Waits for the end of the UPF.
    pub async fn finished(self) -> Result<(), UpfError> {
        match self.task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(UpfError::N4(std::io::Error::other(error))),
        }
    }
}

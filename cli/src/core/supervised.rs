//! A function of this process: started again when it ends by itself, while the others keep serving.
//!
//! A panic of an essential task, or an error of the function, ends it: its tasks are dropped where
//! they wait, and with them its sockets and its handle to the context store, as when a process is
//! killed. Then it is started as at the start of the core, and reads its contexts from the store.
//! Requests of other functions wait meanwhile.
use super::functions::start_again;
use super::restarts::{Restarts, STABLE, back_off};
use super::status_entry;
use crate::config::Config;
use crate::error_text;
use anyhow::{Context, Result};
use martlet_nf::{
    AskSource, Environment, NfHandle, NfIdentity, NotReady, Reload, RunningNf, StartError,
};
use martlet_sbi::BoxFuture;
use serde_json::Value;
use std::any::Any;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Time for the tasks of a function to be dropped. Calls of a database may still run in threads.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Failed attempts in a row after which the process ends: its service manager starts it with all
/// rights of a start.
const MAX_FAILED_STARTS: u32 = 8;

/// A function that runs, or is started again.
pub(super) struct Supervised {
    name: &'static str,
    /// The configuration, with the sections that were reloaded.
    config: Arc<Mutex<Config>>,
    environment: Environment,
    restarts: Restarts,
    /// `None` while it restarts.
    handle: RwLock<Option<NfHandle>>,
    identity: RwLock<NfIdentity>,
}

type Finished = BoxFuture<'static, Result<(), StartError>>;

impl Supervised {
    /// A function that runs, and the future that supervises it until the shutdown. An error of the
    /// future ends the core.
    pub fn new(
        running: RunningNf,
        config: &Arc<Mutex<Config>>,
        environment: &Environment,
        restarts: &Restarts,
    ) -> (Arc<Supervised>, impl Future<Output = Result<()>> + Send + use<>) {
        let name = running.name;
        let RunningNf { identity, handle, finished, .. } = running;
        let supervised = Arc::new(Supervised {
            name,
            config: config.clone(),
            environment: environment.clone(),
            restarts: restarts.clone(),
            handle: RwLock::new(Some(handle)),
            identity: RwLock::new(identity),
        });
        restarts.started(name, Some(std::process::id()));
        let run = supervised.clone().run(finished);
        (supervised, run)
    }

    fn with_handle<T>(&self, look: impl FnOnce(&NfHandle) -> T) -> Option<T> {
        self.handle.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(look)
    }

    fn identity(&self) -> NfIdentity {
        self.identity.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its entry in the status of the core.
    pub fn status(&self) -> Value {
        let status = self.with_handle(|handle| handle.status.clone());
        let NfIdentity { instance_id, authority } = self.identity();
        let status = status.map_or(Value::Null, |status| status());
        status_entry(self.name, &instance_id, &authority, status)
    }

    /// The source of answers to OAM queries, over all its runs.
    pub fn ask_source(self: &Arc<Self>) -> AskSource {
        let supervised = self.clone();
        Arc::new(move |question: &str| {
            let ask = supervised.with_handle(|handle| handle.ask.clone())?;
            ask(question)
        })
    }

    /// Reloads its section, over all its runs. `None` if it has no section to reload.
    pub fn reload_source(self: &Arc<Self>) -> Option<Reload> {
        self.with_handle(|handle| handle.reload.clone()).flatten()?;
        let supervised = self.clone();
        Some(Arc::new(move |section: Box<dyn Any>| {
            supervised.remember(&*section);
            let reload = supervised.with_handle(|handle| handle.reload.clone()).flatten()?;
            reload(section)
        }))
    }

    /// Stores a reloaded section for the next run.
    fn remember(&self, section: &dyn Any) {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pcf) = section.downcast_ref() {
            config.pcf = Clone::clone(pcf);
        } else if let Some(udm) = section.downcast_ref() {
            config.udm = Clone::clone(udm);
        }
    }

    /// Whether it is ready, over all its runs.
    pub fn ready(&self) -> Result<(), NotReady> {
        match self.with_handle(|handle| handle.ready.clone()) {
            Some(ready) => ready(),
            None => Err(NotReady::Waiting("a function restarts")),
        }
    }

    /// The tasks of the current run.
    #[cfg(debug_assertions)]
    pub fn tasks(&self) -> Option<martlet_nf::Tasks> {
        self.with_handle(|handle| handle.tasks.clone())
    }

    async fn run(self: Arc<Self>, mut finished: Finished) -> Result<()> {
        let (name, shutdown) = (self.name, self.environment.shutdown.clone());
        let mut crashes = 0u32;
        loop {
            let started = Instant::now();
            let outcome = finished.await;
            if shutdown.is_triggered() {
                self.restarts.ended(name, None);
                return Ok(outcome?);
            }
            let failed = Instant::now();
            crashes = if started.elapsed() >= STABLE { 1 } else { crashes.saturating_add(1) };
            let reason =
                outcome.err().map_or_else(|| "ended".to_string(), |error| error.to_string());
            tracing::error!(
                nf = name, %reason, crashes, pause = ?back_off(crashes),
                "function crashed, restarting"
            );
            self.restarts.ended(name, Some(&reason));
            self.end(back_off(crashes).is_zero()).await;
            let Some(running) = self.start_again(&mut crashes).await? else { return Ok(()) };
            *self.identity.write().unwrap_or_else(PoisonError::into_inner) = running.identity;
            *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Some(running.handle);
            finished = running.finished;
            self.restarts.started(name, Some(std::process::id()));
            self.restarts.served_again(name, failed.elapsed());
            let ms = failed.elapsed().as_micros() as f64 / 1000.0;
            tracing::warn!(nf = name, ms, "function restarted");
        }
    }

    /// Ends what is left of a run. `at_once`: it is started again without a pause, so that
    /// requests of other functions wait.
    async fn end(&self, at_once: bool) {
        let authority = self.identity().authority;
        if let Some(local) = self.environment.bindings.local() {
            match at_once {
                true => local.suspend(&authority),
                false => local.remove(&authority),
            }
        }
        let handle = self.handle.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(NfHandle { status, ask, reload, ready, tasks, function }) = handle else {
            return;
        };
        drop((status, ask, reload, ready));
        tasks.end();
        let ended = async {
            tasks.ended().await;
            // Calls that wait for a database still have it, in threads.
            while function.as_ref().is_some_and(|function| Arc::strong_count(function) > 1) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
            let tasks = tasks.len();
            tracing::error!(nf = self.name, tasks, "function has not ended completely");
        }
        // Writes the last contexts, which blocks.
        let _ = tokio::task::spawn_blocking(move || drop(function)).await;
    }

    /// Starts the function until it succeeds; `None` at the shutdown.
    ///
    /// # Errors
    /// It cannot be started again.
    async fn start_again(&self, crashes: &mut u32) -> Result<Option<RunningNf>> {
        let (name, shutdown) = (self.name, &self.environment.shutdown);
        let NfIdentity { instance_id, authority } = self.identity();
        let mut failures = 0;
        loop {
            let pause = back_off(*crashes);
            if !pause.is_zero() {
                tokio::select! {
                    () = shutdown.wait() => return Ok(None),
                    () = tokio::time::sleep(pause) => {}
                }
            }
            let config = self.config.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let former = Some(instance_id.clone());
            let error = match start_again(name, &config, &self.environment, former).await {
                Ok(running) => return Ok(Some(running)),
                Err(error) => error,
            };
            if shutdown.is_triggered() {
                return Ok(None);
            }
            if let Some(local) = self.environment.bindings.local() {
                local.remove(&authority);
            }
            failures += 1;
            *crashes = crashes.saturating_add(1);
            let reason = error_text(&error);
            tracing::error!(nf = name, "function not started again: {reason}");
            if failures == MAX_FAILED_STARTS {
                return Err(error).with_context(|| {
                    format!("{name} cannot be started again in this process, which ends")
                });
            }
        }
    }
}

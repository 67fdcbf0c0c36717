//! How the function reaches its core: in the same process, or over the sockets of the functions'
//! processes.
use super::configuration;
use super::event_tail::EventTail;
use super::further_upfs;
use crate::liveness::{HungProcess, unless_hung};
use crate::oam_client::{self, Endpoint};
use crate::reload::{self, Reloader};
use martlet::config::{Config, database_name};
use martlet::core::function_names;
use martlet::exchange::{self, Format, Input};
use martlet::pki::Certificate;
use martlet::ue_history;
use martlet_nf::AskSource;
use martlet_nf::oam::StatusSource;
use martlet_oam::backups::Backups;
use martlet_oam::{
    AccessError, AppliedConfiguration, Configuration, ConfigurationEdit, CoreAccess, CoreFuture,
    ImportedSubscribers,
};
use martlet_store::AddressPool;
use serde_json::{Value, json};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Timeout of a request for a function: paging and positioning take some seconds.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// Files and commands, which are the same for both kinds of core.
pub(super) struct Files {
    pub(super) config: Config,
    pub(super) file: Option<PathBuf>,
    tail: EventTail,
}

impl Files {
    fn new(config: &Config, file: Option<PathBuf>) -> Self {
        Files { config: config.clone(), file, tail: EventTail::default() }
    }

    fn history_file(&self) -> Option<PathBuf> {
        self.config.oam.history.file(&self.config.udr.path, None)
    }

    fn history(&self, supi: &str) -> Result<Vec<Value>, AccessError> {
        let file = self.history_file().ok_or_else(|| {
            AccessError::Unsupported("the UE history is off: set oam.history.enabled".into())
        })?;
        ue_history::read(&file, supi)
            .map_err(|error| AccessError::Unavailable(format!("{error:#}")))
    }

    fn events_after(&self, position: u64) -> (Vec<Value>, u64) {
        match self.history_file() {
            Some(file) => self.tail.after(&file, position),
            None => (Vec::new(), position),
        }
    }

    fn read_subscribers(
        &self,
        format: &str,
        text: &str,
    ) -> Result<ImportedSubscribers, AccessError> {
        let format = match format {
            "csv" => Format::Csv,
            "martlet" => Format::Martlet,
            "open5gs" => Format::Open5gs,
            "free5gc" => Format::Free5gc,
            "ueransim" => Format::Ueransim,
            _ => Format::Auto,
        };
        let mut subscribers = Vec::new();
        let text = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let input = Input { name: None, text };
        let read = exchange::read(format, vec![input], &mut |subscriber| {
            subscribers.push(subscriber);
            Ok(())
        });
        let losses = read
            .map_err(|error| AccessError::Refused { status: 400, detail: format!("{error:#}") })?;
        let lost = losses.fields().map(str::to_string).collect();
        Ok(ImportedSubscribers { subscribers, lost })
    }

    fn certificates(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = self.config.oam.api.certificate.iter().cloned().collect();
        if let Ok(entries) = std::fs::read_dir(&self.config.sbi.pki) {
            let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
            files.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "pem")));
        }
        files.sort();
        let certificate = |file: &PathBuf| {
            let certificate = Certificate::read(file).ok()?;
            Some(json!({"file": file.display().to_string(), "days": certificate.days_left()}))
        };
        files.iter().filter_map(certificate).collect()
    }
}

/// The core has no such function.
fn not_there(function: &str) -> AccessError {
    let detail = format!("no {function} runs in this core");
    AccessError::Refused { status: 404, detail }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// A core in this process.
pub struct LocalAccess {
    core: Handle,
    status: StatusSource,
    asks: Arc<Vec<AskSource>>,
    reloader: Arc<Mutex<Reloader>>,
    files: Files,
}

impl LocalAccess {
    /// Access to the functions that run on the current runtime.
    pub fn new(
        config: &Config,
        file: Option<PathBuf>,
        status: StatusSource,
        asks: Vec<AskSource>,
        reloader: Arc<Mutex<Reloader>>,
    ) -> Self {
        let files = Files::new(config, file);
        LocalAccess { core: Handle::current(), status, asks: Arc::new(asks), reloader, files }
    }
}

impl CoreAccess for LocalAccess {
    fn status(&self) -> CoreFuture<'_, Value> {
        let status = self.status.clone();
        let task = self.core.spawn(async move { status() });
        Box::pin(async move {
            let mut status = task.await.unwrap_or_default();
            further_upfs::add(&self.files.config, &mut status).await;
            status
        })
    }

    fn ask<'a>(
        &'a self,
        function: &'a str,
        question: String,
    ) -> CoreFuture<'a, Result<Value, AccessError>> {
        let asks = self.asks.clone();
        let task = self.core.spawn(async move {
            let answer = asks.iter().find_map(|ask| ask(&question))?;
            Some(answer.await)
        });
        Box::pin(async move {
            let missing = || not_there(function);
            let answer = tokio::time::timeout(ASK_TIMEOUT, task);
            let probe = || self.core.spawn(async {});
            let answer = unless_hung(answer, probe).await.map_err(|_| {
                AccessError::Unavailable(format!(
                    "the {function} does not answer, since the thread of all functions hangs: \
                     start the core again"
                ))
            })?;
            let answer = answer.map_err(|_| {
                AccessError::Unavailable(format!("the {function} did not answer in time"))
            })?;
            match answer.ok().flatten() {
                None => Err(missing()),
                Some(Ok(value)) => Ok(value),
                Some(Err(problem)) => Err(AccessError::Refused {
                    status: problem.status(),
                    detail: problem.to_string(),
                }),
            }
        })
    }

    fn history(&self, supi: &str) -> Result<Vec<Value>, AccessError> {
        self.files.history(supi)
    }

    fn events_after(&self, position: u64) -> (Vec<Value>, u64) {
        self.files.events_after(position)
    }

    fn read_subscribers(
        &self,
        format: &str,
        text: &str,
    ) -> Result<ImportedSubscribers, AccessError> {
        self.files.read_subscribers(format, text)
    }

    fn address_pools(&self) -> Vec<AddressPool> {
        self.files.config.address_pools()
    }

    fn backups(&self) -> &dyn Backups {
        &self.files
    }

    fn configuration(&self) -> Result<Configuration, AccessError> {
        configuration::show(self.files.file.as_deref())
    }

    fn change_configuration(
        &self,
        text: &str,
        write: bool,
    ) -> Result<AppliedConfiguration, AccessError> {
        let checked = configuration::check(self.files.file.as_deref(), text)?;
        let (changed, restart) = reload::difference(&checked.before, &checked.after);
        if !write {
            return Ok(AppliedConfiguration { changed, applied: Vec::new(), restart });
        }
        checked.write()?;
        // Functions may start tasks, which belong to their runtime.
        let _entered = self.core.enter();
        let mut reloader = self.reloader.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded =
            reloader.reload().map_err(|error| AccessError::Unavailable(format!("{error:#}")))?;
        tracing::info!("{reloaded}");
        Ok(AppliedConfiguration { changed, applied: reloaded.applied, restart: reloaded.restart })
    }

    fn edit_configuration(
        &self,
        text: &str,
        edits: &[ConfigurationEdit],
    ) -> Result<String, AccessError> {
        configuration::edit(text, edits)
    }

    fn rests(&self) {
        crate::trim::again();
    }

    fn version(&self) -> String {
        version()
    }

    fn certificates(&self) -> Vec<Value> {
        self.files.certificates()
    }
}

/// A core with one process for each function.
pub struct SplitAccess {
    files: Files,
}

impl SplitAccess {
    /// Access over the sockets of the functions' processes.
    pub fn new(config: &Config, file: Option<PathBuf>) -> Self {
        SplitAccess { files: Files::new(config, file) }
    }

    fn endpoint(&self, function: &str) -> Endpoint {
        Endpoint::Socket(self.files.config.oam_endpoint(Some(function)).socket)
    }
}

impl CoreAccess for SplitAccess {
    fn status(&self) -> CoreFuture<'_, Value> {
        Box::pin(async move {
            let (mut nfs, mut processes) = (Vec::new(), Vec::new());
            for name in function_names(&self.files.config).filter(|name| *name != "oam") {
                let status =
                    oam_client::status_within(&self.endpoint(name), Duration::from_millis(500))
                        .await;
                let state = if status.is_ok() { "running" } else { "restarting" };
                processes.push(json!({"name": name, "state": state}));
                let status = status.unwrap_or_default();
                nfs.extend(status["nfs"].as_array().cloned().unwrap_or_default());
            }
            let database = database_name(&self.files.config.database());
            let mut status = json!({
                "mode": "one process each", "database": database, "nfs": nfs,
                "processes": processes, "certificates": martlet::certificates::status(),
            });
            further_upfs::add(&self.files.config, &mut status).await;
            status
        })
    }

    fn whole_status(&self) -> CoreFuture<'_, Value> {
        Box::pin(async move {
            // There is no supervisor of functions that were started one by one.
            let supervisor = Endpoint::of_core(&self.files.config);
            match oam_client::status(&supervisor).await {
                Ok(status) => status,
                Err(_) => self.status().await,
            }
        })
    }

    fn ask<'a>(
        &'a self,
        function: &'a str,
        question: String,
    ) -> CoreFuture<'a, Result<Value, AccessError>> {
        Box::pin(async move {
            if !function_names(&self.files.config).any(|name| name == function) {
                return Err(not_there(function));
            }
            let (endpoint, path) = (self.endpoint(function), format!("/ask/{question}"));
            let answer = oam_client::ask(&endpoint, &path, ASK_TIMEOUT).await;
            let silent = |error: anyhow::Error| {
                let at = self.files.config.sbi.address(function);
                let at = at.map(|address| format!(" at {address}")).unwrap_or_default();
                AccessError::Unavailable(match error.downcast_ref::<HungProcess>() {
                    Some(process) => format!("the {function}{at} does not answer: {process}"),
                    None => format!("the {function}{at} does not answer"),
                })
            };
            match answer.map_err(silent)? {
                (200, value) => Ok(value),
                (404, Value::Null) => {
                    Err(AccessError::Unavailable(format!("the {function} cannot do this")))
                }
                (status, problem) => Err(AccessError::Refused {
                    status,
                    detail: problem["detail"].as_str().unwrap_or("refused").to_string(),
                }),
            }
        })
    }

    fn history(&self, supi: &str) -> Result<Vec<Value>, AccessError> {
        self.files.history(supi)
    }

    fn events_after(&self, position: u64) -> (Vec<Value>, u64) {
        self.files.events_after(position)
    }

    fn read_subscribers(
        &self,
        format: &str,
        text: &str,
    ) -> Result<ImportedSubscribers, AccessError> {
        self.files.read_subscribers(format, text)
    }

    fn address_pools(&self) -> Vec<AddressPool> {
        self.files.config.address_pools()
    }

    fn backups(&self) -> &dyn Backups {
        &self.files
    }

    fn configuration(&self) -> Result<Configuration, AccessError> {
        configuration::show(self.files.file.as_deref())
    }

    fn change_configuration(
        &self,
        text: &str,
        write: bool,
    ) -> Result<AppliedConfiguration, AccessError> {
        if write {
            return Err(AccessError::Unsupported(
                "the function of the API may not reload the other processes: change the file on \
                 the machine, and reload it with SIGHUP or `systemctl reload martlet`"
                    .into(),
            ));
        }
        let checked = configuration::check(self.files.file.as_deref(), text)?;
        let (changed, restart) = reload::difference(&checked.before, &checked.after);
        Ok(AppliedConfiguration { changed, applied: Vec::new(), restart })
    }

    fn edit_configuration(
        &self,
        text: &str,
        edits: &[ConfigurationEdit],
    ) -> Result<String, AccessError> {
        configuration::edit(text, edits)
    }

    fn rests(&self) {
        crate::trim::again();
    }

    fn version(&self) -> String {
        version()
    }

    fn certificates(&self) -> Vec<Value> {
        self.files.certificates()
    }
}

//! `martlet nf NAME`: one network function in a process of its own.
use super::capture::CaptureArgs;
use crate::config_args::ConfigArgs;
use crate::reload::Reloader;
use crate::{northbound, runtime, trim};
use anyhow::{Result, bail};
use clap::Args;
use martlet::certificates;
use martlet::config::{API_FUNCTION, Config, PROCESSES};
use martlet::core::{Sbi, fabric_environment, secure_environment, start_function, status_entry};
use martlet::sandbox::{self, Files};
use martlet::ue_history;
use martlet_nf::oam::OamServer;
use martlet_nf::{NfIdentity, Shutdown, StartError};
use martlet_sandbox::Entered;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Starts one network function.
#[derive(Args)]
pub struct NfArgs {
    /// Name of the function
    #[arg(value_parser = PROCESSES)]
    pub name: String,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    /// Binding of the SBI: http, or fabric for functions on the same machine
    #[arg(long, value_enum, default_value = "http")]
    pub sbi: Sbi,
    /// The supervisor. This process ends with it
    #[arg(long, value_name = "PID", hide = true)]
    pub supervisor: Option<u32>,
}

/// A function that had started failed. The supervisor of `up --split` starts it again. Exit code 1
/// of the first start means a wrong configuration instead.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct FunctionFailed(#[from] StartError);

impl FunctionFailed {
    /// The exit code: an internal software error (sysexits(3)).
    pub const EXIT_CODE: u8 = 70;
}

/// Runs the command.
pub fn run(args: NfArgs) -> Result<()> {
    let file = args.config.file();
    let mut config = Config::load(file.as_deref())?;
    config.fabric.set_socket();
    config.security.set_user();
    args.capture.create()?;
    let files = Files { config: file.clone(), pcap: args.capture.pcap.clone() };
    let entered = sandbox::enter(&args.name, &config, &files)?;
    if args.name == API_FUNCTION {
        return runtime::block_on(api(config, file, args.supervisor, entered));
    }
    args.capture.start(Some(&args.name))?;
    let _traces = martlet_nf::traces::start(&config.oam.traces, &format!("martlet-{}", args.name))?;
    if args.supervisor.is_none() {
        config.sbi.warn_if_open();
    }
    runtime::block_on(async move {
        let (trigger, shutdown) = Shutdown::new();
        runtime::on_signal(trigger)?;
        match args.supervisor {
            Some(supervisor) => runtime::exit_with_parent(supervisor)?,
            None if args.name == "upf" => runtime::extend_stop(&config, shutdown.clone()),
            None => {}
        }
        let history_file = config.oam.history.file(&config.udr.path, Some(&args.name));
        let _history =
            history_file.map(|file| ue_history::open(&file, &config.oam.history)).transpose()?;
        let environment = secure_environment(&config, &args.name, Sbi::Http, true, shutdown)?;
        let environment = match args.sbi {
            Sbi::Local => bail!(
                "--sbi local needs all functions in one process: use --sbi fabric or --sbi http"
            ),
            Sbi::Fabric => fabric_environment(&environment, &config, &args.name),
            Sbi::Http => environment,
        };
        let running = start_function(&args.name, &config, &environment).await?;
        let (name, identity, handle) = (running.name, running.identity, running.handle);
        let source = handle.status;
        let status = Arc::new(move || {
            let NfIdentity { instance_id, authority } = &identity;
            let mut nf = status_entry(name, instance_id, authority, source());
            let (pid, rights) = (std::process::id(), martlet_sandbox::rights());
            let certificates = certificates::status();
            nf["process"] =
                serde_json::json!({"pid": pid, "rights": rights, "certificates": certificates});
            serde_json::json!({"mode": "alone", "pid": pid, "nfs": [nf]})
        });
        let oam = OamServer::bind(&config.oam_endpoint(Some(&args.name)), status)
            .await?
            .asking(vec![handle.ask]);
        let oam = oam.ready_when(handle.ready.clone());
        let reloads = handle.reload.into_iter().map(|reload| (name, reload)).collect();
        let reloader = Reloader::new(file, reloads, Some(name));
        runtime::on_hangup(Arc::new(Mutex::new(reloader)))?;
        runtime::notify_readiness(handle.ready);
        trim::after_start();
        entered.seal();
        runtime::protect_memory()?;
        certificates::start();
        tracing::info!(nf = name, oam = %oam.socket().display(), "function ready");
        let oam = tokio::spawn(oam.run());
        let outcome = running.finished.await;
        oam.abort();
        Ok(outcome.map_err(FunctionFailed)?)
    })
}

/// Runs the function of the API in this process.
async fn api(
    config: Config,
    file: Option<PathBuf>,
    supervisor: Option<u32>,
    entered: Entered,
) -> Result<()> {
    anyhow::ensure!(config.oam.api.enabled, "the API is off: set oam.api.enabled");
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger)?;
    if let Some(supervisor) = supervisor {
        runtime::exit_with_parent(supervisor)?;
    }
    let status = Arc::new(move || {
        let (pid, rights) = (std::process::id(), martlet_sandbox::rights());
        let process = serde_json::json!({"pid": pid, "rights": rights});
        let nf = serde_json::json!({"name": API_FUNCTION, "process": process});
        serde_json::json!({"mode": "alone", "pid": pid, "nfs": [nf]})
    });
    let oam = OamServer::bind(&config.oam_endpoint(Some(API_FUNCTION)), status).await?;
    // A reload applies nothing here, but without this SIGHUP would end the process.
    let reloader = Reloader::new(file.clone(), Vec::new(), Some(API_FUNCTION));
    runtime::on_hangup(Arc::new(Mutex::new(reloader)))?;
    let access = Arc::new(northbound::SplitAccess::new(&config, file));
    let mut api = northbound::start(&config, access).await?;
    runtime::notify_readiness(Arc::new(|| Ok(())));
    trim::after_start();
    entered.seal();
    runtime::protect_memory()?;
    certificates::start();
    api.serve();
    let address = api.address.map(tracing::field::display);
    tracing::info!(socket = %api.socket.display(), address, "API ready");
    tokio::select! {
        () = oam.run() => {}
        () = shutdown.wait() => {}
    }
    drop(api);
    Ok(())
}

//! `martlet up`: the whole core.
use super::capture::CaptureArgs;
use super::nf::{self, NfArgs};
use crate::config_args::ConfigArgs;
use crate::log::LogArgs;
use crate::reload::Reloader;
use crate::supervisor::{self, FunctionCommand, Role, start_fork_server};
use crate::{northbound, runtime, trim, watchdog};
use anyhow::{Result, bail};
use clap::Args;
use martlet::backups;
use martlet::certificates;
use martlet::config::Config;
use martlet::core::{Core, Sbi, secure_environment};
use martlet::sandbox::{self, Files};
use martlet::ue_history;
use martlet_nf::Shutdown;
use martlet_nf::oam::{OamServer, StatusSource};
use martlet_sandbox::Entered;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Starts the core.
#[derive(Args)]
pub struct UpArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Run each network function in a process of its own
    #[arg(long)]
    split: bool,
    #[command(flatten)]
    capture: CaptureArgs,
    /// Binding of the SBI [default: local in one process, fabric with --split]
    #[arg(long, value_enum)]
    sbi: Option<Sbi>,
}

impl UpArgs {
    /// The arguments of a function's process.
    fn of_function(self, name: String, sbi: Sbi) -> NfArgs {
        let mut capture = self.capture;
        capture.pcap_join = capture.pcap.is_some();
        let supervisor = std::os::unix::process::parent_id();
        NfArgs { name, config: self.config, capture, sbi, supervisor: Some(supervisor) }
    }
}

/// Runs the command.
pub fn run(args: UpArgs, log: &LogArgs) -> Result<()> {
    let started = Instant::now();
    let file = args.config.file();
    let mut config = Config::load(file.as_deref())?;
    config.fabric.set_socket();
    config.security.set_user();
    // With the rights of the start, and before a function opens a database.
    if let Err(error) = backups::carry_out(&config) {
        bail!("{error}: {}", error.remedy());
    }
    if args.split {
        let sbi = args.sbi.unwrap_or(Sbi::Fabric);
        anyhow::ensure!(
            sbi != Sbi::Local,
            "--sbi local needs one process: use --sbi fabric or --sbi http with --split"
        );
        let capture = args.capture.shared()?;
        config.sbi.warn_if_open();
        config.fabric.admit(&config.security.uids());
        sandbox::enter_supervisor(&config).seal();
        runtime::protect_memory()?;
        let fork_server = match config.security.fork {
            true => start_fork_server()?,
            false => Role::Supervisor(None),
        };
        let fork_server = match fork_server {
            Role::Function(name) => return nf::run(args.of_function(name, sbi)),
            Role::Supervisor(server) => Arc::new(Mutex::new(server)),
        };
        let function = FunctionCommand { file, sbi, log: log.clone(), capture, fork_server };
        return supervisor::run(config, function);
    }
    args.capture.create()?;
    let files = Files { config: file.clone(), pcap: args.capture.pcap.clone() };
    let entered = sandbox::enter("core", &config, &files)?;
    args.capture.start(None)?;
    let _traces = martlet_nf::traces::start(&config.oam.traces, "martlet")?;
    let sbi = args.sbi.unwrap_or(Sbi::Local);
    runtime::block_on(one_process(config, entered, file, sbi, started))
}

async fn one_process(
    config: Config,
    entered: Entered,
    file: Option<PathBuf>,
    sbi: Sbi,
    started: Instant,
) -> Result<()> {
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    runtime::extend_stop(&config, shutdown.clone());
    let history_file = config.oam.history.file(&config.udr.path, None);
    let _history =
        history_file.map(|file| ue_history::open(&file, &config.oam.history)).transpose()?;
    if sbi != Sbi::Local || config.sbi.has_remote_consumers() {
        config.sbi.warn_if_open();
    }
    let listen = config.sbi.has_remote_consumers();
    let environment = secure_environment(&config, "core", sbi, listen, shutdown)?;
    let core = Core::start(&config, sbi, &environment, trigger).await?;
    let status = of_process(core.status_source());
    let oam = OamServer::bind(&config.oam_endpoint(None), status.clone()).await?;
    let reloader = Reloader::new(file.clone(), core.reload_sources(), None);
    let reloader = Arc::new(Mutex::new(reloader));
    let mut api = match config.oam.api.enabled {
        true => {
            let asks = core.ask_sources();
            let access =
                northbound::LocalAccess::new(&config, file, status, asks, reloader.clone());
            match northbound::start(&config, Arc::new(access)).await {
                Ok(api) => Some(api),
                Err(error) if northbound::is_needed(&config) => return Err(error),
                Err(error) => {
                    let reason = martlet::error_text(&error);
                    tracing::error!("commands cannot reach this core: {reason}");
                    None
                }
            }
        }
        false => None,
    };
    let oam = oam.asking(core.ask_sources()).ready_when(core.ready_source());
    runtime::on_hangup(reloader)?;
    runtime::notify_readiness(core.ready_source());
    trim::after_start();
    watchdog::start(&config.oam.watchdog)?;
    entered.seal();
    runtime::protect_memory()?;
    certificates::start();
    let ms = started.elapsed().as_millis() as u64;
    tracing::info!(oam = %oam.socket().display(), ms, ?sbi, "core ready");
    if let Some(api) = &mut api {
        api.serve();
        let address = api.address.map(tracing::field::display);
        tracing::info!(socket = %api.socket.display(), address, "API ready");
    }
    let oam = tokio::spawn(oam.run());
    let outcome = core.finished().await;
    oam.abort();
    drop(api);
    outcome
}

/// The status with the rights and the certificates of this process.
fn of_process(status: StatusSource) -> StatusSource {
    Arc::new(move || {
        let mut status = status();
        status["rights"] = serde_json::json!(martlet_sandbox::rights());
        status["certificates"] = certificates::status();
        status
    })
}

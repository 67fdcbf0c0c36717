//! `martlet up`: the whole core.
use super::capture::CaptureArgs;
use crate::log::LogArgs;
use crate::supervisor::{self, FunctionCommand};
use crate::{runtime, trim};
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use martlet::core::{Core, Sbi, secure_environment};
use martlet::ue_history;
use martlet_nf::Shutdown;
use martlet_nf::oam::OamServer;
use std::path::PathBuf;
use std::time::Instant;

/// Starts the core.
#[derive(Args)]
pub struct UpArgs {
    /// Configuration [default: built-in]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Run each network function in a process of its own
    #[arg(long)]
    split: bool,
    #[command(flatten)]
    capture: CaptureArgs,
    /// Binding of the SBI [default: local in one process, fabric with --split]
    #[arg(long, value_enum)]
    sbi: Option<Sbi>,
}

/// Runs the command.
pub fn run(args: UpArgs, log: &LogArgs) -> Result<()> {
    let started = Instant::now();
    let config = Config::load(args.config.as_deref())?;
    if args.split {
        let sbi = args.sbi.unwrap_or(Sbi::Fabric);
        anyhow::ensure!(
            sbi != Sbi::Local,
            "--sbi local needs one process: use --sbi fabric or --sbi http with --split"
        );
        let capture = args.capture.shared()?;
        let function = FunctionCommand { file: args.config, sbi, log: log.clone(), capture };
        return supervisor::run(config, function);
    }
    args.capture.start(None)?;
    let _traces = martlet_nf::traces::start(&config.oam.traces, "martlet")?;
    runtime::block_on(one_process(config, args.config, args.sbi.unwrap_or(Sbi::Local), started))
}

async fn one_process(
    config: Config,
    file: Option<PathBuf>,
    sbi: Sbi,
    started: Instant,
) -> Result<()> {
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    let history_file = config.oam.history.file(&config.udr.path, None);
    let _history =
        history_file.map(|file| ue_history::open(&file, &config.oam.history)).transpose()?;
    let environment = secure_environment(&config, "core", sbi, config.sbi.listen, shutdown)?;
    let core = Core::start(&config, sbi, &environment, trigger).await?;
    let oam =
        OamServer::bind(config.oam.bind, core.status_source()).await?.asking(core.ask_sources());
    let oam = oam.ready_when(core.ready_source());
    runtime::on_hangup(file, core.reload_sources())?;
    runtime::notify_readiness(core.ready_source());
    trim::after_start();
    let ms = started.elapsed().as_millis() as u64;
    tracing::info!(oam = %oam.local_addr()?, ms, ?sbi, "core ready");
    let oam = tokio::spawn(oam.run());
    let outcome = core.finished().await;
    oam.abort();
    outcome
}

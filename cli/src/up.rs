//! `martlet up`: the whole core.
use crate::log::LogFormat;
use crate::{runtime, split, trim};
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use martlet::core::{Core, Sbi, secure_environment};
use martlet_nf::Shutdown;
use martlet_nf::oam::OamServer;
use std::path::PathBuf;
use std::time::Instant;

/// Starts the core.
#[derive(Args)]
pub struct UpArgs {
    /// Configuration; the built-in defaults where it is left out
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// One process each instead of one for all
    #[arg(long)]
    split: bool,
    #[command(flatten)]
    capture: CaptureArgs,
    /// How the functions talk: within one process local unless said otherwise, between processes over the fabric
    #[arg(long, value_enum)]
    sbi: Option<Sbi>,
}

/// What is captured.
#[derive(Args)]
pub struct CaptureArgs {
    /// Capture N2, N4 and the SBI into this file, which Wireshark opens (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Capture N1 too, as it is before it is ciphered
    #[arg(long, requires = "pcap")]
    pub pcap_n1: bool,
}

impl CaptureArgs {
    /// Starts the capture that is asked for.
    pub fn start(&self) -> Result<()> {
        match &self.pcap {
            Some(file) => Ok(martlet_nf::capture::start(file, self.pcap_n1)?),
            None => Ok(()),
        }
    }
}

/// Runs the command.
pub fn run(args: UpArgs, log: &str, format: LogFormat) -> Result<()> {
    let started = Instant::now();
    let config = Config::load(args.config.as_deref())?;
    if args.split {
        anyhow::ensure!(
            args.capture.pcap.is_none(),
            "--pcap is for one process: with --split, start functions with martlet nf"
        );
        let sbi = args.sbi.unwrap_or(Sbi::Fabric);
        anyhow::ensure!(sbi != Sbi::Local, "--split and --sbi local exclude each other: use --sbi fabric or http");
        return split::run(config, args.config, sbi, log, format);
    }
    args.capture.start()?;
    let _traces = martlet_nf::traces::start(&config.oam.traces, "martlet")?;
    runtime::block_on(one_process(config, args.config, args.sbi.unwrap_or(Sbi::Local), started))
}

async fn one_process(config: Config, file: Option<PathBuf>, sbi: Sbi, started: Instant) -> Result<()> {
    let (trigger, shutdown) = Shutdown::new();
    runtime::on_signal(trigger.clone())?;
    let history = config.oam.history.file(&config.udr.path, None);
    let _history = history.map(|file| martlet::history::open(&file, &config.oam.history)).transpose()?;
    let environment = secure_environment(&config, "core", sbi, config.sbi.listen, shutdown)?;
    let core = Core::start(&config, sbi, &environment, trigger).await?;
    let oam = OamServer::bind(config.oam.bind, core.status_source()).await?.asking(core.ask_sources());
    let oam = oam.ready_when(core.ready_source());
    runtime::on_hangup(file, core.reload_sources())?;
    runtime::watch_readiness(core.ready_source());
    trim::once_settled();
    tracing::info!(oam = %oam.local_addr()?, ms = started.elapsed().as_millis() as u64, sbi = ?sbi, "Martlet is ready");
    let oam = tokio::spawn(oam.run());
    let outcome = core.finished().await;
    oam.abort();
    outcome
}

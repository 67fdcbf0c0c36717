//! `martlet up`: the whole core.
use crate::log::LogFormat;
use crate::{runtime, split, trim};
use anyhow::Result;
use clap::Args;
use martlet::config::{Config, FUNCTIONS};
use martlet::core::{Core, Sbi, secure_environment};
use martlet_nf::oam::OamServer;
use martlet_nf::{Shutdown, capture};
use std::ffi::OsString;
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
    /// How the functions talk: within one process local unless said otherwise, between processes
    /// over the fabric
    #[arg(long, value_enum)]
    sbi: Option<Sbi>,
}

/// What is captured.
#[derive(Args)]
pub struct CaptureArgs {
    /// Capture N2, N4 and the SBI, whatever carries it, into this file, which Wireshark opens
    /// (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Capture N1 too, as it is before it is ciphered
    #[arg(long, requires = "pcap")]
    pub pcap_n1: bool,
    /// The file is there: other functions write into it as well
    #[arg(long, requires = "pcap", hide = true)]
    pub pcap_join: bool,
}

impl CaptureArgs {
    /// Starts the capture that is asked for: of the function of this name, or of all.
    pub fn start(&self, function: Option<&str>) -> Result<()> {
        let Some(file) = &self.pcap else { return Ok(()) };
        match function.and_then(|name| FUNCTIONS.iter().position(|function| *function == name)) {
            Some(place) if self.pcap_join => capture::join(file, &FUNCTIONS, place, self.pcap_n1)?,
            _ => capture::start(file, self.pcap_n1)?,
        }
        Ok(())
    }

    /// Makes the file in which functions write that have a process each, and gives the arguments
    /// that tell them.
    pub fn shared(&self) -> Result<Vec<OsString>> {
        let Some(file) = &self.pcap else { return Ok(Vec::new()) };
        capture::create(file, &FUNCTIONS)?;
        let mut arguments = vec!["--pcap".into(), file.into(), "--pcap-join".into()];
        arguments.extend(self.pcap_n1.then(|| "--pcap-n1".into()));
        Ok(arguments)
    }
}

/// Runs the command.
pub fn run(args: UpArgs, log: &str, format: LogFormat) -> Result<()> {
    let started = Instant::now();
    let config = Config::load(args.config.as_deref())?;
    if args.split {
        let sbi = args.sbi.unwrap_or(Sbi::Fabric);
        anyhow::ensure!(
            sbi != Sbi::Local,
            "--split and --sbi local exclude each other: use --sbi fabric or http"
        );
        let capture = args.capture.shared()?;
        return split::run(config, args.config, sbi, log, format, capture);
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
    let history = config.oam.history.file(&config.udr.path, None);
    let _history =
        history.map(|file| martlet::history::open(&file, &config.oam.history)).transpose()?;
    let environment = secure_environment(&config, "core", sbi, config.sbi.listen, shutdown)?;
    let core = Core::start(&config, sbi, &environment, trigger).await?;
    let oam =
        OamServer::bind(config.oam.bind, core.status_source()).await?.asking(core.ask_sources());
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

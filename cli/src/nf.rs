//! `martlet nf NAME`: one network function alone in its process.
use crate::{runtime, trim};
use anyhow::{Result, bail};
use clap::Args;
use martlet::config::{Config, FUNCTIONS};
use martlet::core::{Sbi, entry, in_fabric, secure_environment};
use martlet::functions::start_named;
use martlet_nf::Shutdown;
use martlet_nf::oam::OamServer;
use std::path::PathBuf;
use std::sync::Arc;

/// Starts one network function.
#[derive(Args)]
pub struct NfArgs {
    /// Which one
    #[arg(value_parser = FUNCTIONS)]
    name: String,
    /// Configuration; the built-in defaults where it is left out
    #[arg(short, long)]
    config: Option<PathBuf>,
    #[command(flatten)]
    capture: crate::up::CaptureArgs,
    /// How it talks to others: http, or fabric where others of this machine share its memory
    #[arg(long, value_enum, default_value = "http")]
    sbi: Sbi,
    /// The process that watches this one, which ends with it
    #[arg(long, value_name = "PID", hide = true)]
    watched_by: Option<u32>,
}

/// Runs the command.
pub fn run(args: NfArgs) -> Result<()> {
    let config = Config::load(args.config.as_deref())?;
    args.capture.start(Some(&args.name))?;
    let _traces = martlet_nf::traces::start(&config.oam.traces, &format!("martlet-{}", args.name))?;
    runtime::block_on(async move {
        let (trigger, shutdown) = Shutdown::new();
        runtime::on_signal(trigger)?;
        if let Some(watcher) = args.watched_by {
            runtime::end_with(watcher)?;
        }
        let history = config.oam.history.file(&config.udr.path, Some(&args.name));
        let _history =
            history.map(|file| martlet::history::open(&file, &config.oam.history)).transpose()?;
        let environment = secure_environment(&config, &args.name, Sbi::Http, true, shutdown)?;
        let environment = match args.sbi {
            Sbi::Local => bail!(
                "a function alone has nobody to call within its process: use --sbi fabric or http"
            ),
            Sbi::Fabric => in_fabric(&environment, &config, &args.name),
            Sbi::Http => environment,
        };
        let running = start_named(&args.name, &config, &environment).await?;
        let (name, id, authority, source) =
            (running.name, running.instance_id, running.authority, running.status);
        let status = Arc::new(move || {
            let nfs = [entry(name, &id, &authority, source())];
            serde_json::json!({"mode": "alone", "pid": std::process::id(), "nfs": nfs})
        });
        let oam = OamServer::bind(config.oam.of(&args.name), status)
            .await?
            .asking(running.ask.into_iter().collect());
        let oam = oam.ready_when(running.ready.clone());
        runtime::on_hangup(
            args.config.clone(),
            running.reload.into_iter().map(|reload| (name, reload)).collect(),
        )?;
        runtime::watch_readiness(running.ready);
        trim::once_settled();
        tracing::info!(nf = name, oam = %oam.local_addr()?, "ready");
        let oam = tokio::spawn(oam.run());
        let outcome = running.finished.await;
        oam.abort();
        Ok(outcome?)
    })
}

//! `martlet fabric`: the manager of the shared-memory fabric, for network functions that are
//! started one by one.
use crate::runtime;
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use martlet::core::FabricManager;
use martlet_nf::Shutdown;
use std::path::PathBuf;

/// Runs the manager of this machine's fabric.
#[derive(Args)]
pub struct FabricArgs {
    /// Configuration [default: built-in]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: FabricArgs) -> Result<()> {
    let config = Config::load(args.config.as_deref())?;
    runtime::block_on(async move {
        let (trigger, shutdown) = Shutdown::new();
        runtime::on_signal(trigger)?;
        let _manager = FabricManager::start(&config)?;
        let socket = config.fabric.of_manager().socket;
        tracing::info!(socket = %socket.display(), "fabric manager ready");
        shutdown.wait().await;
        Ok(())
    })
}

//! `martlet fabric`: the manager of the machine's shared memory, for network functions that are
//! started one by one.
use crate::runtime;
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use martlet::core::FabricManager;
use martlet_nf::Shutdown;
use std::path::PathBuf;

/// Manages the machine's fabric.
#[derive(Args)]
pub struct FabricArgs {
    /// Configuration; the built-in defaults where it is left out
    #[arg(short, long)]
    config: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: FabricArgs) -> Result<()> {
    let config = Config::load(args.config.as_deref())?;
    runtime::block_on(async move {
        let (trigger, shutdown) = Shutdown::new();
        runtime::on_signal(trigger)?;
        let _manager = FabricManager::start(&config)?;
        tracing::info!(socket = %config.fabric.of_manager().socket.display(), "the fabric is managed");
        shutdown.wait().await;
        Ok(())
    })
}

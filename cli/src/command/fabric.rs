//! `martlet fabric`: the manager of the shared-memory fabric, for network functions that are
//! started one by one.
use crate::config_args::ConfigArgs;
use crate::runtime;
use anyhow::Result;
use clap::Args;
use martlet::core::FabricManager;
use martlet::sandbox;
use martlet_nf::Shutdown;

/// Runs the manager of this machine's fabric.
#[derive(Args)]
pub struct FabricArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Runs the command.
pub fn run(args: FabricArgs) -> Result<()> {
    let mut config = args.config.load()?;
    config.fabric.set_socket();
    config.fabric.admit(&config.security.uids());
    sandbox::share_runtime_folder(&config);
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

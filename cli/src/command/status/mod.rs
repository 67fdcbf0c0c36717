//! `martlet status`: the status of a running core.
mod network;
mod render;
mod security;

use crate::core_client::CoreClient;
use crate::liveness::HungProcess;
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::Result;
use clap::Args;

/// Shows the status of a running core.
#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show the rights of each process: user, capabilities, system calls, files
    #[arg(long, conflicts_with = "json")]
    security: bool,
    /// Show the whole network, on all machines: functions with what each lacks, UPFs and gNBs
    #[arg(long, conflicts_with = "security")]
    network: bool,
}

/// Runs the command.
pub fn run(args: StatusArgs) -> Result<()> {
    if args.network {
        let core = args.oam.client()?;
        let functions = runtime::block_on(async {
            let functions = core.network().await;
            if let Err(error) = &functions
                && !args.json
            {
                print_functions_of_this_machine(&core, error).await;
            }
            functions
        })?;
        match args.json {
            true => println!("{functions:#}"),
            false => println!("{}", network::render(&functions)),
        }
        return Ok(());
    }
    let core = args.oam.client()?;
    let status = runtime::block_on(core.status())?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
        return Ok(());
    }
    if args.security {
        print!("{}", security::render(&status));
        return Ok(());
    }
    print!("{}", render::status(&status));
    Ok(())
}

/// Without the NRF, the functions of this machine are known all the same.
async fn print_functions_of_this_machine(core: &CoreClient, error: &anyhow::Error) {
    if error.is::<HungProcess>() {
        return;
    }
    if let Ok(status) = core.status().await {
        println!("The functions of the network are not known. Those of this machine:\n");
        println!("{}", render::status(&status));
    }
}

//! `martlet status`: what a running core has.
mod render;

use crate::{oam_client, runtime};
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Shows what a running core has.
#[derive(Args)]
pub struct StatusArgs {
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Address of its status endpoint, in place of the configuration's `oam.bind`
    #[arg(long)]
    at: Option<SocketAddr>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: StatusArgs) -> Result<()> {
    let address = match args.at {
        Some(address) => address,
        None => Config::load(args.config.as_deref())?.oam.bind,
    };
    let status = runtime::block_on(oam_client::status(address))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
        return Ok(());
    }
    print!("{}", render::status(&status));
    Ok(())
}

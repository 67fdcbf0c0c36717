//! `martlet drain`: takes a function out of service without failing requests.
use crate::oam_client::{self, OamArgs};
use crate::runtime;
use anyhow::{Context, Result, bail};
use clap::Args;
use martlet::config::FUNCTIONS;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Drains a function of this machine: consumers and gNBs select another instance, and this one
/// serves what it has. Stop it afterwards.
#[derive(Args)]
pub struct DrainArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// The function, such as amf
    function: String,
    /// End the draining
    #[arg(long)]
    undo: bool,
}

/// Runs the command.
pub fn run(args: DrainArgs) -> Result<()> {
    let name = args.function.as_str();
    if !FUNCTIONS.contains(&name) || name == "nrf" {
        bail!("{name:?} cannot be drained: write one of {}", FUNCTIONS.join(", "));
    }
    let command = if args.undo { "undrain" } else { "drain" };
    let path = format!("/ask/{command}/{name}");
    let endpoints = args.oam.function(name)?;
    let answer = runtime::block_on(oam_client::ask_any(&endpoints, &path, TIMEOUT));
    let (status, answer) = answer.context("the request to the core failed")?;
    if status != 200 {
        bail!("{}", answer["detail"].as_str().unwrap_or("no such function runs on this machine"));
    }
    match args.undo {
        true => println!("{name}: consumers select it again"),
        false => println!("{name}: consumers select other instances; stop it when it is idle"),
    }
    Ok(())
}

//! `martlet drain`: takes a function out of service without failing requests.
use crate::core_client::Request;
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::{Result, bail};
use clap::Args;
use hyper::Method;
use martlet::config::FUNCTIONS;
use serde_json::json;

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
    // An NRF need not be drained: functions register with each.
    let all: Vec<&str> = FUNCTIONS.into_iter().filter(|name| *name != "nrf").collect();
    let Some(name) = all.iter().find(|name| **name == args.function) else {
        let name = &args.function;
        bail!("{name:?} cannot be drained: write one of {}", all.join(", "));
    };
    let command = if args.undo { "undrain" } else { "drain" };
    let path = format!("/functions/{name}/draining");
    let request = Request::get(path, name, &format!("{command}/{name}"))
        .change(Method::PUT, Some(json!({"draining": !args.undo})))
        .or_say("no such function runs on this machine");
    let core = args.oam.client()?;
    runtime::block_on(core.send(request))?;
    match args.undo {
        true => println!("{name}: consumers select it again"),
        false => println!("{name}: consumers select other instances; stop it when it is idle"),
    }
    Ok(())
}

//! `martlet rebalance`: moves registered UEs to other AMFs of the set.
use crate::core_client::Request;
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::Result;
use clap::Args;
use hyper::Method;

/// Moves registered UEs from the AMF of this machine to the other AMFs of its set, until it has its
/// share by relative capacity. UEs move when they are quiet; idle UEs after their next connection.
#[derive(Args)]
pub struct RebalanceArgs {
    #[command(flatten)]
    oam: OamArgs,
}

/// Runs the command.
pub fn run(args: RebalanceArgs) -> Result<()> {
    let request = Request::get("/functions/amf/rebalancing", "amf", "amf/rebalancing")
        .change(Method::POST, None)
        .or_say("no AMF runs on this machine");
    let core = args.oam.client()?;
    let answer = runtime::block_on(core.send(request))?;
    let (registered, moving) = (&answer["registered"], &answer["toMove"]);
    println!("amf: {moving} of {registered} registered UEs move to other AMFs of the set");
    Ok(())
}

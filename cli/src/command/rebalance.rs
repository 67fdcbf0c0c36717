//! `martlet rebalance`: moves registered UEs to other AMFs of the set.
use crate::core_client::Request;
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::Result;
use clap::Args;
use hyper::Method;
use serde_json::Value;

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
    println!("{}", text(&answer));
    Ok(())
}

fn text(answer: &Value) -> String {
    let number = |name: &str| answer[name].as_u64().unwrap_or_default();
    let (registered, moving) = (number("registered"), number("toMove"));
    let mut text = format!("amf: {moving} of {registered} registered UEs move to other AMFs");
    if number("amfs") == 0 {
        text += "\nno other AMF of the set can take UEs: it has to share \
            amf.context_store.database, be ready (martlet status --network), and not be drained";
    } else if number("gnbsWithout") > 0 {
        text += &format!(
            "\n{} gNBs have no association with these AMFs: their UEs stay",
            number("gnbsWithout")
        );
    }
    for silent in answer["noAnswer"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text += &format!("\nAMF {silent} does not answer: it gets no UEs");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_answer_has_the_reason_why_ues_stay() {
        let with = |amfs, gnbs| {
            let moving = if amfs == 0 { 0 } else { 10 };
            text(&json!({
                "registered": 20, "toMove": moving, "amfs": amfs, "gnbsWithout": gnbs,
            }))
        };
        assert_eq!(with(1, 0), "amf: 10 of 20 registered UEs move to other AMFs");
        assert!(with(0, 2).contains("amf.context_store.database"), "{}", with(0, 2));
        assert!(with(2, 1).ends_with("1 gNBs have no association with these AMFs: their UEs stay"));
        let silent = text(&json!({
            "registered": 20, "toMove": 10, "amfs": 1, "noAnswer": ["010042 at 127.0.0.7:7777"],
        }));
        assert!(silent.ends_with("\nAMF 010042 at 127.0.0.7:7777 does not answer: it gets no UEs"));
    }
}

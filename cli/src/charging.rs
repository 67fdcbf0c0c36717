//! `martlet charging`: what phones have used, and what they may use.
use crate::{oam_client, runtime};
use anyhow::{Context, Result, bail};
use clap::Args;
use martlet::config::Config;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

/// Shows accounts and records of the CHF, or sets what a phone may use.
#[derive(Args)]
pub struct ChargingArgs {
    /// One phone's IMSI, such as imsi-001010000000001; left out, all
    imsi: Option<String>,
    /// Octets that the phone may use from now on, or `unlimited`
    #[arg(long, requires = "imsi")]
    set: Option<String>,
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Address of the core's status endpoint, in place of the configuration's `oam.bind`
    #[arg(long)]
    at: Option<SocketAddr>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: ChargingArgs) -> Result<()> {
    let supi =
        args.imsi.map(|imsi| if imsi.starts_with("imsi-") { imsi } else { format!("imsi-{imsi}") });
    if let Some(value) = &args.set
        && value != "unlimited"
        && value.parse::<u64>().is_err()
    {
        bail!("--set {value:?}: write a number of octets, or unlimited");
    }
    let words = ["/ask/charging".to_string()].into_iter().chain(supi).chain(args.set);
    let path = words.collect::<Vec<_>>().join("/");
    // With one process for each function, the CHF has an endpoint of its own.
    let (first, second) = match args.at {
        Some(address) => (address, None),
        None => {
            let oam = Config::load(args.config.as_deref())?.oam;
            (oam.bind, Some(oam.of("chf")))
        }
    };
    let answer = runtime::block_on(async {
        let answer = oam_client::ask(first, &path, LIMIT).await;
        match (answer, second) {
            (Ok((404, body)), Some(second)) if body.is_null() => {
                oam_client::ask(second, &path, LIMIT).await
            }
            (answer, _) => answer,
        }
    });
    let (status, answer) = answer.context("the core was not asked")?;
    if status != 200 {
        bail!(
            "{}",
            answer["detail"]
                .as_str()
                .unwrap_or("no CHF runs there: set chf.enabled in the configuration")
        );
    }
    if args.json {
        println!("{answer:#}");
        return Ok(());
    }
    show(&answer);
    Ok(())
}

fn show(answer: &Value) {
    let none = |what: &str| match &answer[what] {
        Value::Object(all) => all.is_empty(),
        Value::Array(all) => all.is_empty(),
        _ => true,
    };
    if none("accounts") && none("records") {
        println!(
            "Nobody is charged: SMFs ask the CHF for sessions that begin with smf.charging.mode \
             online or offline."
        );
        return;
    }
    println!(
        "{:<22} {:>16} {:>16} {:>16}",
        "subscriber", "left, octets", "uplink, octets", "downlink, octets"
    );
    for (supi, account) in answer["accounts"].as_object().into_iter().flatten() {
        let left =
            account["left"].as_u64().map_or("unlimited".to_string(), |left| left.to_string());
        println!(
            "{supi:<22} {left:>16} {:>16} {:>16}",
            account["uplink"].to_string(),
            account["downlink"].to_string()
        );
    }
    println!();
    println!(
        "{:<22} {:>3} {:<16} {:<20} {:<20} {:>14} {:>14}",
        "subscriber", "id", "network", "from", "to", "uplink", "downlink"
    );
    let text =
        |value: &Value| value.as_str().unwrap_or_default().chars().take(19).collect::<String>();
    for record in answer["records"].as_array().into_iter().flatten() {
        let ended = match record["ended"].as_str() {
            Some("") | None => "lasts".to_string(),
            Some(_) => text(&record["ended"]),
        };
        println!(
            "{:<22} {:>3} {:<16} {:<20} {:<20} {:>14} {:>14}",
            record["supi"].as_str().unwrap_or_default(),
            record["session"].to_string(),
            text(&record["dnn"]),
            text(&record["started"]),
            ended,
            record["uplink"].to_string(),
            record["downlink"].to_string(),
        );
    }
}

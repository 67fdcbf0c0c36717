//! `martlet charging`: usage and quota of subscribers.
use super::subscriber::supi;
use crate::core_client::{CoreClient, Request};
use crate::oam_client::OamArgs;
use crate::runtime;
use crate::table::table;
use anyhow::{Result, bail, ensure};
use clap::Args;
use hyper::Method;
use martlet_sbi::path_segment;
use serde_json::{Value, json};
use std::time::Duration;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Shows accounts and records of the CHF, or sets a quota.
#[derive(Args)]
pub struct ChargingArgs {
    /// IMSI of a UE, such as imsi-001010000000001, or nai-user@realm [default: all]
    imsi: Option<String>,
    /// Set the remaining quota in bytes, or `unlimited`
    #[arg(long, requires = "imsi")]
    set: Option<String>,
    /// Set the quota also if there is no such subscriber
    #[arg(long, requires = "set")]
    force: bool,
    #[command(flatten)]
    oam: OamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: ChargingArgs) -> Result<()> {
    let supi = args.imsi.map(|imsi| supi(&imsi));
    if let Some(value) = &args.set
        && value != "unlimited"
        && value.parse::<u64>().is_err()
    {
        bail!("--set {value:?}: write a number of bytes, or unlimited");
    }
    let (path, question) = resources(supi.as_deref(), args.set.as_deref());
    let mut request = Request::get(path, "chf", &question)
        .or_say("no CHF is running: set chf.enabled in the configuration")
        .within(TIMEOUT);
    if let Some(value) = &args.set {
        let body = json!({"bytes": value.parse::<u64>().ok()});
        request = request.change(Method::PUT, Some(body)).of_any_version();
    }
    let core = args.oam.client()?;
    let required = supi.as_deref().filter(|_| args.set.is_some() && !args.force);
    let mut answer = runtime::block_on(async {
        if let Some(supi) = required {
            require_subscriber(&core, supi).await?;
        }
        core.send(request).await
    })?;
    if let Some(supi) = &supi {
        only(&mut answer, supi);
    }
    if args.json {
        println!("{answer:#}");
        return Ok(());
    }
    show(&answer);
    Ok(())
}

/// Checks that there is a subscriber, if the API tells: otherwise a typing error makes an account
/// that is never used.
async fn require_subscriber(core: &CoreClient, supi: &str) -> Result<()> {
    let CoreClient::Api(api) = core else { return Ok(()) };
    let path = format!("/subscribers/{}", path_segment(supi));
    let read = api.request(Method::GET, &path, &[], None).await?;
    ensure!(
        read.status != 404,
        "there is no subscriber {supi}: `martlet subscriber list` shows all, and --force sets the \
         quota all the same"
    );
    Ok(())
}

/// The path of the API, and the request for the CHF.
fn resources(supi: Option<&str>, set: Option<&str>) -> (String, String) {
    let segment = supi.map(path_segment);
    let path = match (&segment, set) {
        (Some(segment), Some(_)) => format!("/charging/{segment}"),
        _ => "/charging".into(),
    };
    let segments = ["charging"].into_iter().chain(segment.as_deref()).chain(set);
    (path, segments.collect::<Vec<_>>().join("/"))
}

/// Removes the accounts and records of other subscribers.
fn only(answer: &mut Value, supi: &str) {
    if let Some(accounts) = answer["accounts"].as_object_mut() {
        accounts.retain(|of, _| of == supi);
    }
    if let Some(records) = answer["records"].as_array_mut() {
        records.retain(|record| record["supi"] == supi);
    }
}

fn show(answer: &Value) {
    let accounts = answer["accounts"].as_object().into_iter().flatten();
    let records = answer["records"].as_array().into_iter().flatten();
    let accounts: Vec<Vec<String>> = accounts.map(|(supi, it)| account(supi, it)).collect();
    let records: Vec<Vec<String>> = records.map(record).collect();
    if accounts.is_empty() && records.is_empty() {
        println!(
            "No sessions are charged. SMFs charge new sessions with smf.charging.mode online or \
             offline."
        );
        return;
    }
    let header = ["subscriber", "left, bytes", "uplink, bytes", "downlink, bytes"];
    println!("{}\n", table(&header, accounts));
    let header = ["subscriber", "id", "network", "from", "to", "uplink", "downlink"];
    println!("{}", table(&header, records));
}

fn account(supi: &str, account: &Value) -> Vec<String> {
    let left = account["left"].as_u64().map_or("unlimited".to_string(), |left| left.to_string());
    vec![supi.into(), left, account["uplink"].to_string(), account["downlink"].to_string()]
}

fn record(record: &Value) -> Vec<String> {
    let text =
        |name: &str| record[name].as_str().unwrap_or_default().chars().take(19).collect::<String>();
    let ended = match record["ended"].as_str() {
        Some("") | None => "active".to_string(),
        Some(_) => text("ended"),
    };
    vec![
        record["supi"].as_str().unwrap_or_default().into(),
        record["session"].to_string(),
        text("dnn"),
        text("started"),
        ended,
        record["uplink"].to_string(),
        record["downlink"].to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supi_is_one_segment_of_the_path_and_of_the_request() {
        let of = |supi, set| {
            let (path, question) = resources(supi, set);
            format!("{path} {question}")
        };
        assert_eq!(of(None, None), "/charging charging");
        let nai = Some("nai-a/b?c@x.example");
        assert_eq!(of(nai, None), "/charging charging/nai-a%2Fb%3Fc%40x.example");
        let set = "/charging/nai-a%2Fb%3Fc%40x.example charging/nai-a%2Fb%3Fc%40x.example/9";
        assert_eq!(of(nai, Some("9")), set);
    }
}

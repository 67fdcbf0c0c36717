//! `martlet upf`: traces and captures packets of a running user plane.
use crate::api_client::Api;
use crate::core_client::{CoreClient, NO_UPF, Request};
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use hyper::Method;
use martlet_oam::UeFilter;
use martlet_upf::counters::DropReason;
use serde_json::{Value, json};
use std::time::Duration;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Polling interval.
const INTERVAL: Duration = Duration::from_millis(200);

/// Commands for a running user plane.
#[derive(Subcommand)]
pub enum UpfCommand {
    /// Show dropped packets with the reason and the rules
    Trace(TraceArgs),
    /// Capture packets of N6 into a pcap file of the UPF, at line rate; packets that do not fit are
    /// counted
    Capture(CaptureArgs),
    /// Reload the XDP programs without losing a packet
    Renew(RenewArgs),
}

/// Arguments of `martlet upf capture`.
#[derive(Args)]
pub struct CaptureArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// Bytes captured of each packet, at most 2048
    #[arg(long, default_value_t = 2048)]
    snap: u32,
    /// Maximum number of packets
    #[arg(long, default_value_t = 10_000_000)]
    packets: u64,
    /// Maximum size of the file in bytes
    #[arg(long, default_value_t = 1 << 30)]
    bytes: u64,
    /// Maximum duration in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Stop the running capture
    #[arg(long)]
    stop: bool,
}

/// Arguments of `martlet upf renew`.
#[derive(Args)]
pub struct RenewArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// Measure the processing time of one in this many packets from now on; 0 turns it off
    #[arg(long)]
    sample: Option<u32>,
}

/// Arguments of `martlet upf trace`.
#[derive(Args)]
pub struct TraceArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// Also show forwarded packets
    #[arg(long)]
    all: bool,
    /// Only packets of a UE, by its address, or the IPv6 prefix of its session
    #[arg(long)]
    ue: Option<UeFilter>,
    /// Only packets dropped for these reasons, such as gate,rate
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(DropReason::ALL.map(DropReason::name))
    )]
    reason: Vec<String>,
    /// Stop after a number of packets
    #[arg(long)]
    count: Option<usize>,
    /// Stop after a number of seconds
    #[arg(long)]
    seconds: Option<u64>,
    /// Print JSON, one line per packet, with its bytes
    #[arg(long)]
    json: bool,
}

/// A request for the UPF, over an OAM socket alone.
async fn ask(core: &CoreClient, query: &str) -> Result<Value> {
    let request = Request::get("", "upf", &format!("upf/{query}")).or_say(NO_UPF);
    core.send(request.within(TIMEOUT)).await
}

/// Runs the command.
pub fn run(command: UpfCommand) -> Result<()> {
    match command {
        UpfCommand::Trace(args) => runtime::block_on(trace(&args)),
        UpfCommand::Capture(args) => runtime::block_on(capture(&args)),
        UpfCommand::Renew(args) => {
            let question = args
                .sample
                .map_or("upf/renew".to_string(), |sample| format!("upf/renew/sample/{sample}"));
            let request = Request::get("/user-plane/renewal", "upf", &question)
                .change(Method::POST, Some(json!({"sample": args.sample})))
                .or_say(NO_UPF)
                .within(TIMEOUT);
            let core = args.oam.client()?;
            runtime::block_on(core.send(request))?;
            println!("XDP programs reloaded");
            Ok(())
        }
    }
}

async fn capture(args: &CaptureArgs) -> Result<()> {
    let core = args.oam.client()?;
    let end = || {
        let request = Request::get("/captures", "upf", "upf/capture/end").or_say(NO_UPF);
        core.send(request.change(Method::DELETE, None).within(TIMEOUT))
    };
    if args.stop {
        // A job, or another `martlet upf capture`, waits for the numbers of packets.
        print_capture(&end().await?);
        return Ok(());
    }
    let CaptureArgs { snap, packets, bytes, seconds, .. } = *args;
    let query = format!("upf/capture/begin/{snap}/{packets}/{bytes}/{seconds}");
    let body = json!({"snap": snap, "packets": packets, "bytes": bytes, "seconds": seconds});
    let request = Request::get("/captures", "upf", &query)
        .change(Method::POST, Some(body))
        .or_say(NO_UPF)
        .within(TIMEOUT);
    let begun = core.send(request).await?;
    let job = begun["id"].as_str().map(|id| format!("/jobs/{id}"));
    let mut is_announced = false;
    let mut announce = |status: &Value| {
        if let (Some(path), false) = (status["path"].as_str(), is_announced) {
            is_announced = true;
            eprintln!("Capturing N6 to {path}. Ctrl-C stops the capture.");
        }
    };
    announce(&begun);
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => drop(end().await?),
        }
        let status = match (&core, &job) {
            (CoreClient::Api(api), Some(job)) => {
                let mut job = api.get(job).await?;
                if job["state"] == "failed" {
                    bail!("{}", job["error"].as_str().unwrap_or("the capture failed"));
                }
                let is_over = job["state"] != "running";
                let mut status = job["result"].take();
                if is_over && !status["ended"].is_string() {
                    status["ended"] = "stopped".into();
                }
                status
            }
            _ => ask(&core, "capture").await?,
        };
        announce(&status);
        if status["ended"].is_string() {
            print_capture(&status);
            return Ok(());
        }
    }
}

/// Prints what a capture that ended has.
fn print_capture(status: &Value) {
    let why = status["ended"].as_str().unwrap_or("?");
    let [packets, bytes, dropped] =
        ["packets", "bytes", "dropped"].map(|name| status[name].as_u64().unwrap_or(0));
    let path = status["path"].as_str().unwrap_or("?");
    println!("{path}: {packets} packets, {bytes} bytes; {dropped} packets did not fit ({why})");
}

/// The longest trace without `--seconds`.
const LONGEST_TRACE: Duration = Duration::from_secs(365 * 86_400);

async fn trace(args: &TraceArgs) -> Result<()> {
    let core = args.oam.client()?;
    let longest = args.seconds.map_or(LONGEST_TRACE, Duration::from_secs);
    let mut shown = Shown { args, packets: 0 };
    let traced = async {
        match &core {
            CoreClient::Api(api) => trace_over_api(api, args, &mut shown).await,
            CoreClient::Oam(_) => trace_over_oam(&core, args, &mut shown).await,
        }
    };
    tokio::time::timeout(longest, traced).await.unwrap_or(Ok(()))
}

/// Packets that were printed.
struct Shown<'a> {
    args: &'a TraceArgs,
    packets: usize,
}

impl Shown<'_> {
    /// Prints a packet that passes the filter. Returns whether more may follow.
    fn packet(&mut self, packet: &Value) -> bool {
        if !self.args.matches(packet) {
            return true;
        }
        match self.args.json {
            true => println!("{packet}"),
            false => println!("{}", line(packet)),
        }
        self.packets += 1;
        self.args.count.is_none_or(|max| self.packets < max)
    }

    fn missed(&self, missed: &Value) {
        if let Some(missed @ 1..) = missed.as_u64() {
            eprintln!("{missed} more packets did not fit into the trace buffer");
        }
    }
}

async fn trace_over_api(api: &Api, args: &TraceArgs, shown: &mut Shown<'_>) -> Result<()> {
    let (mut is_started, mut is_done) = (false, false);
    // An answer ends after an hour.
    while !is_done {
        let each = |line: Value| {
            if !is_started {
                is_started = true;
                eprintln!("Tracing. Ctrl-C stops the trace.");
            }
            shown.missed(&line["missed"]);
            is_done = line["packet"].is_object() && !shown.packet(&line["packet"]);
            !is_done
        };
        let body = json!({"forwarded": args.all, "ue": args.ue.map(|ue| ue.to_string())});
        let traced = api.lines("/traces/live", &body, each).await;
        traced.context("the trace ended")?;
    }
    Ok(())
}

async fn trace_over_oam(core: &CoreClient, args: &TraceArgs, shown: &mut Shown<'_>) -> Result<()> {
    let query = if args.all { "trace/all" } else { "trace" };
    // The first request starts the trace, so its answer has no packets.
    ask(core, query).await.context("the trace cannot be started")?;
    eprintln!("Tracing. Ctrl-C stops the trace.");
    loop {
        tokio::time::sleep(INTERVAL).await;
        let answer = ask(core, query).await?;
        for packet in answer["packets"].as_array().into_iter().flatten() {
            if !shown.packet(packet) {
                return Ok(());
            }
        }
        shown.missed(&answer["missed"]);
    }
}

impl TraceArgs {
    fn matches(&self, packet: &Value) -> bool {
        let reason = packet["reason"].as_str();
        let by_reason = self.reason.is_empty()
            || reason.is_some_and(|r| self.reason.iter().any(|wanted| wanted == r));
        by_reason && self.ue.is_none_or(|ue| ue.selects(packet))
    }
}

/// A packet on one line.
fn line(packet: &Value) -> String {
    let seconds = packet["time"].as_u64().unwrap_or(0) as f64 / 1e9;
    let text = |name: &str| packet[name].as_str().unwrap_or("?").to_string();
    let verdict = match packet["reason"].as_str() {
        Some(reason) => format!("dropped {reason}: {}", text("why")),
        None => "forwarded".to_string(),
    };
    let mut rule = String::new();
    if let Some(seid) = packet["seid"].as_str() {
        rule = format!(" [session {seid}");
        for (name, value) in [("PDR", &packet["pdr"]), ("FAR", &packet["far"])] {
            if !value.is_null() {
                rule.push_str(&format!(" {name} {value}"));
            }
        }
        for (name, value) in [("QER", &packet["qers"]), ("URR", &packet["urrs"])] {
            for id in value.as_array().into_iter().flatten() {
                rule.push_str(&format!(" {name} {id}"));
            }
        }
        rule.push(']');
    }
    format!("{seconds:.6} {verdict}{rule} {}", text("packet"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn an_unknown_reason_is_refused_with_the_known_ones() {
        let parse = |reason: &str| {
            crate::Cli::try_parse_from(["martlet", "upf", "trace", "--reason", reason]).err()
        };
        assert!(parse("gate,n6_isolation").is_none());
        let error = parse("gate,grate").expect("grate is no reason").to_string();
        assert!(error.contains("grate") && error.contains("foreign_source"), "{error}");
    }

    #[test]
    fn a_packet_is_printed_on_one_line_with_its_rules() {
        let packet = serde_json::json!({"time": 1_500_000_000u64, "reason": "gate",
            "why": "the gate of QER 1 is closed",
            "seid": "0x01", "pdr": 1, "far": 2, "qers": [1], "urrs": [],
                "packet": "UDP 10.45.0.2:1 > 10.98.0.2:2, 29 bytes"});
        let expected = "1.500000 dropped gate: the gate of QER 1 is closed [session 0x01 PDR 1 \
                        FAR 2 QER 1] UDP 10.45.0.2:1 > 10.98.0.2:2, 29 bytes";
        assert_eq!(line(&packet), expected);
    }
}

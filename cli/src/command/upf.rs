//! `martlet upf`: traces and captures packets of a running user plane.
use crate::oam_client::{self, Endpoint, OamArgs};
use crate::runtime;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::time::{Duration, Instant};

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
    /// Only packets of a UE, by its address
    #[arg(long)]
    ue: Option<String>,
    /// Only packets dropped for these reasons, such as gate,rate
    #[arg(long, value_delimiter = ',')]
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

/// Sends a request to the first of several endpoints whose process has a UPF.
pub async fn request(endpoints: &[Endpoint], query: &str) -> Result<Value> {
    let answer = oam_client::ask_any(endpoints, &format!("/ask/upf/{query}"), TIMEOUT).await?;
    match answer {
        (200, answer) => Ok(answer),
        (404, _) => bail!("no UPF runs in this core"),
        (_, problem) => {
            bail!("{}", problem["detail"].as_str().unwrap_or("the UPF rejected the request"))
        }
    }
}

/// Runs the command.
pub fn run(command: UpfCommand) -> Result<()> {
    match command {
        UpfCommand::Trace(args) => runtime::block_on(trace(&args)),
        UpfCommand::Capture(args) => runtime::block_on(capture(&args)),
        UpfCommand::Renew(args) => {
            let query =
                args.sample.map_or("renew".to_string(), |sample| format!("renew/sample/{sample}"));
            runtime::block_on(request(&args.oam.function("upf")?, &query))?;
            println!("XDP programs reloaded");
            Ok(())
        }
    }
}

async fn capture(args: &CaptureArgs) -> Result<()> {
    let endpoints = args.oam.function("upf")?;
    if args.stop {
        request(&endpoints, "capture/end").await?;
    } else {
        let query =
            format!("capture/begin/{}/{}/{}/{}", args.snap, args.packets, args.bytes, args.seconds);
        let begun = request(&endpoints, &query).await?;
        eprintln!(
            "Capturing N6 to {}. Ctrl-C stops the capture.",
            begun["path"].as_str().unwrap_or("?")
        );
    }
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => drop(request(&endpoints, "capture/end").await?),
        }
        let status = request(&endpoints, "capture").await?;
        if let Some(why) = status["ended"].as_str() {
            let [packets, bytes, dropped] =
                ["packets", "bytes", "dropped"].map(|name| status[name].as_u64().unwrap_or(0));
            let path = status["path"].as_str().unwrap_or("?");
            println!(
                "{path}: {packets} packets, {bytes} bytes; {dropped} packets did not fit ({why})"
            );
            return Ok(());
        }
    }
}

async fn trace(args: &TraceArgs) -> Result<()> {
    let endpoints = args.oam.function("upf")?;
    let query = if args.all { "trace/all" } else { "trace" };
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut shown = 0;
    // The first request starts the trace, so its answer has no packets.
    request(&endpoints, query).await.context("the trace cannot be started")?;
    eprintln!("Tracing. Ctrl-C stops the trace.");
    loop {
        tokio::time::sleep(INTERVAL).await;
        let answer = request(&endpoints, query).await?;
        for packet in
            answer["packets"].as_array().into_iter().flatten().filter(|packet| args.matches(packet))
        {
            match args.json {
                true => println!("{packet}"),
                false => println!("{}", line(packet)),
            }
            shown += 1;
            if args.count.is_some_and(|max| shown >= max) {
                return Ok(());
            }
        }
        if let Some(missed @ 1..) = answer["missed"].as_u64() {
            eprintln!("{missed} more packets did not fit into the trace buffer");
        }
        if end.is_some_and(|end| end <= Instant::now()) {
            return Ok(());
        }
    }
}

impl TraceArgs {
    fn matches(&self, packet: &Value) -> bool {
        let reason = packet["reason"].as_str();
        let by_reason = self.reason.is_empty()
            || reason.is_some_and(|r| self.reason.iter().any(|wanted| wanted == r));
        let mut ue = packet["ue"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let text = packet["packet"].as_str().unwrap_or_default();
        by_reason
            && self
                .ue
                .as_ref()
                .is_none_or(|wanted| ue.any(|ue| ue == wanted) || mentions(text, wanted))
    }
}

/// Whether a text contains an address as a whole, not as the prefix of another.
fn mentions(text: &str, address: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_hexdigit() || c == '.' || c == ':')).any(|word| {
        word == address || word.strip_prefix(address).is_some_and(|rest| rest.starts_with(':'))
    })
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

    #[test]
    fn an_address_is_matched_as_a_whole() {
        let text = "UDP 10.45.0.2:9000 > 10.98.0.2:7000, 29 bytes";
        assert!(mentions(text, "10.45.0.2") && mentions(text, "10.98.0.2"));
        assert!(!mentions(text, "10.45.0.20") && !mentions(text, "10.45.0"));
    }
}

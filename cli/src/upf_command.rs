//! `martlet upf`: what a running user plane does with packets.
use crate::{oam_client, runtime};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use martlet::config::Config;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(2);
/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(200);

/// Looks at a running user plane.
#[derive(Subcommand)]
pub enum UpfCommand {
    /// Show packets that are dropped: which, for which reason, by which rule
    Trace(TraceArgs),
    /// Write packets of N6 to a file of the UPF's (pcap), at speed: what finds no room is counted
    Capture(CaptureArgs),
    /// Load the XDP programs anew and put them in the place of those that run, without losing a
    /// packet
    Renew(RenewArgs),
}

/// Captures packets of N6.
#[derive(Args)]
pub struct CaptureArgs {
    #[command(flatten)]
    pub upf: UpfAddress,
    /// Octets of each packet that are kept, at most 2048
    #[arg(long, default_value_t = 2048)]
    snap: u32,
    /// Most packets
    #[arg(long, default_value_t = 10_000_000)]
    packets: u64,
    /// Most octets of the file
    #[arg(long, default_value_t = 1 << 30)]
    octets: u64,
    /// Most seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// End the capture that goes on
    #[arg(long)]
    end: bool,
}

/// Replaces the programs.
#[derive(Args)]
pub struct RenewArgs {
    #[command(flatten)]
    pub upf: UpfAddress,
    /// From then on, take the time of one of so many packets; 0 of none
    #[arg(long)]
    sample: Option<u32>,
}

/// Shows packets.
#[derive(Args)]
pub struct TraceArgs {
    #[command(flatten)]
    pub upf: UpfAddress,
    /// Also packets that are forwarded
    #[arg(long)]
    all: bool,
    /// Only of this UE, by its address
    #[arg(long)]
    ue: Option<String>,
    /// Only for these reasons, such as gate,rate
    #[arg(long, value_delimiter = ',')]
    reason: Vec<String>,
    /// End after so many packets
    #[arg(long)]
    count: Option<usize>,
    /// End after so many seconds
    #[arg(long)]
    seconds: Option<u64>,
    /// A JSON object for each packet, with its octets
    #[arg(long)]
    json: bool,
}

/// Where a UPF answers.
#[derive(Args)]
pub struct UpfAddress {
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Address of its status endpoint, in place of the configuration's `oam.bind`
    #[arg(long)]
    at: Option<SocketAddr>,
}

impl UpfAddress {
    /// Where to ask, one after the other: with one process for each function, the UPF has an
    /// endpoint of its own.
    pub fn places(&self) -> Result<Vec<SocketAddr>> {
        Ok(match self.at {
            Some(address) => vec![address],
            None => {
                let oam = Config::load(self.config.as_deref())?.oam;
                vec![oam.bind, oam.of("upf")]
            }
        })
    }
}

/// Asks the first of these places where a UPF is.
pub async fn ask(places: &[SocketAddr], question: &str) -> Result<Value> {
    let mut last = anyhow::anyhow!("there is nobody to ask");
    for place in places {
        match oam_client::ask(*place, &format!("/ask/upf/{question}"), LIMIT).await {
            Ok((200, answer)) => return Ok(answer),
            Ok((404, _)) => last = anyhow::anyhow!("no UPF runs in the process at {place}"),
            Ok((_, problem)) => {
                bail!("{}", problem["detail"].as_str().unwrap_or("the UPF refuses"))
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Runs the command.
pub fn run(command: UpfCommand) -> Result<()> {
    match command {
        UpfCommand::Trace(args) => runtime::block_on(trace(&args)),
        UpfCommand::Capture(args) => runtime::block_on(capture(&args)),
        UpfCommand::Renew(args) => {
            let question =
                args.sample.map_or("renew".to_string(), |sample| format!("renew/sample/{sample}"));
            runtime::block_on(ask(&args.upf.places()?, &question))?;
            println!("The programs are replaced.");
            Ok(())
        }
    }
}

async fn capture(args: &CaptureArgs) -> Result<()> {
    let places = args.upf.places()?;
    if args.end {
        ask(&places, "capture/end").await?;
    } else {
        let wish = format!(
            "capture/begin/{}/{}/{}/{}",
            args.snap, args.packets, args.octets, args.seconds
        );
        let begun = ask(&places, &wish).await?;
        eprintln!("Capturing N6 to {}. Ctrl-C ends it.", begun["path"].as_str().unwrap_or("?"));
    }
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => drop(ask(&places, "capture/end").await?),
        }
        let status = ask(&places, "capture").await?;
        if let Some(why) = status["ended"].as_str() {
            let [packets, octets, dropped] =
                ["packets", "bytes", "dropped"].map(|name| status[name].as_u64().unwrap_or(0));
            let path = status["path"].as_str().unwrap_or("?");
            println!(
                "{path}: {packets} packets, {octets} octets; {dropped} packets found no room \
                 ({why})"
            );
            return Ok(());
        }
    }
}

async fn trace(args: &TraceArgs) -> Result<()> {
    let places = args.upf.places()?;
    let question = if args.all { "trace/all" } else { "trace" };
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut shown = 0;
    // The first question begins the trace: nothing can have been told yet.
    ask(&places, question).await.context("nothing is traced")?;
    eprintln!("Tracing. Ctrl-C ends it.");
    loop {
        tokio::time::sleep(INTERVAL).await;
        let answer = ask(&places, question).await?;
        for packet in
            answer["packets"].as_array().into_iter().flatten().filter(|packet| args.wants(packet))
        {
            match args.json {
                true => println!("{packet}"),
                false => println!("{}", line(packet)),
            }
            shown += 1;
            if args.count.is_some_and(|most| shown >= most) {
                return Ok(());
            }
        }
        if let Some(missed @ 1..) = answer["missed"].as_u64() {
            eprintln!("{missed} more packets found no room in the trace buffer");
        }
        if end.is_some_and(|end| end <= Instant::now()) {
            return Ok(());
        }
    }
}

impl TraceArgs {
    fn wants(&self, packet: &Value) -> bool {
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

/// Whether a line has an address, and not merely one that begins like it.
fn mentions(text: &str, address: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_hexdigit() || c == '.' || c == ':')).any(|word| {
        word == address || word.strip_prefix(address).is_some_and(|rest| rest.starts_with(':'))
    })
}

/// A packet as a person reads it.
fn line(packet: &Value) -> String {
    let seconds = packet["time"].as_u64().unwrap_or(0) as f64 / 1e9;
    let text = |name: &str| packet[name].as_str().unwrap_or("?").to_string();
    let fate = match packet["reason"].as_str() {
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
    format!("{seconds:.6} {fate}{rule} {}", text("packet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_line_with_its_rules() {
        let packet = serde_json::json!({"time": 1_500_000_000u64, "reason": "gate", "why": "the gate of QER 1 is closed",
            "seid": "0x01", "pdr": 1, "far": 2, "qers": [1], "urrs": [], "packet": "UDP 10.45.0.2:1 > 10.98.0.2:2, 29 octets"});
        let due = "1.500000 dropped gate: the gate of QER 1 is closed [session 0x01 PDR 1 FAR 2 \
                   QER 1] UDP 10.45.0.2:1 > 10.98.0.2:2, 29 octets";
        assert_eq!(line(&packet), due);
    }

    #[test]
    fn an_address_is_found_whole() {
        let text = "UDP 10.45.0.2:9000 > 10.98.0.2:7000, 29 octets";
        assert!(mentions(text, "10.45.0.2") && mentions(text, "10.98.0.2"));
        assert!(!mentions(text, "10.45.0.20") && !mentions(text, "10.45.0"));
    }
}

//! `martlet ue`: what a phone did.
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use martlet::config::Config;
use martlet::history;
use std::path::PathBuf;

/// What a phone did.
#[derive(Args)]
pub struct UeArgs {
    /// The phone's IMSI, such as imsi-001010000000001; or the concealed identity under which the
    /// log has one that never got in
    imsi: String,
    #[command(subcommand)]
    command: UeCommand,
}

#[derive(Subcommand)]
enum UeCommand {
    /// Show what it did, as far as that is kept
    History(HistoryArgs),
}

#[derive(Args)]
struct HistoryArgs {
    /// Configuration of the core
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// The last ones alone
    #[arg(long, default_value_t = 200)]
    last: usize,
    /// As JSON, a line each
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: UeArgs) -> Result<()> {
    let supi = if args.imsi.contains('-') { args.imsi } else { format!("imsi-{}", args.imsi) };
    let UeCommand::History(args) = args.command;
    let config = Config::load(args.config.as_deref())?;
    let Some(file) = config.oam.history.file(&config.udr.path, None) else {
        bail!("what phones do is not kept: oam.history in the configuration says so");
    };
    let events = history::of(&file, &supi)?;
    if events.is_empty() {
        bail!("nothing is known of {supi}: {} and its like have no event of it", file.display());
    }
    for event in events.iter().skip(events.len().saturating_sub(args.last)) {
        if args.json {
            println!("{event}");
            continue;
        }
        let ms = event["ms"].as_i64().unwrap_or_default();
        let time = jiff::Timestamp::from_millisecond(ms)
            .map_or_else(|_| ms.to_string(), |time| format!("{time:.3}"));
        let plain =
            |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_string);
        let more = event["more"].as_object().into_iter().flatten();
        let more: Vec<_> = more.map(|(name, value)| format!("{name}={}", plain(value))).collect();
        println!(
            "{time}  {:<5} {}  {}",
            plain(&event["nf"]),
            plain(&event["what"]),
            more.join(" ")
        );
    }
    Ok(())
}

//! `martlet ue`: the history of a UE.
use super::subscriber::supi;
use crate::api_client::Api;
use crate::config_args::ConfigArgs;
use crate::runtime;
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use martlet::ue_history;
use martlet_sbi::path_segment;
use std::path::PathBuf;

/// Shows data of a UE.
#[derive(Args)]
pub struct UeArgs {
    /// IMSI of the UE, such as imsi-001010000000001, or nai-user@realm, or the SUCI of a UE that
    /// never registered
    imsi: String,
    /// Configuration [default: $MARTLET_CONFIG, else /etc/martlet/martlet.yaml if it exists, else
    /// built-in]
    // Before the IMSI, too, as with other commands.
    #[arg(short, long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: UeCommand,
}

#[derive(Subcommand)]
enum UeCommand {
    /// Show the recorded events of the UE
    History(HistoryArgs),
}

#[derive(Args)]
struct HistoryArgs {
    /// Maximum number of events; the latest are shown. A core with the API shows 1000 at most
    #[arg(long, default_value_t = 200)]
    last: usize,
    /// Print JSON, one line per event
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: UeArgs) -> Result<()> {
    let supi = supi(&args.imsi);
    let config = ConfigArgs::of(args.config).load()?;
    let UeCommand::History(args) = args.command;
    let events = match Api::of_core(&config) {
        Some(api) => runtime::block_on(recorded(&api, &supi, args.last))?,
        // No core has to run.
        None => {
            let Some(file) = config.oam.history.file(&config.udr.path, None) else {
                bail!("the UE history is off: set oam.history.enabled in the configuration");
            };
            let events = ue_history::read(&file, &supi)?;
            if events.is_empty() {
                bail!("no events of {supi} in {} and its older files", file.display());
            }
            events
        }
    };
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

/// The latest events of a UE that a running core has recorded.
async fn recorded(api: &Api, supi: &str, last: usize) -> Result<Vec<serde_json::Value>> {
    let path = format!("/ues/{}/history?last={}", path_segment(supi), last.clamp(1, 1000));
    let history = api.get(&path).await?;
    let mut events = history["items"].as_array().cloned().unwrap_or_default();
    if events.is_empty() {
        bail!("no events of {supi} are recorded");
    }
    events.iter_mut().for_each(|event| event["supi"] = supi.into());
    Ok(events)
}

#[cfg(test)]
mod tests {
    use crate::command::Command;
    use clap::Parser;

    #[test]
    fn the_configuration_may_be_named_before_and_after_the_ue() {
        for line in [
            "martlet ue -c core.yaml imsi-001010000000001 history",
            "martlet ue imsi-001010000000001 -c core.yaml history",
            "martlet ue imsi-001010000000001 history -c core.yaml --last 3",
        ] {
            let parsed = crate::Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
            let Ok(Command::Ue(args)) = parsed else { panic!("{line}") };
            assert_eq!(args.config, Some("core.yaml".into()), "{line}");
        }
    }
}

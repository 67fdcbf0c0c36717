//! The log on standard error, as text or JSON.
use clap::{Args, ValueEnum};
use martlet::ue_history::{UeEvents, UeHistory};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Options of the log, for all commands: below those of the command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log options")]
pub struct LogArgs {
    /// Log level, or a filter such as info,martlet_amf=debug
    #[arg(long = "log", global = true, default_value = "info", env = "MARTLET_LOG")]
    pub filter: String,
    /// Log format
    #[arg(
        id = "log-format",
        long = "log-format",
        global = true,
        value_enum,
        default_value = "text"
    )]
    pub format: LogFormat,
}

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per event
    Text,
    /// One JSON object per event
    Json,
}

/// Starts the log on standard error, and the UE history.
pub fn start(args: &LogArgs) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&args.filter).map_err(|error| {
        anyhow::anyhow!(
            "--log {:?} is not a filter ({error}): write for example info,martlet_amf=debug",
            args.filter
        )
    })?;
    // See no-color.org.
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = std::io::stderr().is_terminal() && !unwanted;
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let layer = match args.format {
        LogFormat::Text => layer.with_target(true).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .with(UeHistory.with_filter(UeEvents))
        .init();
    Ok(())
}

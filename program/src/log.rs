//! The log on standard error, as text or JSON.
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::io::IsTerminal;
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

/// Options of the log, for all commands: below those of the command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log options")]
pub struct LogArgs {
    /// Log level, or a filter such as info,martlet_amf=debug
    #[arg(long = "log", global = true, default_value = "info", env = LogArgs::FILTER)]
    pub filter: String,
    /// Log format
    #[arg(
        id = "log-format",
        long = "log-format",
        global = true,
        value_enum,
        default_value = "text",
        env = LogArgs::FORMAT
    )]
    pub format: LogFormat,
}

impl LogArgs {
    /// The environment variable of the level or filter.
    pub const FILTER: &'static str = "MARTLET_LOG";
    /// The environment variable of the format.
    pub const FORMAT: &'static str = "MARTLET_LOG_FORMAT";
}

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per event
    Text,
    /// One JSON object per event
    Json,
}

impl LogFormat {
    /// The value of the option.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }
    }
}

/// What writes the events of the log that the filter selects.
pub type LogLayer = Filtered<Box<dyn Layer<Registry> + Send + Sync>, EnvFilter, Registry>;

/// The layer of these options.
///
/// # Errors
/// `--log` is not a filter.
pub fn layer(args: &LogArgs) -> Result<LogLayer> {
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
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match args.format {
        LogFormat::Text => layer.with_target(true).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    Ok(layer.with_filter(filter))
}

/// Starts the log on standard error.
///
/// # Errors
/// `--log` is not a filter.
pub fn start(args: &LogArgs) -> Result<()> {
    tracing_subscriber::registry().with(layer(args)?).init();
    Ok(())
}

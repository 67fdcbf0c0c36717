//! Logs: lines for people, or JSON for machines.
use clap::ValueEnum;
use martlet::history::{History, Kept};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line an event.
    Text,
    /// A JSON object an event.
    Json,
}

/// Starts logging to standard error. `level` is `info`, or a filter such as
/// `info,martlet_amf=debug`.
pub fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level).map_err(|e| {
        anyhow::anyhow!(
            "--log {level:?} is no filter ({e}); write for example info,martlet_amf=debug"
        )
    })?;
    // Colours are for a terminal alone, and for nobody who does not want them (no-color.org).
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = std::io::stderr().is_terminal() && !unwanted;
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let layer = match format {
        LogFormat::Text => layer.with_target(true).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .with(History.with_filter(Kept))
        .init();
    Ok(())
}

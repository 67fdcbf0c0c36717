//! Logs: lines for people, or JSON for machines.
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line an event.
    Text,
    /// A JSON object an event.
    Json,
}

/// Starts logging to standard error. `level` is `info`, or a filter such as `info,martlet_amf=debug`.
pub fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .map_err(|e| anyhow::anyhow!("--log {level:?} is no filter ({e}); write for example info,martlet_amf=debug"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_target(true).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}

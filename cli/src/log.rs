//! The log on standard error, and the UE history.
use martlet::ue_history::{UeEvents, UeHistory};
pub use martlet_program::log::LogArgs;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Starts the log on standard error, and the UE history.
pub fn start(args: &LogArgs) -> anyhow::Result<()> {
    tracing_subscriber::registry()
        .with(martlet_program::log::layer(args)?)
        .with(UeHistory.with_filter(UeEvents))
        .init();
    Ok(())
}

//! The option `-c`, by which commands find the configuration of the core.
use anyhow::Result;
use clap::Args;
use martlet::config::{Config, find};
use std::path::PathBuf;

/// The configuration of a command.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigArgs {
    /// Configuration [default: $MARTLET_CONFIG, else /etc/martlet/martlet.yaml if it exists, else
    /// built-in]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The configuration of an option that a command has itself.
    pub fn of(config: Option<PathBuf>) -> Self {
        ConfigArgs { config }
    }

    /// The file; `None` for the built-in defaults.
    pub fn file(&self) -> Option<PathBuf> {
        find(self.config.clone())
    }

    /// Reads and checks the configuration.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn load(&self) -> Result<Config> {
        Config::load(self.file().as_deref())
    }
}

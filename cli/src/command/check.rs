//! `martlet check`: checks a configuration file and reports each error with its line.
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use std::path::PathBuf;

/// Checks a configuration.
#[derive(Args)]
pub struct CheckArgs {
    /// Configuration
    #[arg(required_unless_present = "config")]
    file: Option<PathBuf>,
    /// Configuration, as for other commands
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: CheckArgs) -> Result<()> {
    let file = args.file.or(args.config).unwrap_or_default();
    Config::load(Some(&file))?;
    println!("{}: no errors", file.display());
    Ok(())
}

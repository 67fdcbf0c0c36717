//! `martlet check`: is a configuration right, and if not, in which line.
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use std::path::PathBuf;

/// Checks a configuration.
#[derive(Args)]
pub struct CheckArgs {
    /// The file
    #[arg(required_unless_present = "config")]
    file: Option<PathBuf>,
    /// The same, as other commands take it
    #[arg(short, long, conflicts_with = "file")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: CheckArgs) -> Result<()> {
    let file = args.file.or(args.config).unwrap_or_default();
    Config::load(Some(&file))?;
    println!("{}: all is well", file.display());
    Ok(())
}

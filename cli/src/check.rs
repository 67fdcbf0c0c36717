//! `martlet check`: is a configuration right, and if not, in which line.
use anyhow::Result;
use clap::Args;
use martlet::config::Config;
use std::path::PathBuf;

/// Checks a configuration.
#[derive(Args)]
pub struct CheckArgs {
    /// The file
    file: PathBuf,
}

/// Runs the command.
pub fn run(args: CheckArgs) -> Result<()> {
    Config::load(Some(&args.file))?;
    println!("{}: all is well", args.file.display());
    Ok(())
}

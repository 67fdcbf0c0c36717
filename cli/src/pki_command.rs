//! `martlet pki`: certificates and keys of a core's functions.
use anyhow::Result;
use clap::{Args, Subcommand};
use martlet::config::{Config, PkiFile};
use martlet::pki;
use std::path::PathBuf;

/// Certificates and keys.
#[derive(Subcommand)]
pub enum PkiCommand {
    /// Make an authority, a certificate for each function, and the NRF's key for access tokens
    Init(InitArgs),
}

/// Where they go.
#[derive(Args)]
pub struct InitArgs {
    /// A new folder
    #[arg(long, default_value = "pki")]
    out: PathBuf,
    /// Configuration whose `sbi` has the functions' addresses
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Further names and addresses under which functions are reached
    #[arg(long = "name")]
    names: Vec<String>,
}

/// Runs the command.
pub fn run(command: PkiCommand) -> Result<()> {
    let PkiCommand::Init(args) = command;
    pki::init(&Config::load(args.config.as_deref())?, &args.out, &args.names)?;
    println!(
        "{} has certificates and keys; name it as sbi.pki in the configuration.",
        args.out.display()
    );
    println!(
        "Give each machine what its functions need of it, and keep {} apart.",
        PkiFile::AUTHORITY_KEY
    );
    Ok(())
}

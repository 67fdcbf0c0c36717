//! `martlet pki`: certificates and keys of the network functions.
use anyhow::Result;
use clap::{Args, Subcommand};
use martlet::config::{Config, PkiFile};
use martlet::pki;
use std::path::PathBuf;

/// Commands for certificates and keys.
#[derive(Subcommand)]
pub enum PkiCommand {
    /// Make a CA, a certificate for each function, and the NRF's key for access tokens
    Init(InitArgs),
}

/// Arguments of `martlet pki init`.
#[derive(Args)]
pub struct InitArgs {
    /// Folder for the files
    #[arg(long, default_value = "pki")]
    out: PathBuf,
    /// Configuration with the functions' addresses in `sbi`
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Additional DNS name or IP address for all certificates
    #[arg(long = "name")]
    names: Vec<String>,
}

/// Runs the command.
pub fn run(command: PkiCommand) -> Result<()> {
    let PkiCommand::Init(args) = command;
    pki::init(&Config::load(args.config.as_deref())?, &args.out, &args.names)?;
    println!(
        "Certificates and keys are in {}. Set sbi.pki to this folder in the configuration.",
        args.out.display()
    );
    println!(
        "Copy to each machine only the files of its functions, and keep {} offline.",
        PkiFile::AUTHORITY_KEY
    );
    Ok(())
}

//! `martlet lab`: runs `martlet-lab`, which is a program of its own, in place of this one.
use crate::log::LogArgs;
use anyhow::{Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program with the experiments.
const PROGRAM: &str = "martlet-lab";

/// Arguments of `martlet-lab`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct LabArgs {
    /// Experiment and options of martlet-lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Replaces this process with `martlet-lab`, beside this program or on PATH. It measures this
/// `martlet`.
///
/// # Errors
/// `martlet-lab` is not installed.
pub fn run(args: LabArgs, log: &LogArgs) -> Result<()> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name(PROGRAM);
    let program = if beside.is_file() { beside } else { PathBuf::from(PROGRAM) };
    let error = Command::new(&program)
        .args(args.arguments)
        .env("MARTLET_LOG", &log.filter)
        .env("MARTLET_PROGRAM", own)
        .exec();
    bail!(
        "{PROGRAM} cannot be run: {error}; it is a program of its own: build it with `make \
         release-lab` and install it beside martlet or on PATH"
    )
}

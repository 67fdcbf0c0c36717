//! `martlet ran` and `martlet lab`: run `martlet-ran` and `martlet-lab`, which are programs of
//! their own, in place of this one.
use crate::log::LogArgs;
use anyhow::{Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of another program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ExternalArgs {
    /// Arguments of that program; --help shows them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// A program that is built from the same sources.
pub struct External {
    name: &'static str,
    /// The target of the Makefile that builds it.
    target: &'static str,
}

/// The simulator of gNBs and UEs.
pub const RAN: External = External { name: "martlet-ran", target: "release" };
/// The experiments.
pub const LAB: External = External { name: "martlet-lab", target: "release-lab" };

impl External {
    /// Replaces this process with the program, which is beside this one or on PATH, and has the
    /// same log. `martlet-lab` measures this `martlet`.
    ///
    /// # Errors
    /// The program is not installed.
    pub fn run(&self, args: ExternalArgs, log: &LogArgs) -> Result<()> {
        let External { name, target } = self;
        let own = std::env::current_exe()?;
        let beside = own.with_file_name(name);
        let program = if beside.is_file() { beside } else { PathBuf::from(name) };
        let error = Command::new(&program)
            .args(args.arguments)
            .env(LogArgs::FILTER, &log.filter)
            .env(LogArgs::FORMAT, log.format.name())
            .env("MARTLET_PROGRAM", own)
            .exec();
        bail!(
            "{name} cannot be run: {error}; it is a program of its own: build it with `make \
             {target}` and install it beside martlet or on PATH"
        )
    }
}

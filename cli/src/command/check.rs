//! `martlet check`: checks a configuration file and reports each error with its line.
use anyhow::{Context, Result};
use clap::Args;
use martlet::config::{Config, find};
use std::path::PathBuf;

/// Checks a configuration.
#[derive(Args)]
pub struct CheckArgs {
    /// Configuration [default: $MARTLET_CONFIG, else /etc/martlet/martlet.yaml if it exists]
    file: Option<PathBuf>,
    /// Configuration, as for other commands
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: CheckArgs) -> Result<()> {
    let file = find(args.file.or(args.config));
    let file = file.context(
        "no configuration: name a file, such as `martlet check martlet.yaml`; `martlet defaults` \
         prints one",
    )?;
    let config = Config::load_for_machine(Some(&file))?;
    for note in config.notes() {
        eprintln!("note: {note}");
    }
    for name in config.absent_interfaces() {
        eprintln!(
            "note: upf.xdp.interfaces: this machine has no interface {name}, without which the UPF \
             does not start"
        );
    }
    println!("{}: no errors", file.display());
    Ok(())
}

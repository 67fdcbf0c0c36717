//! The `martlet-ran` program: simulated gNBs and UEs at a 5G core. `martlet ran` runs it.
#![forbid(unsafe_code)]

use clap::Parser;
use martlet_program::{error_text, log, standard_output};
use martlet_ran::cli::{Cli, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    standard_output::report_failed_writes("martlet-ran");
    match log::start(&cli.log).and_then(|()| run(cli.ran)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("martlet-ran: {}", error_text(&error));
            ExitCode::FAILURE
        }
    }
}

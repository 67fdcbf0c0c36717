//! The `martlet` program.
#![deny(unsafe_code)]

mod api_client;
mod command;
mod config_args;
mod core_client;
mod liveness;
mod log;
mod northbound;
mod oam_client;
#[cfg(test)]
mod pages;
mod reload;
mod runtime;
mod supervisor;
mod table;
mod trim;
mod watchdog;

use clap::Parser;
use martlet_program::standard_output;
use std::process::ExitCode;

/// A 5G core for small machines.
///
/// Two commands make a network: `martlet up` starts the core, and `martlet subscriber add` adds the
/// subscription of a UE.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.command.is_query() {
        standard_output::end_with_reader();
    }
    if cli.command.reports_failed_writes() {
        standard_output::report_failed_writes("martlet");
    }
    let outcome = log::start(&cli.log).and_then(|()| cli.command.run(&cli.log));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("martlet: {}", martlet::error_text(&error));
            match error.is::<command::FunctionFailed>() {
                true => ExitCode::from(command::FunctionFailed::EXIT_CODE),
                false => ExitCode::FAILURE,
            }
        }
    }
}

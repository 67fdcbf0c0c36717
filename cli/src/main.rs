//! The `martlet` program.
#![deny(unsafe_code)]

mod charging;
mod check;
mod demo;
mod fabric_manager;
mod lab;
mod locate;
mod log;
mod nf;
mod oam_client;
mod pki_command;
mod ran;
mod runtime;
mod split;
mod status;
mod subscriber;
mod top;
mod trim;
mod ue;
mod up;
mod upf_command;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A 5G core for small machines.
///
/// Two commands make a network: `martlet up` starts the core, `martlet subscriber add` lets a phone
/// in.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    /// What is logged: a level, or a filter such as info,martlet_amf=debug
    #[arg(long, global = true, default_value = "info", env = "MARTLET_LOG")]
    log: String,
    /// Form of the log
    #[arg(long, global = true, value_enum, default_value = "text")]
    log_format: log::LogFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the core: all network functions in this process, or one process each
    Up(up::UpArgs),
    /// Start one network function alone
    Nf(nf::NfArgs),
    /// Manage the shared memory through which functions of this machine talk, without `up --split`
    Fabric(fabric_manager::FabricArgs),
    /// Add, list, show and remove subscribers
    #[command(subcommand)]
    Subscriber(subscriber::SubscriberCommand),
    /// Show network functions, gNBs, UEs and sessions of a running core
    Status(status::StatusArgs),
    /// Show the user plane, live: UEs, reasons of drops, tables, the board
    Top(top::TopArgs),
    /// Look at what the user plane does with packets
    #[command(subcommand)]
    Upf(upf_command::UpfCommand),
    /// Show what a phone did
    Ue(ue::UeArgs),
    /// Find where a phone is
    #[command(long_about = locate::ABOUT)]
    Locate(locate::LocateArgs),
    /// Show what phones have used, and set what they may use
    Charging(charging::ChargingArgs),
    /// Check a configuration file and name the lines that are wrong
    Check(check::CheckArgs),
    /// Make the certificates and keys with which functions know each other
    #[command(subcommand)]
    Pki(pki_command::PkiCommand),
    /// Print the default configuration, with what each value means
    Defaults,
    /// Run a scenario of simulated gNBs and phones against a core
    Ran(ran::RanArgs),
    /// Show a core with a phone at work, in network namespaces that go with it (as root)
    Demo(demo::DemoArgs),
    /// Run the programmable switch, and write its rules (RPI)
    Switch(martlet_switch_rpi::SwitchArgs),
    /// Run an experiment of martlet-lab, where that is installed
    Lab(lab::LabArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = log::start(&cli.log, cli.log_format).and_then(|()| match cli.command {
        Command::Up(args) => up::run(args, &cli.log, cli.log_format),
        Command::Nf(args) => nf::run(args),
        Command::Fabric(args) => fabric_manager::run(args),
        Command::Subscriber(command) => subscriber::run(command),
        Command::Status(args) => status::run(args),
        Command::Top(args) => top::run(args),
        Command::Upf(command) => upf_command::run(command),
        Command::Ue(args) => ue::run(args),
        Command::Locate(args) => locate::run(args),
        Command::Charging(args) => charging::run(args),
        Command::Check(args) => check::run(args),
        Command::Pki(command) => pki_command::run(command),
        Command::Defaults => {
            print!("{}", martlet::config::DEFAULTS);
            Ok(())
        }
        Command::Ran(args) => ran::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Switch(args) => martlet_switch_rpi::run(args),
        Command::Lab(args) => lab::run(args, &cli.log),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("martlet: {error:#}");
            ExitCode::FAILURE
        }
    }
}

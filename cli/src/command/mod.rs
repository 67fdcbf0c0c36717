//! The commands of `martlet`, one file each.
mod capture;
mod charging;
mod check;
mod demo;
mod fabric;
mod lab;
mod locate;
mod nf;
mod pki;
mod status;
mod subscriber;
mod top;
mod ue;
mod up;
mod upf;

use crate::log::LogArgs;
use anyhow::Result;
use clap::Subcommand;

/// A command with its arguments.
#[derive(Subcommand)]
pub enum Command {
    /// Start the core: all network functions in one process, or one process each
    Up(up::UpArgs),
    /// Start one network function
    Nf(nf::NfArgs),
    /// Run the manager of the shared-memory fabric, for functions started without `up --split`
    Fabric(fabric::FabricArgs),
    /// Add, list, show, remove, import and export subscribers
    #[command(subcommand)]
    Subscriber(subscriber::SubscriberCommand),
    /// Show network functions, gNBs, UEs and sessions of a running core
    Status(status::StatusArgs),
    /// Show the user plane live: UEs, reasons of drops, tables, the board
    Top(top::TopArgs),
    /// Trace and capture packets of the user plane
    #[command(subcommand)]
    Upf(upf::UpfCommand),
    /// Show the history of a UE
    Ue(ue::UeArgs),
    /// Locate a UE
    #[command(long_about = locate::ABOUT)]
    Locate(locate::LocateArgs),
    /// Show the usage of subscribers and set their quota
    Charging(charging::ChargingArgs),
    /// Check a configuration file
    Check(check::CheckArgs),
    /// Make the certificates and keys of the network functions
    #[command(subcommand)]
    Pki(pki::PkiCommand),
    /// Print the default configuration, with a comment on each value
    Defaults,
    /// Run a scenario of simulated gNBs and UEs against a core
    Ran(martlet_ran::cli::RanArgs),
    /// Show a core with a phone at work, in network namespaces of its own (needs root)
    Demo(demo::DemoArgs),
    /// Run the programmable switch, and write its rules (RPI)
    Switch(martlet_switch_rpi::SwitchArgs),
    /// Run an experiment with martlet-lab, if it is installed
    Lab(lab::LabArgs),
}

impl Command {
    /// Runs the command to its end.
    pub fn run(self, log: &LogArgs) -> Result<()> {
        match self {
            Command::Up(args) => up::run(args, log),
            Command::Nf(args) => nf::run(args),
            Command::Fabric(args) => fabric::run(args),
            Command::Subscriber(command) => subscriber::run(command),
            Command::Status(args) => status::run(args),
            Command::Top(args) => top::run(args),
            Command::Upf(command) => upf::run(command),
            Command::Ue(args) => ue::run(args),
            Command::Locate(args) => locate::run(args),
            Command::Charging(args) => charging::run(args),
            Command::Check(args) => check::run(args),
            Command::Pki(command) => pki::run(command),
            Command::Defaults => {
                print!("{}", martlet::config::DEFAULTS);
                Ok(())
            }
            Command::Ran(args) => martlet_ran::cli::run(args),
            Command::Demo(args) => demo::run(args),
            Command::Switch(args) => martlet_switch_rpi::run(args),
            Command::Lab(args) => lab::run(args, log),
        }
    }
}

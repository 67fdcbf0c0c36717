//! The commands of `martlet`, one file each.
pub mod backup;
mod capture;
mod charging;
mod check;
mod demo;
mod doctor;
mod drain;
mod external;
mod fabric;
mod locate;
mod nf;
mod pki;
mod rebalance;
mod reference;
mod sim;
mod status;
mod subscriber;
mod top;
mod ue;
mod up;
mod upf;
mod version;

pub use nf::FunctionFailed;

use crate::log::LogArgs;
use anyhow::Result;
use clap::{CommandFactory, Subcommand};
use martlet_program::documents::{CompletionsArgs, ManArgs};

/// A command with its arguments.
#[derive(Subcommand)]
pub enum Command {
    /// Start the core: all network functions in one process, or one process each
    Up(up::UpArgs),
    /// Start one network function
    Nf(nf::NfArgs),
    /// Run the manager of the shared-memory fabric, for functions started without `up --split`
    Fabric(fabric::FabricArgs),
    /// Add, change, list, show, remove, import and export subscribers
    #[command(subcommand)]
    Subscriber(subscriber::SubscriberCommand),
    /// Make subscribers with new keys, and the files to program their SIM cards
    #[command(subcommand)]
    Sim(sim::SimCommand),
    /// Show network functions, gNBs, UEs and sessions of a running core
    Status(status::StatusArgs),
    /// Show the core live: functions, gNBs, UEs, drops by reason, UPFs
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
    /// Have consumers and gNBs select other instances of a function, before it is stopped
    Drain(drain::DrainArgs),
    /// Move registered UEs from the AMF of this machine to others of its set
    Rebalance(rebalance::RebalanceArgs),
    /// Check a configuration file
    Check(check::CheckArgs),
    /// Check this machine, and report what will not work and how to fix it
    Doctor(doctor::DoctorArgs),
    /// Copy the databases, the operator's key and the configuration; the core may run
    Backup(backup::BackupArgs),
    /// Restore the databases and the operator's key from a backup
    Restore(backup::RestoreArgs),
    /// Make the certificates and keys of the network functions
    #[command(subcommand)]
    Pki(pki::PkiCommand),
    /// Print the default configuration, with a comment on each value
    Defaults,
    /// Run a scenario of simulated gNBs and UEs against a core
    Ran(external::ExternalArgs),
    /// Show a core with a phone at work, in network namespaces of its own (needs root)
    Demo(demo::DemoArgs),
    /// Run the programmable switch, and write its rules
    Switch(martlet_switch_rpi::SwitchArgs),
    /// Run an experiment with martlet-lab, if it is installed
    Lab(external::ExternalArgs),
    /// Print a reference: configuration keys, their JSON Schema, tolerated deviations
    #[command(subcommand)]
    Reference(reference::ReferenceCommand),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
    /// Show the version
    Version(version::VersionArgs),
}

impl Command {
    /// Whether the command prints something and ends, and serves no requests.
    pub fn is_query(&self) -> bool {
        match self {
            Command::Subscriber(_)
            | Command::Sim(_)
            | Command::Status(_)
            | Command::Upf(_)
            | Command::Ue(_)
            | Command::Locate(_)
            | Command::Charging(_)
            | Command::Drain(_)
            | Command::Rebalance(_)
            | Command::Check(_)
            | Command::Doctor(_)
            | Command::Backup(_)
            | Command::Reference(_)
            | Command::Completions(_)
            | Command::Version(_)
            | Command::Defaults
            | Command::Pki(pki::PkiCommand::Status(_)) => true,
            Command::Up(_)
            | Command::Nf(_)
            | Command::Fabric(_)
            | Command::Restore(_)
            | Command::Man(_)
            | Command::Top(_)
            | Command::Pki(_)
            | Command::Ran(_)
            | Command::Demo(_)
            | Command::Switch(_)
            | Command::Lab(_) => false,
        }
    }

    /// Whether a failed write to standard output is an error of the command: it prints what it has
    /// done or seen, and serves no requests.
    pub fn reports_failed_writes(&self) -> bool {
        self.is_query() || matches!(self, Command::Restore(_) | Command::Top(_) | Command::Pki(_))
    }

    /// Runs the command to its end.
    pub fn run(self, log: &LogArgs) -> Result<()> {
        match self {
            Command::Up(args) => up::run(args, log),
            Command::Nf(args) => nf::run(args),
            Command::Fabric(args) => fabric::run(args),
            Command::Subscriber(command) => subscriber::run(command),
            Command::Sim(command) => sim::run(command),
            Command::Status(args) => status::run(args),
            Command::Top(args) => top::run(args),
            Command::Upf(command) => upf::run(command),
            Command::Ue(args) => ue::run(args),
            Command::Locate(args) => locate::run(args),
            Command::Charging(args) => charging::run(args),
            Command::Drain(args) => drain::run(args),
            Command::Rebalance(args) => rebalance::run(args),
            Command::Check(args) => check::run(args),
            Command::Pki(command) => pki::run(command),
            Command::Defaults => {
                print!("{}", martlet::config::DEFAULTS);
                Ok(())
            }
            Command::Ran(args) => external::RAN.run(args, log),
            Command::Demo(args) => demo::run(args),
            Command::Switch(args) => martlet_switch_rpi::run(args),
            Command::Lab(args) => external::LAB.run(args, log),
            Command::Doctor(args) => doctor::run(args),
            Command::Backup(args) => backup::backup(&args),
            Command::Restore(args) => backup::restore(&args),
            Command::Reference(command) => reference::run(command),
            Command::Completions(args) => {
                args.print(crate::Cli::command());
                Ok(())
            }
            Command::Man(args) => args.write(crate::Cli::command()),
            Command::Version(args) => {
                version::run(&args);
                Ok(())
            }
        }
    }
}

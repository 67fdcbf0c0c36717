//! `martlet subscriber`: the subscriber database. Where a core with the northbound API runs, the
//! commands go over it, so that its audit log has each change.
mod add;
mod database;
mod export;
mod import;
mod keys;
mod list;
mod losses;
mod over_api;
mod remove;
mod set;
mod show;
mod static_addresses;
mod values;

pub use database::DatabaseArgs;
pub use values::{slice, supi};

use anyhow::Result;
use clap::Subcommand;

/// Commands for the subscriber database. The core may run at the same time.
///
/// They go over the API of the running core. `--db`, and a core that does not run, mean the
/// database itself; so do commands that read keys, which the API never shows.
#[derive(Subcommand)]
pub enum SubscriberCommand {
    /// Add a subscriber, or several with consecutive IMSIs
    Add(Box<add::AddArgs>),
    /// Change fields of a subscriber, and keep the others
    Set(Box<set::SetArgs>),
    /// List subscribers
    List(list::ListArgs),
    /// Show a subscriber
    Show(show::ShowArgs),
    /// Remove subscribers
    Remove(remove::RemoveArgs),
    /// Import subscribers from Open5GS, free5GC, UERANSIM, CSV or JSON
    Import(import::ImportArgs),
    /// Export all subscribers with their keys
    Export(export::ExportArgs),
}

/// Runs the command.
pub fn run(command: SubscriberCommand) -> Result<()> {
    match command {
        SubscriberCommand::Add(args) => add::add(&args),
        SubscriberCommand::Set(args) => set::set(&args),
        SubscriberCommand::List(args) => list::list(&args),
        SubscriberCommand::Show(args) => show::show(&args),
        SubscriberCommand::Remove(args) => remove::remove(&args),
        SubscriberCommand::Import(args) => import::import(&args),
        SubscriberCommand::Export(args) => export::export(&args),
    }
}

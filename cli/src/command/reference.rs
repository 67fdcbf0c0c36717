//! `martlet reference`: what the program knows of its own configuration, for pages and editors.
use anyhow::Result;
use clap::Subcommand;
use martlet::config::reference;

/// Commands for the reference.
#[derive(Subcommand)]
pub enum ReferenceCommand {
    /// Print a table of every configuration key, Markdown
    Keys,
    /// Print a JSON Schema of the configuration, by which editors complete and check it
    Schema,
    /// Print the deviations of other vendors' programs that are tolerated, Markdown
    Quirks,
}

/// Runs the command.
pub fn run(command: ReferenceCommand) -> Result<()> {
    match command {
        ReferenceCommand::Keys => print!("{}", reference::table()?),
        ReferenceCommand::Schema => {
            println!("{}", serde_json::to_string_pretty(&reference::schema()?)?);
        }
        ReferenceCommand::Quirks => print!("{}", martlet_interop::all_markdown()),
    }
    Ok(())
}

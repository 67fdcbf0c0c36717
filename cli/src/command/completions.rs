//! `martlet completions` and `martlet man`: files that packages install for shells and readers.
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Arguments of `martlet completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Arguments of `martlet man`.
#[derive(Args)]
pub struct ManArgs {
    /// Folder for the pages, which is created if it does not exist
    folder: PathBuf,
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) {
    let mut command = crate::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "martlet", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
}

/// Writes a manual page for each command.
pub fn manual(args: &ManArgs) -> Result<()> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(crate::Cli::command(), folder)
        .with_context(|| folder.display().to_string())
}

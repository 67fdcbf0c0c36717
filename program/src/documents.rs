//! Files that packages install for shells and readers: completions and manual pages.
use anyhow::{Context, Result};
use clap::{Args, Command};
use std::path::PathBuf;

/// Arguments of the command that prints completions.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    /// Prints the completions of a program.
    pub fn print(&self, mut program: Command) {
        let name = program.get_name().to_string();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        print!("{}", String::from_utf8_lossy(&script));
    }
}

/// Arguments of the command that writes manual pages.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Folder for the pages, which is created if it does not exist
    folder: PathBuf,
}

impl ManArgs {
    /// Writes a manual page for a program, and for each of its commands.
    ///
    /// # Errors
    /// The folder cannot be created or written.
    pub fn write(&self, program: Command) -> Result<()> {
        let folder = &self.folder;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        clap_mangen::generate_to(program, folder).with_context(|| folder.display().to_string())
    }
}

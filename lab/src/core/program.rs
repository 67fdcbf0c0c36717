//! Finds the programs that an experiment starts.
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;

/// The core that an experiment starts.
#[derive(Debug, Clone, Default, Args)]
pub struct CoreArgs {
    /// The martlet program [default: beside this program, else on PATH]
    #[arg(long, value_name = "FILE", env = "MARTLET_PROGRAM")]
    pub martlet: Option<PathBuf>,
}

impl CoreArgs {
    /// The path of `martlet`.
    ///
    /// # Errors
    /// `martlet` is not given, not beside this program and not on PATH.
    pub fn program(&self) -> Result<PathBuf> {
        match &self.martlet {
            Some(path) => Ok(path.clone()),
            None => sibling_program("martlet").or_else(|| program_on_path("martlet")).context(
                "martlet is neither beside this program nor on PATH: install it, or name it with \
                 --martlet",
            ),
        }
    }
}

/// A program in the folder of this one.
pub fn sibling_program(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

fn program_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

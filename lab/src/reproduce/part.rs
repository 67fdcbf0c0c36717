//! The origin of a part of a report: from which programs and with which options it was measured. A
//! part with the same origin is not measured again.
use super::{Paper, ReproduceArgs};
use crate::core::sibling_program;
use crate::machine;
use anyhow::{Context, Result};
use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file of a part that has its origin. It is written last.
const FILE: &str = "origin.json";

/// From which programs and with which options a part was measured.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    arguments: Vec<String>,
    /// Another kernel gives other values.
    kernel: String,
    /// The digest of each program, by its name.
    programs: BTreeMap<String, String>,
}

impl Origin {
    /// The origin of a part that is measured now.
    ///
    /// # Errors
    /// A program cannot be read.
    pub(super) fn of(args: &ReproduceArgs, paper: Paper, words: &[String]) -> Result<Origin> {
        let mut programs = vec![std::env::current_exe()?];
        programs.extend(programs_of(args, paper));
        let digest_of = |path: &PathBuf| -> Result<(String, String)> {
            let bytes = std::fs::read(path)
                .with_context(|| format!("cannot read the program {}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, hex::encode(digest(&SHA256, &bytes))))
        };
        let programs = programs.iter().map(digest_of).collect::<Result<_>>()?;
        let kernel = machine::describe()["kernel"].as_str().unwrap_or_default().to_string();
        Ok(Origin { arguments: words.to_vec(), kernel, programs })
    }

    /// Whether a folder has a part of this origin.
    pub(super) fn is_of(&self, folder: &Path) -> bool {
        let read = || -> Result<Origin> {
            Ok(serde_json::from_slice(&std::fs::read(folder.join(FILE))?)?)
        };
        folder.join("summary.json").is_file() && read().is_ok_and(|there| there == *self)
    }

    /// Notes the origin of a part that was measured.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::write(folder.join(FILE), serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", folder.join(FILE).display()))
    }
}

/// The programs that a part measures, besides this one. Those that are missing are left out: the
/// experiment has an error for them.
fn programs_of(args: &ReproduceArgs, paper: Paper) -> Vec<PathBuf> {
    let found = match paper {
        Paper::L25gc | Paper::All => args.core.program().ok(),
        Paper::Xupfpi => None,
        Paper::Switch => args.switch_program.clone().or_else(|| sibling_program("martlet-switch")),
        Paper::LcsUpp => sibling_program("martlet-lcs"),
    };
    found.filter(|path| path.is_file()).into_iter().collect()
}

/// Removes what tells that a folder has a whole part, before it is measured again. Without it, the
/// figures of a part that fails would be those of an older one.
///
/// # Errors
/// A file cannot be removed.
pub(super) fn forget(folder: &Path) -> Result<()> {
    for file in [FILE, "summary.json"] {
        match std::fs::remove_file(folder.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

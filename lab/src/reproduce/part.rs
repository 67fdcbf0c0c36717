//! A part of a report: its origin, that is from which programs and with which options it was
//! measured, and the error with which it failed. A part with the same origin is not measured again.
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

/// The error with which an experiment ended, from its log. Programs that it started write there
/// too, also after it. `None` if it was killed.
pub(super) fn error_of(log: &str) -> Option<String> {
    const PREFIX: &str = "martlet-lab: ";
    let at = if log.starts_with(PREFIX) { 0 } else { log.rfind(&format!("\n{PREFIX}"))? + 1 };
    let lines = log[at + PREFIX.len()..].lines().map(str::trim);
    // Messages of other programs begin with their time or with the colour of it.
    let is_time = |line: &str| line.starts_with("20") && line.get(4..5) == Some("-");
    let lines = lines.take_while(|line| !line.starts_with("\u{1b}[") && !is_time(line));
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_experiment_is_not_the_last_message_of_another_program() {
        let log = "2026-11-29T20:29:58Z INFO started\nmartlet-lab: the core failed:\n\n  line 2: \
                   too long\n\u{1b}[2m2026-11-29T20:29:59Z INFO parent process ended\n";
        assert_eq!(error_of(log).unwrap(), "the core failed: line 2: too long");
        assert_eq!(error_of("martlet-lab: no right\n").unwrap(), "no right");
        assert_eq!(error_of("2026-11-29T20:29:59Z INFO parent process ended\n"), None);
        assert_eq!(error_of(""), None);
    }

    #[test]
    fn a_part_is_of_the_programs_and_options_with_which_it_was_measured() {
        let folder = std::env::temp_dir().join(format!("martlet-origin-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let origin = |argument: &str, digest: &str| Origin {
            arguments: vec![argument.into()],
            kernel: "6.1".into(),
            programs: [("martlet-lab".to_string(), digest.to_string())].into(),
        };
        let measured = origin("--quick", "aa");
        measured.write(&folder).unwrap();
        assert!(!measured.is_of(&folder), "an experiment that was aborted has no summary");
        std::fs::write(folder.join("summary.json"), "{}").unwrap();
        assert!(measured.is_of(&folder));
        assert!(!origin("--rounds", "aa").is_of(&folder));
        assert!(!origin("--quick", "bb").is_of(&folder));
        forget(&folder).unwrap();
        assert!(!measured.is_of(&folder));
        forget(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

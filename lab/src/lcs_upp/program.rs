//! Which program the ends are.
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// Names another program than the one beside this one.
const VARIABLE: &str = "MARTLET_LCS";

/// `martlet-lcs`, which has nothing else in it, where it lies beside this program.
pub(super) fn lean() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    named.filter(|path| path.exists()).or_else(|| crate::program::beside("martlet-lcs"))
}

/// An end: `server` or `client`.
pub(super) fn program(end: &str) -> Result<Command> {
    Ok(match lean() {
        Some(path) => {
            let mut command = Command::new(path);
            command.arg(end);
            command
        }
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--log", "warn", &format!("lcs-upp-{end}"), "--"]);
            command
        }
    })
}

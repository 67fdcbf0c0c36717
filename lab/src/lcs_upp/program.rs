//! The program that runs as client and server.
use crate::core::sibling_program;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// Environment variable with the path of `martlet-lcs`.
const VARIABLE: &str = "MARTLET_LCS";

/// `martlet-lcs`, which contains nothing but the two ends, if it is installed beside this program.
pub(super) fn small_endpoint() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    named.filter(|path| path.exists()).or_else(|| sibling_program("martlet-lcs"))
}

/// The command of an end, `server` or `client`.
pub(super) fn endpoint_command(end: &str) -> Result<Command> {
    Ok(match small_endpoint() {
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

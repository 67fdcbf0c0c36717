//! Programs of the system that experiments run.
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Runs a program until it ends.
///
/// # Errors
/// The program is missing, or fails; the error has what it wrote.
pub fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("`{program}` is missing: install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {} failed: {text}", arguments.join(" "));
    Ok(())
}

/// Runs `ip` with these words.
///
/// # Errors
/// As [`run`].
pub fn ip(words: &str) -> Result<()> {
    run("ip", &words.split(' ').collect::<Vec<_>>())
}

//! Installed programs that tests run in their namespace.
use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

/// Whether a program is installed. If not, prints that the test is skipped.
pub fn is_installed(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if !found {
        crate::skip(&format!("{program} is not installed"));
    }
    found
}

/// Runs a program and returns its standard output.
///
/// # Errors
/// It does not start, or it fails; the error has its output.
pub async fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let what = format!("{program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The program inherits the network namespace through the runtime's thread.
    let output = tokio::task::spawn_blocking(move || command.output())
        .await?
        .with_context(|| what.clone())?;
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{what} failed with {}: {stdout}{stderr}", output.status);
    Ok(stdout.into_owned())
}

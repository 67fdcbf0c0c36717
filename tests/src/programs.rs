//! Programs of others, which tests run in their namespace.
use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

/// Whether a program is installed; says that the test is skipped where it is not.
pub fn has(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}

/// Runs a program beside the test, and gives what it says on standard output.
///
/// # Errors
/// It does not start, or ends with another code than 0.
pub async fn run(program: &str, words: &[&str]) -> Result<String> {
    let what = format!("{program} {}", words.join(" "));
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Threads of the runtime are in the namespace of the thread that makes them, and programs in
    // that of theirs.
    let output = tokio::task::spawn_blocking(move || command.output())
        .await?
        .with_context(|| what.clone())?;
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{what} ended with {}: {said}{complained}", output.status);
    Ok(said.into_owned())
}

//! Runs `openapi_validate.py` over messages.
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The validator's findings; `None`, with a message, if it cannot run here.
pub fn violations(messages: &[Value]) -> Option<Vec<String>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside_the_workspace = here.join("../../../shared/specs/openapi");
    let folder =
        std::env::var_os("MARTLET_3GPP_OPENAPI").map_or(beside_the_workspace, PathBuf::from);
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.arg(here.join("tests/openapi_validate.py")).arg("--specs").arg(folder);
    let running =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut running = match running {
        Ok(running) => running,
        Err(error) => {
            eprintln!("SKIPPED: {python} does not start: {error}");
            return None;
        }
    };
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let mut input = running.stdin.take().unwrap();
    // The validator's output fills a pipe while its input is still being written, so it is read
    // concurrently.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = running.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_string();
    match output.status.code() {
        Some(0 | 1) => {
            written.unwrap();
            eprintln!("{stderr}");
            Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
        }
        Some(77) => {
            eprintln!("{stderr}");
            None
        }
        _ => panic!("openapi_validate.py failed: {stderr}"),
    }
}

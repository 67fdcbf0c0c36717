//! The verdict of pycrate, an independent implementation of NAS and NGAP in Python.
//!
//! `MARTLET_PYTHON` names the interpreter that has pycrate; else it is `python3`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the scripts.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles")
}

/// The interpreter.
pub fn python() -> String {
    std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// The exit code of a script that lacks a requirement, which it names on standard error.
const LACKING: i32 = 77;

/// Runs a script of `wire/oracles` on `input` and returns its output. `None` if it cannot run, with
/// a note in the test's output.
///
/// # Panics
/// If the script fails.
pub fn run(script: &str, input: &str) -> Option<String> {
    let path = scripts().join(script);
    let child = Command::new(python())
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("SKIPPED: {} does not start: {error}", python());
            return None;
        }
    };
    // From a thread of its own: a script that writes while it reads would block otherwise.
    let stdin = child.stdin.take();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // A script that lacks pycrate ends without reading.
            let _ = stdin.write_all(input.as_bytes());
        }
    });
    let output = child.wait_with_output().unwrap_or_else(|error| panic!("{script}: {error}"));
    writer.join().unwrap_or_else(|_| panic!("{script}: its input was not written"));
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(LACKING) {
        eprintln!("SKIPPED: {}", errors.trim());
        return None;
    }
    assert!(output.status.success(), "{script} fails: {errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Decodes and encodes messages with pycrate, each given as its kind, a name for the report, and
/// its bytes: `nas`, `ngap`, `lpp`, `nrppa`, `pfcp`, `gtpu`, or the name of a transfer. Returns the
/// names of messages that differ afterwards, with pycrate's report. `None` if pycrate is not
/// installed.
///
/// # Panics
/// If the script fails.
pub fn recode(messages: &[(String, String, Vec<u8>)]) -> Option<Vec<String>> {
    let input: String = messages
        .iter()
        .map(|(kind, _, bytes)| format!("{kind}\t{}\n", hex::encode(bytes)))
        .collect();
    let output = run("recode.py", &input)?;
    let answers: Vec<&str> = output.lines().collect();
    assert_eq!(answers.len(), messages.len(), "recode.py answers every line");
    let wrong = messages.iter().zip(answers).filter_map(|((kind, name, bytes), answer)| {
        let sent = hex::encode(bytes);
        (answer != sent).then(|| format!("{kind} {name}\n  ours    {sent}\n  pycrate {answer}"))
    });
    Some(wrong.collect())
}

/// Decodes and encodes each message of a file of vectors with pycrate (see
/// [`lines`](crate::lines)): two fields with its name, then its bytes. Skipped where pycrate is not
/// installed.
///
/// # Panics
/// If pycrate does not encode the same bytes, or the script fails.
pub fn assert_same_bytes(kind: &str, vectors: &str) {
    let messages: Vec<_> = crate::lines(vectors)
        .map(|fields| (kind.to_owned(), fields[..2].join(" "), crate::bytes(fields[2])))
        .collect();
    if let Some(wrong) = recode(&messages) {
        assert!(wrong.is_empty(), "pycrate reads these otherwise:\n{}", wrong.join("\n"));
    }
}

//! The validator of messages against 3GPP's OpenAPI files. It is one process for all tests of a
//! program, since its start takes longer than a check.
use crate::namespace::outside;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A line that ends the report of a batch.
const END: &str = ".\n";

/// The process, which ends with its standard input, and so with this program.
struct Validator {
    _process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The process, or why there is none.
static VALIDATOR: LazyLock<Result<Mutex<Validator>, String>> =
    LazyLock::new(|| Ok(Mutex::new(Validator::start()?)));

/// The validator's report about messages: the violations, and a count. `None`, with a message on
/// standard error, if the files or the validator are missing.
///
/// # Errors
/// The validator ended.
pub(crate) fn check(messages: &[Value]) -> Result<Option<String>> {
    match &*VALIDATOR {
        Ok(validator) => {
            let mut validator = validator.lock().unwrap_or_else(PoisonError::into_inner);
            validator.check(messages).map(Some)
        }
        Err(reason) => {
            eprintln!("SKIPPED: SBI messages are not validated: {reason}");
            Ok(None)
        }
    }
}

impl Validator {
    fn start() -> Result<Self, String> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let default = root.join("../shared/specs/openapi");
        let specs = std::env::var_os("MARTLET_3GPP_OPENAPI").map_or(default, PathBuf::from);
        if !specs.is_dir() {
            return Err("no OpenAPI files; set MARTLET_3GPP_OPENAPI to their folder".into());
        }
        let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
        let missing =
            || format!("{python} has no PyYAML and openapi-schema-validator; run `make oracles`");
        let probe = Command::new(&python)
            .args(["-c", "import yaml, openapi_schema_validator"])
            .stderr(Stdio::null())
            .status();
        if !probe.is_ok_and(|status| status.success()) {
            return Err(missing());
        }
        let mut command = Command::new(&python);
        command.arg(root.join("sbi/api/tests/openapi_validate.py"));
        command.arg("--serve").arg("--specs").arg(specs);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = outside(move || Ok(command.spawn()?));
        let mut process = process.map_err(|error| format!("{python}: {error}"))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().ok_or_else(missing)?);
        Ok(Validator { _process: process, input, output })
    }

    fn check(&mut self, messages: &[Value]) -> Result<String> {
        let mut input = self.input.take().context("the validator ended before")?;
        let mut text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        text.push('\n');
        // Written on another thread: the output pipe may fill before all lines are written.
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).map(|()| input));
        let mut report = String::new();
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the validator ended:\n{report}");
            if line == END {
                break;
            }
            report += &line;
        }
        let written = writer.join().ok().context("the writer of messages")?;
        self.input = Some(written.context("write to the validator")?);
        Ok(report)
    }
}

//! Tests that a machine cannot run.
use std::io::Write;

/// Reports that the current test is skipped, with the reason. The line is written past the output
/// capture of the test harness, so that it is visible although the test passes; `make test` lists
/// all of them at its end.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

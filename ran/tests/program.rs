//! The program `martlet-ran` by its arguments, without a core. These tests have cargo build the
//! program, which tests of other packages run.
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

fn martlet_ran(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_martlet-ran"));
    command.args(arguments).env_remove("MARTLET_LOG").env_remove("MARTLET_LOG_FORMAT");
    command
}

fn output(arguments: &[&str]) -> Output {
    martlet_ran(arguments).output().expect("the program starts")
}

/// What a command that succeeds prints.
fn printed(arguments: &[&str]) -> String {
    let output = output(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_examples_of_scenarios_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of scenarios").flatten() {
        let path = entry.path().display().to_string();
        let text = printed(&["--check", "--config", &path]);
        assert!(text.starts_with(&path) && text.ends_with(" steps: valid\n"), "{text}");
        count += 1;
    }
    assert!(count > 3, "only {count} scenarios were read");
}

#[test]
fn an_error_is_one_line_with_the_name_of_the_program() {
    let output = output(&["--config", "/nonexistent/scenario.yaml"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("martlet-ran: ") && error.lines().count() == 1, "{error}");
    assert!(error.contains("/nonexistent/scenario.yaml"), "{error}");
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_of_one_line() {
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut list = martlet_ran(&["conformance", "--list"]);
    let output = list.stdout(full).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("martlet-ran: standard output cannot be written"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn help_has_all_options_and_the_commands_for_people() {
    let help = printed(&["--help"]);
    for part in ["--config", "--json", "--check", "conformance", "Log options", "--log-format"] {
        assert!(help.contains(part), "no {part}: {help}");
    }
    assert!(!help.contains("completions"), "{help}");
    // Only the options of the log are below their heading.
    let (own, log) = help.split_once("Log options").expect("a heading");
    assert!(own.contains("--csv") && !log.contains("--csv"), "{help}");
    assert!(printed(&["conformance", "--help", "--log", "warn"]).contains("--amf"));
    assert!(printed(&["--version"]).starts_with("martlet-ran "));
}

#[test]
fn manual_pages_and_completions_are_those_of_the_program() {
    let folder = std::env::temp_dir().join(format!("martlet-ran-man-{}", std::process::id()));
    printed(&["man", folder.to_str().expect("a path in UTF-8")]);
    for (page, option) in [("martlet-ran.1", "config"), ("martlet-ran-conformance.1", "amf")] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(option), "{page}: {text}");
    }
    let _ = std::fs::remove_dir_all(&folder);
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("martlet-ran") && script.contains("config"), "{shell}: {script}");
    }
}

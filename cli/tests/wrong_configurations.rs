//! Wrong configurations, one mistake each, in `config/tests/wrong`. A comment on the first lines of
//! each file has the line, the key, and what the report says of what is right.
use martlet::config::Config;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/tests/wrong")
}

/// An expected error: line, key, and a part of the text.
fn expected(text: &str) -> Vec<(u64, String, String)> {
    let comments = text.lines().map_while(|line| line.strip_prefix("# "));
    let one = |comment: &str| {
        let (line, rest) = comment.split_once(' ').expect("a line number");
        let (key, part) = rest.split_once(": ").expect("a key");
        (line.parse().expect("a line number"), key.to_string(), part.to_string())
    };
    comments.map(one).collect()
}

/// What the JSON Schema finds of the wrong configurations: keys and types. It does not know what
/// belongs together, such as pools of two functions.
const FOUND_BY_SCHEMA: [&str; 16] = [
    "algorithm-unknown",
    "bool-as-word",
    "key-of-another-section",
    "later-item",
    "list-as-text",
    "number-as-word",
    "number-negative",
    "number-too-large",
    "one-line",
    "renamed-key",
    "section-as-text",
    "several",
    "text-as-list",
    "unknown-choice",
    "unknown-key",
    "unknown-section",
];

fn martlet(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_martlet")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The schema by which editors check a file is one, accepts what the program accepts, and finds
/// mistakes: by an independent validator, jsonschema of Python.
#[test]
fn the_json_schema_accepts_right_configurations_and_finds_mistakes() {
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&python).args(["-c", "import jsonschema"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return martlet_tests::skip("JSON Schema: Python has no jsonschema; run `make oracles`");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Where no type is asked for, this parser reads `off` as false, as YAML 1.1 does. Editors read
    // YAML 1.2, where it is a text.
    let parse = |text: &str| serde_saphyr::from_str(&text.replace(": off", ": \"off\""));
    let right = ["deploy/deb/martlet.yaml", "deploy/compose/martlet.yaml"];
    let mut files: BTreeMap<String, Value> = right
        .iter()
        .map(|name| (*name, std::fs::read_to_string(root.join(name)).unwrap()))
        .chain([("defaults", martlet(&["defaults"]))])
        .map(|(name, text)| (name.into(), parse(&text).unwrap()))
        .collect();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        // One is no YAML, and one has a key twice.
        if let Ok(value) = parse(&std::fs::read_to_string(&file).unwrap()) {
            files.insert(format!("wrong/{name}"), value);
        }
    }
    let schema: Value = serde_json::from_str(&martlet(&["reference", "schema"])).unwrap();
    let mut validator = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let given = json!({"schema": schema, "files": files}).to_string();
    validator.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
    let output = validator.wait_with_output().unwrap();
    assert!(output.status.success(), "the schema is not valid");
    let errors: BTreeMap<String, Vec<String>> = serde_json::from_slice(&output.stdout).unwrap();
    for name in right.iter().chain(&["defaults"]) {
        assert!(errors[*name].is_empty(), "{name}: {:#?}", errors[*name]);
    }
    let found = errors.iter().filter(|(_, errors)| !errors.is_empty());
    let found: Vec<_> = found.filter_map(|(name, _)| name.strip_prefix("wrong/")).collect();
    assert_eq!(found, FOUND_BY_SCHEMA, "{errors:#?}");
}

#[test]
fn each_mistake_is_reported_with_line_key_and_what_is_right() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 40, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let expected = expected(&std::fs::read_to_string(&file).unwrap());
        let name = file.display().to_string();
        let error = match Config::load_for_machine(Some(&file)) {
            Ok(_) => {
                wrong.push(format!("{name}: no error"));
                continue;
            }
            Err(error) => error.to_string(),
        };
        let lines: Vec<&str> = error.lines().skip(1).collect();
        let is_right = lines.len() == expected.len()
            && lines.iter().zip(&expected).all(|(line, (number, key, part))| {
                let place = match key.as_str() {
                    "" => format!("{name}:{number}: "),
                    key => format!("{name}:{number}: {key}: "),
                };
                line.starts_with(&place) && line.contains(part.as_str())
            });
        if !is_right {
            wrong.push(format!("expected {expected:#?}, but the report is:\n{error}"));
        }
        // The digits of `secret-wrong.yaml`.
        assert!(!error.contains("c53c22208b61"), "{error}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

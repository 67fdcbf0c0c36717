//! Wrong configurations, one mistake each, in `config/tests/wrong`. A comment on the first lines of
//! each file has the line, the key, and what the report says of what is right.
use martlet::config::Config;
use std::path::{Path, PathBuf};

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

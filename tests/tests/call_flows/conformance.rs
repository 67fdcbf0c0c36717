//! `CONFORMANCE.md` says of each clause by which test it is done: what it names is there.
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether it is a file or a folder: a call flow, or a path from the project's root.
fn is_there(name: &str) -> bool {
    let call_flows = root().join("tests/tests/call_flows");
    [call_flows.join(name), root().join(name)].iter().any(|path| path.exists())
}

#[test]
fn every_named_test_exists() {
    let text = std::fs::read_to_string(root().join("CONFORMANCE.md")).unwrap();
    let (mut of_tests, mut rows, mut wrong) = (false, 0, Vec::new());
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if line.contains("| state |") {
            of_tests = line.contains("test, or why not");
            continue;
        }
        if line.starts_with("| ---") {
            continue;
        }
        let state =
            cells.iter().position(|cell| ["done", "part", "no", "does not apply"].contains(cell));
        let Some(state) = state else {
            wrong.push(format!("no state: {line}"));
            continue;
        };
        let remark = cells[state + 1..].join(" | ");
        let missing = quoted(&remark)
            .find(|name| (name.ends_with(".rs") || name.contains('/')) && !is_there(name));
        if let Some(missing) = missing {
            wrong.push(format!("there is no {missing}: {line}"));
        }
        if of_tests {
            rows += 1;
            if cells[state] == "done" && !quoted(&remark).any(is_there) {
                wrong.push(format!("by which test: {line}"));
            }
            if remark.is_empty() {
                wrong.push(format!("why not: {line}"));
            }
        }
    }
    assert!(rows > 200, "the tables are not read: {rows} rows");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names of all tests of the tree that begin so.
fn tests_named(start: &str) -> Vec<String> {
    fn collect(folder: &Path, start: &str, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                collect(&path, start, into);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let names =
                    text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
                into.extend(names.filter(|name| name.starts_with(start)).map(str::to_owned));
            }
        }
    }
    let mut names = Vec::new();
    for folder in ["tests/tests", "nf"] {
        collect(&root().join(folder), start, &mut names);
    }
    names
}

/// The numbers of clauses in a text, such as 4.2.2.1.1.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', ',']).filter(|word| word.starts_with("4."));
    words.filter(|word| word.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

#[test]
fn every_scas_case_has_a_test_with_its_number() {
    let text = std::fs::read_to_string(root().join("CONFORMANCE.md")).unwrap();
    let (mut cases, mut missing) = (0, Vec::new());
    for line in
        text.lines().filter(|line| line.starts_with("| 33.5") && line.contains(" | done | "))
    {
        let case = line.trim_matches('|').split(" | ").next().unwrap_or_default().trim();
        let names = tests_named(&format!("ts_{}_", case[..6].replace('.', "_")));
        for clause in clauses(case) {
            cases += 1;
            let number = format!("_{}_", clause.replace('.', "_"));
            if !names.iter().any(|name| name.contains(&number)) {
                missing.push(format!("{clause} of {case}"));
            }
        }
    }
    assert!(cases > 18, "the table is not read: {cases} cases");
    assert!(missing.is_empty(), "no test has the number {}", missing.join(", "));
}

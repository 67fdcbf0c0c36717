//! Checks of `CONFORMANCE.md` and `docs/security.md`: the files and functions that their columns
//! `code` and `test` name exist, and each SCAS test case with a number has a test with that number.
use std::path::{Path, PathBuf};

const STATES: [&str; 4] = ["done", "part", "no", "does not apply"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn conformance() -> String {
    std::fs::read_to_string(root().join("CONFORMANCE.md")).expect("read CONFORMANCE.md")
}

/// The cells of a table row.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')).unwrap_or(line);
    inner.split('|').map(str::trim).collect()
}

/// The links of a cell, `[label](path)`, each with the function in backticks after it, if any.
fn links(cell: &str) -> Vec<(&str, Option<&str>)> {
    let link = |text| {
        let (path, rest): (&str, &str) = str::split_once(text, ')')?;
        let function = rest.strip_prefix(" `").and_then(|rest| rest.split('`').next());
        Some((path, function))
    };
    cell.split("](").skip(1).filter_map(link).collect()
}

/// What is wrong with a link: no such file, or no such function in it.
fn fault(path: &str, function: Option<&str>) -> Option<String> {
    let file = root().join(path);
    if !file.exists() {
        return Some(format!("no file {path}"));
    }
    let function = function?;
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let defines =
        |rest: &str| rest.strip_prefix(function).is_some_and(|rest| rest.starts_with(['(', '<']));
    let found = text.split("fn ").skip(1).any(defines);
    (!found).then(|| format!("no function {function} in {path}"))
}

#[test]
fn every_named_file_and_function_exists() {
    let text = conformance();
    let (mut header, mut rows, mut faults) = (Vec::new(), 0, Vec::new());
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells = cells(line);
        if cells.contains(&"state") {
            header = cells;
            continue;
        }
        if line.starts_with("| ---") {
            continue;
        }
        let column = |name| header.iter().position(|title| *title == name);
        let cell = |name| column(name).and_then(|at| cells.get(at)).copied().unwrap_or_default();
        if cells.len() != header.len() {
            faults.push(format!("{} cells instead of {}: {line}", cells.len(), header.len()));
        }
        if !STATES.contains(&cell("state")) {
            faults.push(format!("no state: {line}"));
        }
        for (path, function) in cells.iter().flat_map(|cell| links(cell)) {
            // `make lint` checks headings.
            let path = path.split('#').next().unwrap_or_default();
            if !path.starts_with("http") {
                faults.extend(fault(path, function).map(|fault| format!("{fault}: {line}")));
            }
        }
        if column("code").is_some() {
            rows += 1;
            let implemented = ["done", "part"].contains(&cell("state"));
            for name in ["code", "test"] {
                if implemented == links(cell(name)).is_empty() {
                    faults.push(format!("column {name} does not fit the state: {line}"));
                }
            }
            if !implemented && cell("remark").is_empty() {
                faults.push(format!("no reason: {line}"));
            }
        }
    }
    assert!(rows > 250, "only {rows} rows were read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_row_of_the_security_page_has_a_test_that_exists() {
    let text = std::fs::read_to_string(root().join("docs/security.md")).expect("read the page");
    let (mut rows, mut faults) = (0, Vec::new());
    // Other tables have no column of tests.
    let mut has_tests = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            has_tests = false;
        } else if line.ends_with("| test |") {
            has_tests = true;
            continue;
        }
        if !has_tests || line.starts_with("| ---") {
            continue;
        }
        rows += 1;
        let tests = links(cells(line).last().copied().unwrap_or_default());
        if tests.is_empty() {
            faults.push(format!("no test: {line}"));
        }
        for (path, function) in tests {
            let fault = fault(path.strip_prefix("../").unwrap_or(path), function);
            faults.extend(fault.map(|fault| format!("{fault}: {line}")));
        }
    }
    assert!(rows > 30, "only {rows} rows were read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The names of all functions in test files of the tree that begin with `start`.
fn tests_named(start: &str) -> Vec<String> {
    fn collect(folder: &Path, start: &str, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                collect(&path, start, into);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).expect("read a source file");
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

/// The clause numbers in a text, such as 4.2.2.1.1.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', ',']).filter(|word| word.starts_with("4."));
    words.filter(|word| word.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

#[test]
fn every_scas_case_has_a_test_with_its_number() {
    let text = conformance();
    let (mut cases, mut missing) = (0, Vec::new());
    for line in
        text.lines().filter(|line| line.starts_with("| 33.5") && line.contains(" | done | "))
    {
        let case = cells(line)[0];
        let names = tests_named(&format!("ts_{}_", case[..6].replace('.', "_")));
        for clause in clauses(case) {
            cases += 1;
            let number = format!("_{}_", clause.replace('.', "_"));
            if !names.iter().any(|name| name.contains(&number)) {
                missing.push(format!("{clause} of {case}"));
            }
        }
    }
    assert!(cases > 18, "only {cases} cases were read");
    assert!(missing.is_empty(), "no test has the number {}", missing.join(", "));
}

//! Reads a configuration file into its type, and finds all of its mistakes in one go.
//!
//! The parser stops at the first mistake. Its entry is then taken out of the text, and the rest is
//! parsed again, until nothing is wrong any more.
use crate::redact::redact;
use crate::reference::Reference;
use crate::renamed::renamed_keys;
use crate::yaml::from_yaml;
use crate::{Finding, Lines, Report};
use serde::de::DeserializeOwned;
use serde_saphyr::Error;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// Mistakes that are reported of one file.
const MAX_FINDINGS: usize = 100;

/// What was read of a file.
#[derive(Debug)]
pub struct Reading<T> {
    /// The value, with defaults in place of wrong entries. `None` if the text is not YAML, or if
    /// what is left without the wrong entries does not fit.
    pub value: Option<T>,
    /// The keys of the file.
    pub lines: Lines,
    /// All mistakes, by line.
    pub report: Report,
    /// Paths of the wrong entries.
    removed: HashSet<String>,
    /// The keys without the wrong entries.
    rest: Lines,
}

impl<T> Reading<T> {
    /// The path in the file of a path in the value: a list of the value lacks its wrong items, so
    /// that later ones have other indices.
    pub fn path_in_file(&self, path: &str) -> String {
        self.lines.path_of(&self.rest, path)
    }

    /// Whether a value may be wrong only because an entry in it, or around it, was wrong.
    pub fn is_affected(&self, path: &str) -> bool {
        let around = |one: &str, other: &str| one == other || is_below(other, one);
        self.removed.iter().any(|wrong| around(wrong, path) || around(path, wrong))
    }
}

/// Reads a text into `T`. `file` is the name that error messages carry.
///
/// # Errors
/// The text holds keys of an earlier release (all of them are reported, with their new names), is
/// not YAML, or does not fit `T`. Each message names the line.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<(T, Lines), Report> {
    let reading = read_all::<T>(file, text, "");
    match reading.value {
        Some(value) if reading.report.lines.is_empty() => Ok((value, reading.lines)),
        _ => Err(reading.report),
    }
}

/// Reads a file into `T`.
///
/// # Errors
/// The file cannot be read, or one of the errors of [`read`].
pub fn read_file<T: DeserializeOwned>(path: &Path) -> Result<(T, Lines), Report> {
    read(&path.display().to_string(), &text_of(path)?)
}

/// The byte order marks of UTF-16.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The byte order mark of UTF-8, which some editors write.
const UTF_8: &[u8] = b"\xef\xbb\xbf";

/// The text of a file, without a byte order mark.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn text_of(path: &Path) -> Result<String, Report> {
    let wrong = |reason: String| {
        let path = path.display();
        Report { lines: vec![format!("{path}: cannot be read: {reason}")] }
    };
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(wrong("it is UTF-16: save it as UTF-8".into()));
    }
    let bytes = bytes.strip_prefix(UTF_8).unwrap_or(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        wrong(format!("line {line} is not UTF-8: save the file as UTF-8"))
    })?;
    Ok(text.to_string())
}

/// Reads a text into `T` and finds all mistakes. `reference` is a file with every key and its
/// default, from which the examples in messages are taken.
pub fn read_all<T: DeserializeOwned>(file: &str, text: &str, reference: &str) -> Reading<T> {
    let reference = Reference::new(reference);
    let lines = Lines::read(text);
    let renamed = renamed_keys(&lines);
    let mut wrong: Vec<(Option<u64>, Finding)> =
        renamed.into_iter().map(|finding| (lines.of(&finding.path), finding)).collect();
    let mut rest = Text::new(text);
    let mut removed: HashSet<String> = HashSet::new();
    for (line, finding) in &wrong {
        let (line, column) = lines.place(&finding.path).unwrap_or((line.unwrap_or_default(), 0));
        rest.remove(line, column);
        removed.insert(finding.path.clone());
    }
    let mut value = None;
    while wrong.len() < MAX_FINDINGS {
        let current = rest.joined();
        let error = match from_yaml::<T>(&current) {
            Ok(read) => {
                value = Some(read);
                break;
            }
            Err(error) => error,
        };
        let place = error.location().map(|at| (at.line(), at.column()));
        let (line, column) = place.unwrap_or_default();
        let current = Lines::read(&current);
        let error = error.without_snippet();
        let found = match error {
            // The path of a duplicate is not in the map of paths.
            Error::DuplicateMappingKey { key, .. } => key.clone().unwrap_or_default(),
            // The position is that of a key in the section, or of the section.
            Error::SerdeMissingField { .. } => {
                let path = current.at(line, column).unwrap_or_default();
                match path.rsplit_once('.') {
                    Some((section, key)) if !key.ends_with(']') => section.to_string(),
                    _ => path.to_string(),
                }
            }
            _ => current.at(line, column).unwrap_or_default().to_string(),
        };
        let path = lines.path_of(&current, &found);
        // An entry that is empty or incomplete since a part of it has been taken out.
        let is_consequence = match error {
            Error::SerdeMissingField { field, .. } => removed.contains(&join(&path, field)),
            _ => removed.iter().any(|other| is_below(other, &path)),
        };
        let is_syntax = current.is_empty() && !matches!(error, Error::DuplicateMappingKey { .. });
        if !is_consequence {
            let message = match is_syntax {
                true => not_yaml(&syntax(error)),
                false => message(error, &path, &reference),
            };
            wrong.push((place.map(|(line, _)| line), Finding::new(&path, message)));
        }
        // A section that lacks a key is taken out whole, not the key at which the parser noticed.
        let (line, column) = match error {
            Error::SerdeMissingField { .. } => current.place(&found).unwrap_or((line, column)),
            _ => (line, column),
        };
        if is_syntax || !rest.remove(line, column) {
            break;
        }
        removed.insert(path);
    }
    let rest = rest.joined();
    // A text with a key that occurs twice has none.
    let lines = if lines.is_empty() { Lines::read(&rest) } else { lines };
    let rest = Lines::read(&rest);
    wrong.sort_by_key(|(line, _)| *line);
    let report = wrong.iter().map(|(line, finding)| {
        let position = line.map_or(file.to_string(), |line| format!("{file}:{line}"));
        let message = redact(&finding.message);
        match finding.path.is_empty() {
            true => format!("{position}: {message}"),
            false => format!("{position}: {}: {message}", redact(&finding.path)),
        }
    });
    let report = Report { lines: report.collect() };
    Reading { value, lines, report, removed, rest }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

fn is_below(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| section.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a value may be a secret, so that no message shows it.
fn is_secret(path: &str) -> bool {
    let key = path.rsplit(['.', '[']).find(|key| !key.ends_with(']')).unwrap_or(path);
    ["private", "key", "opc", "op", "topc", "password", "secret", "token", "path", "database"]
        .contains(&key)
}

/// What is wrong with an entry, and an example of what is right.
fn message(error: &Error, path: &str, reference: &Reference) -> String {
    let hidden = |text: &str| match is_secret(path) {
        true => "the value".to_string(),
        false => text.to_string(),
    };
    let known = |before: &str, expected: &[&str]| match expected {
        [] => "no key is known here".to_string(),
        all => format!("{before} are {}", all.join(", ")),
    };
    let nearest = |word: &str, of: &[&'static str]| {
        let distance = |name: &&str| strsim::damerau_levenshtein(word, name);
        of.iter().copied().min_by_key(distance).filter(|name| distance(name) <= 1 + word.len() / 3)
    };
    let wrong = match error {
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("{} is not {}", hidden(unexpected), kind(expected))
        }
        Error::InvalidScalar { ty, .. } => format!("the value is not {}", kind(ty)),
        Error::Unexpected { expected, .. } => format!("the value is not {}", kind(expected)),
        Error::SerdeInvalidLength { len, expected, .. } => {
            format!("{len} items are not {}", kind(expected))
        }
        Error::SerdeUnknownField { field, expected, .. } => match nearest(field, expected) {
            Some(name) => return format!("there is no key {field}: did you mean {name}?"),
            None => {
                let before = match reference.path_of_key(field) {
                    Some(path) => format!("is {path} meant? Known here"),
                    None => "known".to_string(),
                };
                return format!("there is no key {field}: {}", known(&before, expected));
            }
        },
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            return format!("{} is not one of {}", hidden(variant), expected.join(", "));
        }
        Error::SerdeMissingField { field, .. } => {
            let example = reference.example(&join(path, field));
            let example =
                example.map_or(String::new(), |line| format!(": write for example {line}"));
            return format!("the key {field} is missing{example}");
        }
        Error::DuplicateMappingKey { .. } => {
            return "the key occurs twice: keep one of them".into();
        }
        Error::Message { msg, .. } | Error::ExternalMessage { msg, .. } => hidden_in(path, msg),
        other => hidden_in(path, &syntax(other)),
    };
    let section = || reference.section(path).filter(|_| wrong.ends_with(SECTION));
    match reference.example(path).map(str::to_string).or_else(section) {
        Some(line) => format!("{wrong}: write for example {line}"),
        None => wrong,
    }
}

/// The message for a text that is not YAML.
fn not_yaml(reason: &str) -> String {
    let has_tab = reason.split_whitespace().any(|word| ["tab", "tabs"].contains(&word));
    match has_tab {
        true => format!("the text is not YAML: {reason}: write spaces in place of tabs"),
        false => format!("the text is not YAML: {reason}"),
    }
}

fn hidden_in(path: &str, text: &str) -> String {
    if is_secret(path) { "the value is not valid".into() } else { text.to_string() }
}

/// The text of an error, without its position in the file, which precedes it.
fn syntax(error: &Error) -> String {
    let text = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let first = text.lines().next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    first.split(" at line ").next().unwrap_or(first).trim_end_matches(['.', ':']).to_string()
}

const SECTION: &str = "a section with keys";

/// A type in words.
fn kind(expected: &str) -> String {
    let number = |max: u64| format!("a number from 0 to {max}");
    match expected {
        "u8" => number(u8::MAX.into()),
        "u16" => number(u16::MAX.into()),
        "u32" => number(u32::MAX.into()),
        "u64" | "usize" => "a whole number".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "bool" | "boolean" | "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        text if text.starts_with("struct ") || text == "a map" || text == "mapping start" => {
            SECTION.into()
        }
        "sequence start" => "a list".into(),
        "string scalar" | "string" | "a string" => "a text".into(),
        text => text.to_string(),
    }
}

/// A text whose entries can be taken out. What is left keeps its lines and columns.
struct Text(Vec<String>);

impl Text {
    fn new(text: &str) -> Text {
        Text(text.lines().map(str::to_string).collect())
    }

    fn joined(&self) -> String {
        self.0.join("\n")
    }

    /// Takes out the entry at this line and column, counted from 1, with all that is below it.
    /// Returns whether there was something.
    fn remove(&mut self, line: u64, column: u64) -> bool {
        self.remove_in_braces(line, column) || self.remove_lines(line)
    }

    /// Takes an entry out of braces or brackets on one line.
    fn remove_in_braces(&mut self, line: u64, column: u64) -> bool {
        let position = |number: u64| usize::try_from(number).ok()?.checked_sub(1);
        let Some((line, column)) = position(line).zip(position(column)) else { return false };
        let Some(text) = self.0.get_mut(line) else { return false };
        let Some(entry) = entry_in_braces(text, column) else { return false };
        let blank = |(n, c): (usize, char)| if entry.contains(&n) { ' ' } else { c };
        *text = text.chars().enumerate().map(blank).collect();
        true
    }

    /// Takes out the entry on this line. Of a list, the whole item.
    fn remove_lines(&mut self, line: u64) -> bool {
        let Some(mut first) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1))
        else {
            return false;
        };
        // A value may begin below its key, and a flow collection may span several lines.
        while first > 0 && self.0.get(first).is_some_and(|line| !begins_entry(line)) {
            first -= 1;
        }
        let Some(text) = self.0.get(first) else { return false };
        if text.trim().is_empty() {
            return false;
        }
        let indent = indent(text);
        let is_item = text.trim_start().starts_with('-');
        self.0[first].clear();
        for line in &mut self.0[first + 1..] {
            let (text, own) = (line.trim_start(), self::indent(line));
            // A list may stand at the same column as its key.
            let is_part = own > indent
                || (own == indent && !is_item && text.starts_with("- "))
                || (own == indent && text.starts_with(['}', ']']));
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if !is_part {
                break;
            }
            line.clear();
        }
        true
    }
}

/// The innermost entry around a character that is in braces or brackets of its line, with the comma
/// after it.
fn entry_in_braces(line: &str, target: usize) -> Option<Range<usize>> {
    let mut begins: Vec<usize> = Vec::new();
    let mut found: Option<(usize, usize)> = None;
    let mut quote = None;
    // Whether a value may begin here. In other places, quotes and braces are a part of the text.
    let (mut may_begin, mut previous) = (true, ' ');
    let mut is_escaped = false;
    for (n, c) in line.chars().enumerate() {
        if n == target {
            found = Some((begins.len(), *begins.last()?));
        }
        if let Some(mark) = quote {
            if c == mark && !is_escaped {
                quote = None;
            }
            is_escaped = c == '\\' && mark == '"' && !is_escaped;
            previous = c;
            continue;
        }
        let is_end = found.is_some_and(|(depth, _)| depth == begins.len());
        let begin = found.map_or(0, |(_, begin)| begin);
        let at_begin = may_begin;
        may_begin = c.is_whitespace() && (at_begin || previous == ':');
        match c {
            '"' | '\'' if at_begin => quote = Some(c),
            '#' if previous.is_whitespace() => return None,
            '-' => may_begin = at_begin && begins.is_empty(),
            '[' | '{' if at_begin || !begins.is_empty() => {
                begins.push(n + 1);
                may_begin = true;
            }
            ']' | '}' if is_end => return Some(begin..n),
            ']' | '}' => {
                begins.pop();
            }
            ',' if is_end => return Some(begin..n + 1),
            ',' => {
                if let Some(last) = begins.last_mut() {
                    (*last, may_begin) = (n + 1, true);
                }
            }
            _ => {}
        }
        previous = c;
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line begins with a key or a list item.
fn begins_entry(line: &str) -> bool {
    let text = line.trim_start();
    let name = text.trim_start_matches("- ").split(':').next().unwrap_or_default();
    text.starts_with("- ")
        || (text.contains(':')
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-\"'".contains(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Section {
        #[allow(dead_code)]
        tac: u32,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct File {
        name: String,
        count: u16,
        on: bool,
        cells: Vec<Cell>,
        part: Part,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cell {
        id: u8,
        #[serde(default)]
        private: Option<u8>,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Part {
        size: u8,
    }

    const REFERENCE: &str = "name: one\n# How many\ncount: 7\n# cells:\n#   - { id: 1 }\npart:\n  \
                             # Bytes\n  size: 9\n";

    fn all(text: &str) -> (Option<File>, Vec<String>) {
        let reading = read_all::<File>("f", text, REFERENCE);
        (reading.value, reading.report.lines)
    }

    #[test]
    fn a_wrong_type_and_an_unknown_key_are_reported_with_their_line() {
        let wrong = read::<Section>("x.yaml", "# comment\ntac: many\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
        let unknown = read::<Section>("x.yaml", "tac: 1\n\ntak: 2\n").unwrap_err().to_string();
        assert!(unknown.starts_with("x.yaml:3:") && unknown.contains("tak"), "{unknown}");
    }

    #[test]
    fn a_file_of_an_editor_of_windows_is_read() {
        let path = std::env::temp_dir().join(format!("martlet-bytes-{}", std::process::id()));
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let read = read_file::<Section>(&path).map(|(section, _)| section.tac);
            std::fs::remove_file(&path).unwrap();
            read.map_err(|report| report.to_string())
        };
        assert_eq!(read(b"\xef\xbb\xbf# Section\r\ntac: 7\r\n"), Ok(7));
        assert_eq!(read(b"\xef\xbb\xbftac: 7\r\n"), Ok(7));
        let error = read(b"\xff\xfet\0a\0c\0").unwrap_err();
        assert!(error.contains("it is UTF-16: save it as UTF-8"), "{error}");
        let error = read(b"# Na\xefve\ntac: 7\n").unwrap_err();
        assert!(error.contains("line 1 is not UTF-8"), "{error}");
    }

    #[test]
    fn a_tab_in_an_indentation_is_reported_with_what_to_write() {
        use std::collections::BTreeMap;
        type Sections = BTreeMap<String, BTreeMap<String, BTreeMap<String, u32>>>;
        let wrong = read::<Sections>("x.yaml", "amf:\n  n2:\n\tcells: 7\n").unwrap_err();
        let wrong = wrong.to_string();
        assert!(wrong.starts_with("x.yaml:3:") && wrong.contains("write spaces"), "{wrong}");
    }

    #[test]
    fn text_that_is_not_yaml_is_reported_with_its_line() {
        let wrong = read::<Section>("x.yaml", "tac: 1\n  : : [\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
    }

    #[test]
    fn all_mistakes_are_reported_at_once_with_an_example() {
        let text = "name: a\ncount: many\nnmae: b\ncells:\n  - id: 1\n  - { id: 300 }\n  - id: x\n\
                    \x20   private: 1\npart:\n  size: 1000\n  sise: 1\non: 7\n";
        let (value, lines) = all(text);
        assert_eq!(
            lines,
            [
                "f:2: count: the value is not a number from 0 to 65535: write for example count: 7",
                "f:3: nmae: there is no key nmae: did you mean name?",
                "f:6: cells[1].id: the value is not a number from 0 to 255: write for example - { \
                 id: 1 }",
                "f:7: cells[2].id: the value is not a number from 0 to 255: write for example - { \
                 id: 1 }",
                "f:10: part.size: the value is not a number from 0 to 255: write for example size: \
                 9",
                "f:11: part.sise: there is no key sise: did you mean size?",
                "f:12: on: the value is not true or false",
            ]
        );
        let value = value.unwrap();
        assert_eq!((value.name.as_str(), value.count, value.cells.len()), ("a", 0, 1));
    }

    /// Entries in braces on one line, of which others are read, and a list without a wrong item.
    #[test]
    fn all_mistakes_on_one_line_are_reported() {
        let text = "cells: [{ id: 1 }, { id: 300, privat: 1 }, { id: x }, { id: 2, pirvate: \
                    \"}, \" }]\n\
                    part: { sise: 1, size: [7], }\n# a\nnmae: { a: [b, c] } # d\n\
                    \"count\": 'x, y'\n";
        let (_, lines) = all(text);
        assert_eq!(lines.len(), 8, "{lines:#?}");
        for (line, start) in lines.iter().zip([
            "f:1: cells[1].id: ",
            "f:1: cells[1].privat: there is no key privat: did you mean private?",
            "f:1: cells[2].id: ",
            "f:1: cells[3].pirvate: ",
            "f:2: part.sise: there is no key",
            "f:2: part.size: ",
            "f:4: nmae: ",
            "f:5: count: ",
        ]) {
            assert!(line.starts_with(start), "{start} in {lines:#?}");
        }
        let reading = read_all::<File>("f", "cells:\n  - id: 300\n  - id: 7\n", REFERENCE);
        assert_eq!(reading.value.as_ref().unwrap().cells[0].id, 7);
        assert_eq!(reading.path_in_file("cells[0].id"), "cells[1].id");
        assert_eq!(reading.path_in_file("cells[0].private"), "cells[1].private");
        assert_eq!(reading.path_in_file("part.size"), "part.size");
        let (_, lines) = all("part: 7\n");
        assert!(lines[0].ends_with("a section with keys: write for example part: { size: 9 }"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        let (_, lines) = all("cells:\n  - id: 1\n    private: c53c22208b61\n");
        assert!(lines[0].contains("cells[0].private") && !lines[0].contains("c53c"), "{lines:?}");
        let (_, lines) = all("cells:\n  - id: 1\n    private: [c53c22208b61]\n");
        assert!(!lines[0].contains("c53c"), "{lines:?}");
    }

    #[test]
    fn consequences_of_a_mistake_are_not_reported() {
        let (_, lines) = all("cells:\n  - id: 300\n");
        assert_eq!(lines.len(), 1, "{lines:?}");
        let (_, lines) = all("part:\n  size: 300\n");
        assert_eq!(lines.len(), 1, "{lines:?}");
        let (_, lines) = all("name: a\nname: b\ncount: x\n");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("f:2: name: the key occurs twice"), "{lines:?}");
    }
}

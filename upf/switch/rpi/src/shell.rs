//! The interactive shell, with completion (Tab) and a history file.
use super::commands::{self, RULE_VERBS, VERBS};
use anyhow::{Context, Result};
use martlet_switch_control::client::Client;
use martlet_switch_control::rules::KINDS;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::{Editor, Helper, Highlighter, Hinter, Validator};
use std::path::PathBuf;

/// Completions of a line.
pub fn candidates(line: &str) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let (before, begun) = line.split_at(start);
    let typed: Vec<&str> = before.split_whitespace().collect();
    let all: Vec<&str> = match typed[..] {
        [] => VERBS.to_vec(),
        ["rule"] => RULE_VERBS.to_vec(),
        ["rule", "load" | "save" | "diff"] => return (start, files(begun)),
        ["rule", "add" | "try" | "set" | "del" | "list"] => {
            KINDS.iter().map(|kind| kind.name).collect()
        }
        ["rule", "add" | "try" | "set" | "del", kind, ref pairs @ ..] if pairs.len() % 2 == 0 => {
            let words =
                KINDS.iter().find(|other| other.name == kind).map_or(&[][..], |kind| kind.words);
            let given = |word: &str| pairs.iter().step_by(2).any(|other| *other == word);
            words.iter().map(|word| word.word).filter(|word| !given(word)).collect()
        }
        ["rule", "add" | "try" | "set" | "del", kind, .., word] => {
            let words =
                KINDS.iter().find(|other| other.name == kind).map_or(&[][..], |kind| kind.words);
            match words.iter().find(|other| other.word == word).map(|word| word.form) {
                Some(martlet_switch_control::rules::Form::Protocol) => {
                    vec!["tcp", "udp", "icmp", "icmpv6"]
                }
                _ => vec![],
            }
        }
        _ => vec![],
    };
    (
        start,
        all.into_iter()
            .filter(|word| word.starts_with(begun))
            .map(|word| format!("{word} "))
            .collect(),
    )
}

/// File names that complete a prefix; folders end with a slash.
fn files(begun: &str) -> Vec<String> {
    let (folder, start) =
        begun.rsplit_once('/').map_or(("", begun), |(folder, _)| begun.split_at(folder.len() + 1));
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { "." } else { folder }) else {
        return vec![];
    };
    let fitting = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let end = if entry.path().is_dir() { "/" } else { " " };
        // Names with blanks cannot be written in a line.
        let fits = name.starts_with(start) && !name.contains(char::is_whitespace);
        (fits && (start.starts_with('.') || !name.starts_with('.')))
            .then(|| format!("{folder}{name}{end}"))
    });
    let mut all: Vec<String> = fitting.collect();
    all.sort();
    all
}

#[derive(Helper, Hinter, Highlighter, Validator)]
struct Words;

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(line.get(..position).unwrap_or_default()))
    }
}

/// The history file.
fn history() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(".martlet-switch-history"))
}

/// Reads and executes lines until the end of input.
pub async fn run(client: &mut Client, election: Option<u64>) -> Result<()> {
    let mut editor: Editor<Words, _> = Editor::new().context("cannot open the terminal")?;
    editor.set_helper(Some(Words));
    let history = history();
    if let Some(path) = &history {
        let _ = editor.load_history(path);
    }
    loop {
        match editor.readline("switch> ") {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                match line.trim() {
                    "quit" | "exit" => break,
                    "help" => print!("{}", commands::help()),
                    _ => {
                        if let Err(error) = commands::line(client, election, &line).await {
                            println!("{error:#}");
                        }
                    }
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(path) = &history {
        let _ = editor.save_history(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_completed_word_by_word() {
        let of = |line: &str| candidates(line).1;
        assert_eq!(of("ru"), ["rule "]);
        assert_eq!(of("rule lo"), ["load "]);
        assert_eq!(
            of("rule add de"),
            ["decap ", "decap-filtered ", "decap-v6 ", "decap-filtered-v6 "]
        );
        assert_eq!(
            of("rule add decap teid 1 "),
            ["ue ", "via ", "counter ", "meter ", "qfi ", "gnb "]
        );
        assert_eq!(of("rule add application protocol t"), ["tcp "]);
        assert!(of("rule add decap teid ").is_empty());
        assert_eq!(candidates("rule add de").0, 9);
        let folder = std::env::temp_dir().join(format!("martlet-shell-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("rules.d")).unwrap();
        std::fs::write(folder.join("rules"), "").unwrap();
        let (folder, line) = (folder.display(), format!("rule load {}/ru", folder.display()));
        assert_eq!(of(&line), [format!("{folder}/rules "), format!("{folder}/rules.d/")]);
        std::fs::remove_dir_all(folder.to_string()).unwrap();
    }
}

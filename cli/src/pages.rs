//! The commands and configurations in the documentation are those of this program.
use crate::Cli;
use crate::command::Command;
use clap::Parser;
use martlet::config::Config;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages for users, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = vec![root().join("README.md"), root().join("SECURITY.md")];
    for folder in ["docs", "docs/tutorials", "docs/measurements", "deploy/grafana"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("read a folder of pages");
        let files = entries.flatten().map(|entry| entry.path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "md")));
    }
    pages.sort();
    let text = |page: &PathBuf| std::fs::read_to_string(page).expect("read a page");
    pages.iter().map(|page| (page.clone(), text(page))).collect()
}

/// The code blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The words of a line; a text in quotation marks belongs to one word.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut open) = (Vec::new(), None, false);
    for character in line.chars() {
        match quote {
            Some(mark) if character == mark => quote = None,
            None if character == '\'' || character == '"' => quote = Some(character),
            None if character.is_whitespace() => open = false,
            _ => {
                if !open {
                    words.push(String::new());
                    open = true;
                }
                words.last_mut().expect("a word is open").push(character);
            }
        }
    }
    words
}

/// The commands `martlet …` of a block of shell commands, as words, without comments, pipes and
/// redirections.
fn commands(block: &str) -> Vec<Vec<String>> {
    let joined = block.replace("\\\n", " ");
    let command = |line: &str| {
        let words = words(line).into_iter().skip_while(|word| word == "sudo");
        let ends = |word: &String| !["|", ">", "&", "&&", ";", "#"].contains(&word.as_str());
        let words: Vec<_> = words.take_while(ends).collect();
        (words.first()? == "martlet").then_some(words)
    };
    joined.lines().filter_map(command).collect()
}

/// Parses a command as the program does, and those of `martlet ran` as `martlet-ran`.
fn parse(command: &[String]) -> Result<(), clap::Error> {
    if let Command::Ran(args) = Cli::try_parse_from(command)?.command {
        let words = std::iter::once(OsString::from("martlet-ran")).chain(args.arguments);
        martlet_ran::cli::Cli::try_parse_from(words)?;
    }
    Ok(())
}

#[test]
fn commands_of_the_pages_exist_with_their_options() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (page, text) in pages() {
        for command in blocks(&text, "sh").into_iter().flat_map(commands) {
            count += 1;
            if let Err(error) = parse(&command)
                && error.use_stderr()
            {
                wrong.push(format!("{}: {}\n{error}", page.display(), command.join(" ")));
            }
        }
    }
    assert!(count > 30, "only {count} commands were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn configurations_of_the_pages_are_valid() {
    let folder = std::env::temp_dir().join(format!("martlet-pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("create a folder");
    let (mut count, mut wrong) = (0, Vec::new());
    for (page, text) in pages() {
        for block in blocks(&text, "yaml") {
            let first = block.lines().next().unwrap_or_default();
            let problem = match first.strip_prefix("# ") {
                Some("scenario.yaml") => {
                    let file = folder.join("scenario.yaml");
                    std::fs::write(&file, block).expect("write a scenario");
                    martlet_ran::scenario::load(&file).err().map(|report| report.to_string())
                }
                // A file of another program.
                Some(name) if name.ends_with(".yaml") && name != "martlet.yaml" => continue,
                Some(name) if name.ends_with(".yml") => continue,
                _ => {
                    let file = folder.join("martlet.yaml");
                    std::fs::write(&file, block).expect("write a configuration");
                    Config::load(Some(&file)).err().map(|error| error.to_string())
                }
            };
            count += 1;
            wrong.extend(problem.map(|why| format!("{}: {why}\n{block}", page.display())));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(count > 6, "only {count} configurations were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

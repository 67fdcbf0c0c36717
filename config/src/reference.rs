//! The file with every key and its default, from which examples are taken.
use std::collections::HashMap;

/// The line of each key, by path without list indices: `amf.tais.tac`. Keys in comments count too:
/// they show what could be set.
pub struct Reference {
    lines: HashMap<String, String>,
    /// The comment above a key.
    comments: HashMap<String, String>,
    /// The first key with a value of each section.
    first: HashMap<String, String>,
}

impl Reference {
    /// Reads the file.
    pub fn new(text: &str) -> Reference {
        let mut lines = HashMap::new();
        let mut comments = HashMap::new();
        let mut first = HashMap::new();
        let mut comment = String::new();
        // The keys around the current line, by column.
        let mut around: Vec<(usize, String)> = Vec::new();
        for line in text.lines() {
            let Some((column, entry)) = entry(line) else {
                // Prose above the next key.
                match line.trim_start().strip_prefix("# ") {
                    Some(text) => {
                        comment += if comment.is_empty() { "" } else { " " };
                        comment += text;
                    }
                    None => comment.clear(),
                }
                continue;
            };
            let item = entry.strip_prefix("- ");
            let (column, rest) = item.map_or((column, entry), |rest| (column + 2, rest));
            around.retain(|(other, _)| *other < column);
            let shown = entry.split(" #").next().unwrap_or(entry).trim_end().to_string();
            let parent = |around: &[(usize, String)]| {
                around.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join(".")
            };
            let join = |parent: &str, key: &str| match parent {
                "" => key.to_string(),
                parent => format!("{parent}.{key}"),
            };
            // An item in braces, or a key with a value.
            if let Some(key) = key_of(rest) {
                let section = parent(&around);
                let path = join(&section, key);
                if !shown.ends_with(':') {
                    let shown = shown.trim_start_matches("- ").to_string();
                    first.entry(section).or_insert(shown);
                }
                for inner in inner_keys(rest) {
                    lines.entry(join(&path, inner)).or_insert(shown.clone());
                }
                if !comment.is_empty() {
                    comments.entry(path.clone()).or_insert(std::mem::take(&mut comment));
                }
                lines.entry(path).or_insert(shown);
                around.push((column, key.to_string()));
            } else {
                for inner in inner_keys(rest) {
                    let path = join(&parent(&around), inner);
                    lines.entry(path).or_insert(shown.clone());
                }
            }
        }
        Reference { lines, comments, first }
    }

    /// The comment above a key.
    pub fn comment(&self, path: &str) -> Option<&str> {
        self.comments.get(&plain(path)).map(String::as_str)
    }

    /// The line that shows how a key is written.
    pub fn example(&self, path: &str) -> Option<&str> {
        let line = self.lines.get(&plain(path))?;
        // A section shows nothing.
        Some(line.as_str()).filter(|line| !line.ends_with(':'))
    }

    /// How a section, or an item of a list of sections, is written, with its first key.
    pub fn section(&self, path: &str) -> Option<String> {
        let first = self.first.get(&plain(path))?;
        Some(match path.ends_with(']') {
            true => format!("- {{ {first} }}"),
            false => format!("{}: {{ {first} }}", path.rsplit('.').next()?),
        })
    }

    /// The path of a key that one section alone has.
    pub fn path_of_key(&self, key: &str) -> Option<&str> {
        let is_so = |path: &&String| path.rsplit_once('.').is_some_and(|(_, name)| name == key);
        let mut paths = self.lines.keys().filter(is_so);
        let path = paths.next()?;
        paths.next().is_none().then_some(path)
    }
}

/// A path without list indices.
fn plain(path: &str) -> String {
    let bare = |key: &'_ str| key.split('[').next().unwrap_or_default().to_string();
    path.split('.').map(bare).collect::<Vec<_>>().join(".")
}

/// The column and text of an entry, also of one in a comment.
fn entry(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let column = line.len() - text.len();
    let comment = text.strip_prefix('#').map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    let (column, text) = match comment {
        Some(rest) => {
            let text = rest.trim_start();
            (column + rest.len() - text.len(), text)
        }
        None => (column, text),
    };
    let text = text.trim_end();
    (key_of(text.strip_prefix("- ").unwrap_or(text)).is_some() || text.starts_with("- {"))
        .then_some((column, text))
}

/// The key that an entry begins with. Prose in comments has no colon after its first word, or words
/// after the colon that are no value.
fn key_of(text: &str) -> Option<&str> {
    let (key, value) = text.split_once(':')?;
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_prose = value.contains(". ") || value.ends_with('.') || value.matches(' ').count() > 30;
    (!key.is_empty()
        && key.bytes().all(is_name)
        && (value.is_empty() || value.starts_with(' '))
        && !is_prose)
        .then_some(key)
}

/// The keys in braces of an entry.
fn inner_keys(text: &str) -> Vec<&str> {
    let Some((_, inner)) = text.split_once('{') else { return Vec::new() };
    inner
        .split(['{', ','])
        .filter_map(|part| key_of(part.trim().trim_end_matches('}').trim_end()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_comments_lists_and_braces_have_examples() {
        let text = "amf:\n  # Where gNBs connect: any address.\n  bind: [127.0.0.5]   # or more\n  \
                    # tais:\n  #   - { plmn: \"00101\", tac: 1 }\nsmf:\n  dnns:\n    - name: \
                    internet\n      # mtu: 1400\n  charging: { mode: none }\n";
        let reference = Reference::new(text);
        assert_eq!(reference.example("amf.bind"), Some("bind: [127.0.0.5]"));
        assert_eq!(reference.example("amf.tais[3].tac"), Some("- { plmn: \"00101\", tac: 1 }"));
        assert_eq!(reference.example("smf.dnns[0].name"), Some("- name: internet"));
        assert_eq!(reference.example("smf.dnns[1].mtu"), Some("mtu: 1400"));
        assert_eq!(reference.example("smf.charging.mode"), Some("charging: { mode: none }"));
        assert_eq!((reference.example("smf"), reference.example("x")), (None, None));
        assert_eq!(reference.section("amf").unwrap(), "amf: { bind: [127.0.0.5] }");
        assert_eq!(reference.section("smf.dnns[1]").unwrap(), "- { name: internet }");
        assert_eq!(reference.path_of_key("mtu"), Some("smf.dnns.mtu"));
        assert_eq!((reference.path_of_key("x"), reference.section("x")), (None, None));
        assert_eq!(reference.comment("amf.bind"), Some("Where gNBs connect: any address."));
        assert_eq!(reference.comment("smf.dnns"), None);
    }
}

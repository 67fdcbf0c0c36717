//! The configuration file for the API: its secrets are hidden, and stay when it is written.
use super::edit as text_edit;
use martlet::config::Config;
use martlet_config::text_of;
use martlet_oam::{AccessError, Configuration, ConfigurationEdit};
use regex::{Captures, Regex};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A key whose value is a secret, and the value; or the password of a URL.
const SECRET: &str = concat!(
    r#"(?m)(\b(?:private|key|opc|op|topc|password|secret|token)["']?\s*:[ \t]+)"#,
    r#"("[^"\n]*"|'[^'\n]*'|[^\s,}#{\[][^,}#\n]*)"#,
    r"|(://[^:@/\s]+:)([^@/\s]+)",
);

/// Hides secrets. The pattern is compiled once for a whole configuration: that takes longer than to
/// search the text.
struct Hider(Regex);

impl Hider {
    fn new() -> Result<Self, AccessError> {
        let compiled = Regex::new(SECRET);
        compiled.map(Hider).map_err(|error| AccessError::Unsupported(error.to_string()))
    }

    /// The text with a numbered mark in place of each secret, and the secrets.
    fn hide(&self, text: &str) -> (String, Vec<String>) {
        let mut secrets = Vec::new();
        let hidden = self.0.replace_all(text, |found: &Captures<'_>| {
            let part = |n: usize| found.get(n).map_or("", |part| part.as_str());
            let (before, value) = match found.get(1) {
                Some(_) => (part(1), part(2)),
                None => (part(3), part(4)),
            };
            let blanks = &value[value.trim_end().len()..];
            secrets.push(value.trim_end().to_string());
            let (open, close) = if found.get(1).is_some() { ("\"", "\"") } else { ("", "") };
            format!("{before}{open}(hidden {}){close}{blanks}", secrets.len())
        });
        (hidden.into_owned(), secrets)
    }

    /// Replaces members that may be secret.
    fn hide_members(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let is_secret = ["private", "key", "opc", "op", "topc", "password", "secret"]
                        .contains(&name.as_str());
                    match is_secret && is_scalar(member) {
                        true => *member = "(hidden)".into(),
                        false => self.hide_members(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_members(item)),
            Value::String(text) => {
                let (hidden, secrets) = self.hide(text);
                if !secrets.is_empty() {
                    *text = hidden;
                }
            }
            _ => {}
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array() && !value.is_null()
}

/// The text with the secrets in place of their marks.
fn reveal(text: &str, secrets: &[String]) -> Result<String, AccessError> {
    let refused = |error: &dyn std::fmt::Display| AccessError::Refused {
        status: 400,
        detail: error.to_string(),
    };
    let mark = Regex::new(r#""\(hidden (\d+)\)"|\(hidden (\d+)\)"#).map_err(|e| refused(&e))?;
    let mut unknown = None;
    let revealed = mark.replace_all(text, |found: &Captures<'_>| {
        let number = found.get(1).or(found.get(2)).and_then(|n| n.as_str().parse::<usize>().ok());
        let secret = number.and_then(|number| secrets.get(number.checked_sub(1)?));
        secret.cloned().unwrap_or_else(|| {
            unknown = Some(found[0].to_string());
            String::new()
        })
    });
    match unknown {
        None => Ok(revealed.into_owned()),
        Some(mark) => Err(refused(&format!("{mark} stands for no secret: write the value"))),
    }
}

/// The file and its values, with those of the defaults.
pub fn show(file: Option<&Path>) -> Result<Configuration, AccessError> {
    let failed = |error: &dyn std::fmt::Display| AccessError::Unavailable(error.to_string());
    let config = Config::load(file).map_err(|e| failed(&format!("{e:#}")))?;
    let text = file.map(text_of).transpose().map_err(|e| failed(&format!("{e:?}")))?;
    let mut written: Value =
        serde_saphyr::from_str(text.as_deref().unwrap_or_default()).unwrap_or_default();
    let mut values = json!({
        "network": written["network"], "nrf": config.nrf, "udr": config.udr, "udm": config.udm,
        "ausf": config.ausf, "pcf": config.pcf, "nssf": config.nssf, "chf": config.chf,
        "upf": config.upf, "smf": config.smf, "lmf": config.lmf, "amf": config.amf,
    });
    let hider = Hider::new()?;
    hider.hide_members(&mut values);
    hider.hide_members(&mut written);
    let (text, _) = hider.hide(&text.unwrap_or_default());
    Ok(Configuration { file: file.map(Path::to_path_buf), text, values, written })
}

/// A changed configuration that was checked, in a file beside the one that it may replace.
pub struct Checked {
    draft: PathBuf,
    file: PathBuf,
    /// The text of the present file.
    pub before: String,
    /// The new text.
    pub after: String,
}

impl Drop for Checked {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.draft);
    }
}

/// Checks a changed configuration.
pub fn check(file: Option<&Path>, text: &str) -> Result<Checked, AccessError> {
    let file = file.ok_or_else(|| {
        AccessError::Unsupported("the core runs with the defaults: start it with -c FILE".into())
    })?;
    let failed = |error: &dyn std::fmt::Display| AccessError::Unavailable(error.to_string());
    let before = text_of(file).map_err(|error| failed(&format!("{error:?}")))?;
    let (_, secrets) = Hider::new()?.hide(&before);
    let after = reveal(text, &secrets)?;
    let draft = PathBuf::from(format!("{}.new", file.display()));
    let checked = Checked { draft, file: file.to_path_buf(), before, after };
    let may_not = |error: std::io::Error| {
        AccessError::Unsupported(format!(
            "{}: {error}: this process may not write there; change the file on the machine, and \
             reload it with SIGHUP",
            checked.draft.display()
        ))
    };
    let replaced = std::fs::metadata(file);
    let mode = replaced.as_ref().map_or(0o600, |metadata| metadata.permissions().mode());
    let _ = std::fs::remove_file(&checked.draft);
    let mut open = std::fs::OpenOptions::new();
    let open = open.write(true).create_new(true).mode(mode & 0o777).open(&checked.draft);
    let mut open = open.map_err(may_not)?;
    // The other functions may read the file by its group. In another group than this process's
    // own, it stays as it is.
    let _ = replaced.map(|file| std::os::unix::fs::fchown(&open, None, Some(file.gid())));
    open.write_all(checked.after.as_bytes()).and_then(|()| open.sync_all()).map_err(may_not)?;
    let errors = Config::load(Some(&checked.draft)).err();
    match errors {
        None => Ok(checked),
        Some(error) => {
            let (draft, file) = (checked.draft.display().to_string(), file.display().to_string());
            let detail = format!("{error:#}").replace(&draft, &file);
            let fields = detail.lines().filter_map(|line| field(line, &file)).collect();
            Err(AccessError::Invalid { detail, fields })
        }
    }
}

/// The key that a line of a report names, and what is wrong: `FILE:LINE: KEY: MESSAGE`.
fn field(line: &str, file: &str) -> Option<(String, String)> {
    let (place, rest) = line.strip_prefix(file)?.split_once(": ")?;
    let is_number = |b: u8| b.is_ascii_digit() || b == b':';
    let (key, message) = rest.split_once(": ")?;
    let in_key = |b: u8| b.is_ascii_alphanumeric() || b"_.[]".contains(&b);
    let is_key = !key.is_empty() && key.bytes().all(in_key);
    (place.bytes().all(is_number) && is_key).then(|| (key.into(), message.into()))
}

/// The text with changed values.
pub fn edit(text: &str, edits: &[ConfigurationEdit]) -> Result<String, AccessError> {
    edits.iter().try_fold(text.to_string(), |text, edit| {
        text_edit::set(&text, &edit.path, &edit.value)
            .map_err(|error| AccessError::Refused { status: 409, detail: error.to_string() })
    })
}

impl Checked {
    /// Replaces the file.
    pub fn write(&self) -> Result<(), AccessError> {
        std::fs::rename(&self.draft, &self.file)
            .map_err(|error| AccessError::Unavailable(format!("{}: {error}", self.file.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "udr: { path: \"postgresql://core:s3cret@db/martlet\", key_file: /k }\n\
                        udm:\n  keys:\n    - { id: 1, private: c53c22208b61860b }\n    \
                        - { id: 2, private: \"ffee\" } # the second\nsmf: { max_sessions: 5 }\n";

    #[test]
    fn secrets_are_hidden_and_stay_although_lines_move() {
        let (hidden, secrets) = Hider::new().unwrap().hide(TEXT);
        assert_eq!(secrets, ["s3cret", "c53c22208b61860b", "\"ffee\""]);
        assert!(!hidden.contains("s3cret") && !hidden.contains("c53c") && !hidden.contains("ffee"));
        assert!(hidden.contains("key_file: /k"), "{hidden}");
        assert_eq!(reveal(&hidden, &secrets).unwrap(), TEXT);
        // A removed secret and another order change no other secret.
        let moved = "udm:\n  keys: [{ id: 2, private: \"(hidden 3)\" }]\n";
        assert_eq!(
            reveal(moved, &secrets).unwrap(),
            "udm:\n  keys: [{ id: 2, private: \"ffee\" }]\n"
        );
        assert!(reveal("key: \"(hidden 9)\"", &secrets).is_err());
    }
}

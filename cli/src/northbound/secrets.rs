//! Secrets in the text of a configuration file: what the API shows instead, and how they return.
//!
//! A secret is a value at a key of [`KEYS`], or a password in a value that is a URL. Where it is
//! follows from the structure of the file: a text such as `key: x` inside a value is no secret.
//! Comments have no structure, so that a pattern finds what looks like a secret in them.
use granit_parser::{Event, Parser, ScalarStyle, options};
use martlet_oam::AccessError;
use regex::{Captures, Regex};
use serde_json::Value;
use std::ops::Range;
use std::sync::LazyLock;

/// Keys whose values are secrets.
const KEYS: [&str; 8] = ["private", "key", "opc", "op", "topc", "password", "secret", "token"];
/// Parameters of a URL whose values are secrets.
const PARAMETERS: [&str; 2] = ["password", "sslpassword"];
/// What a mark begins with; its number and a bracket follow.
const MARK: &str = "(hidden ";

/// In a comment: a key of [`KEYS`], and its value.
static IN_COMMENT: LazyLock<Result<Regex, regex::Error>> = LazyLock::new(|| {
    Regex::new(&format!(
        r#"\b({})["']?\s*:[ \t]+("[^"]*"|'[^']*'|[^\s,}}{{\[][^,}}]*)"#,
        KEYS.join("|")
    ))
});

/// A hidden secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is the value of: a key, or a part of a URL.
    of: String,
    /// As it is written in the file.
    text: String,
}

/// Where a secret is in a text.
struct Place {
    range: Range<usize>,
    of: String,
    /// Whether it is a part of a value, so that its mark has no quotation marks.
    is_part: bool,
}

/// The text with a numbered mark in place of each secret, and the secrets in the order of their
/// numbers.
///
/// # Errors
/// The text is not YAML.
pub fn hide(text: &str) -> Result<(String, Vec<Secret>), AccessError> {
    let (mut hidden, mut secrets, mut end) = (String::with_capacity(text.len()), Vec::new(), 0);
    for Place { range, of, is_part } in places(text)? {
        hidden.push_str(&text[end..range.start]);
        secrets.push(Secret { of, text: text[range.clone()].to_string() });
        let mark = format!("{MARK}{})", secrets.len());
        match is_part {
            true => hidden.push_str(&mark),
            false => hidden.push_str(&format!("\"{mark}\"")),
        }
        end = range.end;
    }
    hidden.push_str(&text[end..]);
    Ok((hidden, secrets))
}

/// The text with the secrets in place of their marks. A mark stands for a secret only where one of
/// the same kind can be. Elsewhere it is not replaced, so that no secret moves to a value that is
/// shown.
///
/// # Errors
/// A mark has no secret. A text that is not YAML is returned as it is.
pub fn reveal(text: &str, secrets: &[Secret]) -> Result<String, AccessError> {
    let Ok(places) = places(text) else { return Ok(text.to_string()) };
    let (mut revealed, mut end) = (String::with_capacity(text.len()), 0);
    for Place { range, of, .. } in places {
        let written = &text[range.clone()];
        let Some(number) = number(written) else { continue };
        let secret = number.checked_sub(1).and_then(|at| secrets.get(at));
        let secret = secret.filter(|secret| secret.of == of).ok_or_else(|| {
            let detail = format!("{written} stands for no secret of {of}: write the value");
            AccessError::Refused { status: 400, detail }
        })?;
        revealed.push_str(&text[end..range.start]);
        revealed.push_str(&secret.text);
        end = range.end;
    }
    revealed.push_str(&text[end..]);
    Ok(revealed)
}

/// Replaces secrets in values that were read from a file.
pub fn hide_members(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_scalar = !member.is_object() && !member.is_array() && !member.is_null();
                match is_scalar && KEYS.contains(&name.as_str()) {
                    true => *member = "(hidden)".into(),
                    false => hide_members(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_members),
        Value::String(text) => {
            for (range, _) in of_url(text).into_iter().rev() {
                text.replace_range(range, "(hidden)");
            }
        }
        _ => {}
    }
}

/// The number of a mark.
fn number(written: &str) -> Option<usize> {
    let mark = written.trim_matches(['"', '\'']);
    mark.strip_prefix(MARK)?.strip_suffix(')')?.parse().ok()
}

/// A map or list around an event.
enum Around {
    /// The key whose value comes next; none before a key.
    Map(Option<String>),
    List,
}

/// The secrets of a text in its order.
fn places(text: &str) -> Result<Vec<Place>, AccessError> {
    let masked = without_variables(text);
    let options = options! { max_buffered_comment_events: usize::MAX };
    let mut around: Vec<Around> = Vec::new();
    let (mut places, mut anchored, mut named) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = 0;
    for event in Parser::new_from_str_with_options(&masked, options) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        let range = span.byte_range().unwrap_or_default();
        // A block scalar begins with a sign between the event before and its first line.
        let end = last;
        if !matches!(event, Event::Comment(..)) {
            last = range.end;
        }
        // Whether a node ends here, and the key that it is the value of.
        let key = match around.last() {
            Some(Around::Map(key)) => key.clone(),
            _ => None,
        };
        let is_secret = key.as_deref().is_some_and(|key| KEYS.contains(&key));
        match event {
            Event::Comment(..) => in_comment(text, range, &mut places)?,
            Event::MappingStart(..) => around.push(Around::Map(None)),
            Event::SequenceStart(..) => around.push(Around::List),
            Event::MappingEnd | Event::SequenceEnd => {
                around.pop();
                ended(&mut around, String::new());
            }
            Event::Alias(anchor) => {
                if let Some(key) = key.filter(|_| is_secret) {
                    named.push((anchor, key));
                }
                ended(&mut around, String::new());
            }
            Event::Scalar(value, style, anchor, _) => {
                let range = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => {
                        let between = text.get(end..range.start).unwrap_or_default();
                        let sign = between.find(['|', '>']).unwrap_or(between.len());
                        range.start - between.len() + sign..range.end
                    }
                    _ => range,
                };
                let written = text[range.clone()].trim_end();
                let range = range.start..range.start + written.len();
                let is_empty = written.is_empty() || matches!(written, "~" | "null");
                match key {
                    Some(key) if is_secret => {
                        if !is_empty {
                            places.push(Place { range, of: key, is_part: false });
                        }
                    }
                    _ => {
                        anchored.push((anchor, range.clone()));
                        let parts = of_url(written).into_iter();
                        places.extend(parts.map(|(part, of)| Place {
                            range: range.start + part.start..range.start + part.end,
                            of,
                            is_part: true,
                        }));
                    }
                }
                ended(&mut around, value.into_owned());
            }
            _ => {}
        }
    }
    // A value that an alias makes the value of a secret key, too.
    for (anchor, key) in named.into_iter().filter(|(anchor, _)| *anchor != 0) {
        for (_, range) in anchored.iter().filter(|(of, _)| *of == anchor) {
            places.retain(|place| place.range.start >= range.end || place.range.end <= range.start);
            places.push(Place { range: range.clone(), of: key.clone(), is_part: false });
        }
    }
    places.sort_by_key(|place| place.range.start);
    Ok(places)
}

/// In a map, a key and its value follow each other.
fn ended(around: &mut [Around], value: String) {
    if let Some(Around::Map(key)) = around.last_mut() {
        *key = match key.take() {
            None => Some(value),
            Some(_) => None,
        };
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> AccessError {
    AccessError::Unavailable(format!(
        "the configuration is no YAML, so that its secrets are not known: {error}: correct the \
         file, and write values with variables in quotation marks"
    ))
}

/// The text with letters in place of variables of the environment, which have brackets. Its length
/// is the same.
fn without_variables(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find('}').filter(|end| after[2..*end].chars().all(is_name));
        let length = end.map_or(2, |end| end + 1);
        masked.push_str(before);
        match end {
            Some(_) => masked.extend(std::iter::repeat_n('v', length)),
            None => masked.push_str(&after[..length]),
        }
        rest = &after[length..];
    }
    masked + rest
}

/// Secrets of a value that is a URL: the password of the user, and those of the parameters.
fn of_url(written: &str) -> Vec<(Range<usize>, String)> {
    let quote = |c: char| matches!(c, '"' | '\'');
    let start = written.len() - written.trim_start_matches(quote).len();
    let url = written.trim_matches(quote);
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if scheme.is_empty() || !scheme.chars().all(in_scheme) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut add = |at: usize, secret: &str, of: &str| {
        if !secret.is_empty() {
            found.push((at..at + secret.len(), of.to_string()));
        }
    };
    let begin = start + scheme.len() + "://".len();
    let (main, query) = rest.split_once('?').unwrap_or((rest, ""));
    // The password may have an `@`.
    if let Some((user, _)) = main.rsplit_once('@')
        && let Some((name, password)) = user.split_once(':')
    {
        add(begin + name.len() + 1, password, "the user of a URL");
    }
    let mut at = begin + main.len() + 1;
    for parameter in query.split('&') {
        if let Some((name, value)) = parameter.split_once('=')
            && PARAMETERS.contains(&name)
        {
            add(at + name.len() + 1, value, "a parameter of a URL");
        }
        at += parameter.len() + 1;
    }
    found
}

/// What looks like a secret in a comment.
fn in_comment(
    text: &str,
    comment: Range<usize>,
    places: &mut Vec<Place>,
) -> Result<(), AccessError> {
    let pattern = IN_COMMENT.as_ref();
    let pattern = pattern.map_err(|error| AccessError::Unsupported(error.to_string()))?;
    let (start, written) = (comment.start, &text[comment]);
    let at = |range: Range<usize>| start + range.start..start + range.end;
    let mut found: Vec<Place> = Vec::new();
    let place = |parts: Captures<'_>| {
        let (key, value) = (parts.get(1)?, parts.get(2)?);
        let range = value.start()..value.start() + value.as_str().trim_end().len();
        Some(Place { range: at(range), of: key.as_str().to_string(), is_part: false })
    };
    found.extend(pattern.captures_iter(written).filter_map(place));
    // The mark of a secret is a part of its word. The length is the same.
    let words = written.replace(MARK, "(hidden_");
    let mut end = 0;
    for word in words.split_whitespace() {
        let begin = end + words[end..].find(word).unwrap_or_default();
        end = begin + word.len();
        for (part, of) in of_url(word) {
            let range = at(begin + part.start..begin + part.end);
            let is_free =
                |place: &Place| place.range.end <= range.start || place.range.start >= range.end;
            if found.iter().all(is_free) {
                found.push(Place { range, of, is_part: true });
            }
        }
    }
    places.extend(found);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Hides the secrets of a text, and checks that they return.
    fn hidden(text: &str, expected: &[&str]) -> (String, Vec<Secret>) {
        let (hidden, secrets) = hide(text).unwrap();
        assert_eq!(secrets.iter().map(|secret| &secret.text).collect::<Vec<_>>(), expected);
        for secret in expected {
            assert!(!hidden.contains(secret.trim_matches('"')), "{secret} is in {hidden}");
        }
        assert_eq!(reveal(&hidden, &secrets).unwrap(), text);
        (hidden, secrets)
    }

    const TEXT: &str = "udr: { path: \"postgresql://core:s3cret@db/martlet\", key_file: /k }\n\
                        udm:\n  keys:\n    - { id: 1, private: c53c22208b61860b }\n    \
                        - { id: 2, private: \"ffee\" } # the second\nsmf: { max_sessions: 5 }\n";

    #[test]
    fn secrets_are_hidden_and_stay_although_lines_move() {
        let (hidden, secrets) = hidden(TEXT, &["s3cret", "c53c22208b61860b", "\"ffee\""]);
        assert!(hidden.contains("key_file: /k") && hidden.contains("# the second"), "{hidden}");
        // A removed secret and another order change no other secret.
        let moved = "udm:\n  keys: [{ id: 2, private: \"(hidden 3)\" }]\n";
        let expected = "udm:\n  keys: [{ id: 2, private: \"ffee\" }]\n";
        assert_eq!(reveal(moved, &secrets).unwrap(), expected);
        assert!(reveal("key: \"(hidden 9)\"", &secrets).is_err());
    }

    #[test]
    fn a_text_that_looks_like_a_secret_is_shown() {
        let text = "pcf:\n  flows:\n    - name: \"key: x\"\n      filters: ['op: \"y\"']\n  # \
                    all\n  note: 'http://a.b:80/x, and key: z'\n  nrf: http://10.0.0.1:7\n";
        assert_eq!(hidden(text, &[]).0, text);
        let mut values = json!({"name": "key: x", "nrf": "http://10.0.0.1:77", "key": "k"});
        hide_members(&mut values);
        let shown = json!({"name": "key: x", "nrf": "http://10.0.0.1:77", "key": "(hidden)"});
        assert_eq!(values, shown);
    }

    #[test]
    fn a_mark_elsewhere_reveals_no_secret() {
        let (_, secrets) = hide(TEXT).unwrap();
        for text in ["pcf:\n  flows: [{ name: \"(hidden 2)\" }]\n", "# (hidden 2)\n"] {
            assert_eq!(reveal(text, &secrets).unwrap(), text);
        }
        // Nor at a key of another kind.
        for text in ["udr: { path: \"x://u:(hidden 2)@evil/\" }", "password: \"(hidden 2)\""] {
            assert!(reveal(text, &secrets).is_err(), "{text}");
        }
    }

    #[test]
    fn every_way_to_write_a_secret_is_found() {
        hidden("private: |\n  line one\n  line two\nudm: 1\n", &["|\n  line one\n  line two"]);
        hidden("a: { key: b }\nkey: >- # the > key\n    one\n", &["b", ">- # the > key\n    one"]);
        hidden("'password': 'it''s'\n", &["'it''s'"]);
        hidden("\"key\":\n  abcd # x\n", &["abcd"]);
        hidden("a: &k abcd\nb: { key: *k }\n", &["abcd"]);
        hidden("a: { token: ${TOKEN}, b: \"${B}\" }\n", &["${TOKEN}"]);
        hidden("a: postgresql://u:p@w:d@h/d?password=two&x=1\n", &["p@w:d", "two"]);
        hidden("# { private: abcd }, or: old\na: 1 # x://u:pw@h/\n", &["abcd", "pw"]);
        hidden("key: ~\npassword:\nsecret: { a: 1 }\n", &[]);
        // Many comments in sequence.
        hidden(&format!("a: 1\n{}key: abcd\n", "# x\n".repeat(300)), &["abcd"]);
        assert!(hide("a: [").is_err());
        assert_eq!(reveal("a: [", &[]).unwrap(), "a: [");
    }

    #[test]
    fn passwords_in_urls_of_values_are_hidden() {
        let mut values = json!({"path": "postgresql://u:pw@h/d?sslpassword=x&a=b", "list": ["a"]});
        hide_members(&mut values);
        let path = "postgresql://u:(hidden)@h/d?sslpassword=(hidden)&a=b";
        assert_eq!(values, json!({"path": path, "list": ["a"]}));
    }
}

//! Changes single values in the text of a configuration file. All other lines stay as they are,
//! with their comments.
use martlet_config::from_yaml;
use serde_json::Value;
use std::fmt::Write;

/// Why a text cannot be edited.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EditError {
    /// The text is no YAML map.
    #[error("the file cannot be read")]
    Unreadable,
    /// The value has variables of the environment, which a new value would replace.
    #[error("{0} has variables of the environment in the file: change it there")]
    Variables(String),
    /// The text is written in a way that this module does not know.
    #[error("{0} is written in a way that is not edited here: change the text of the file")]
    Unknown(String),
}

/// The text with `value` at a path of keys; without the key if `value` is null.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let before = parse(text).ok_or(EditError::Unreadable)?;
    let mut wanted = before.clone();
    put(&mut wanted, path, value);
    if wanted == before {
        return Ok(text.to_string());
    }
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let range = 0..lines.len();
    edit(&mut lines, range, 0, path, &before, value)?;
    let mut after = lines.join("\n");
    if !after.is_empty() {
        after.push('\n');
    }
    // A misread line is detected here: the text must have exactly the wanted values.
    match parse(&after) {
        Some(read) if read == wanted => Ok(after),
        _ => Err(EditError::Unknown(path.join("."))),
    }
}

/// A text as a map; an empty one as an empty map.
fn parse(text: &str) -> Option<Value> {
    if text.lines().all(is_empty) {
        return Some(Value::Object(serde_json::Map::new()));
    }
    match from_yaml::<Value>(text).ok()? {
        Value::Null => Some(Value::Object(serde_json::Map::new())),
        map @ Value::Object(_) => Some(map),
        _ => None,
    }
}

/// Sets a value, and makes the maps around it.
fn put(tree: &mut Value, path: &[&str], value: &Value) {
    let Some((key, rest)) = path.split_first() else {
        *tree = value.clone();
        return;
    };
    if !tree.is_object() {
        *tree = Value::Object(serde_json::Map::new());
    }
    let Some(members) = tree.as_object_mut() else { return };
    if rest.is_empty() && value.is_null() {
        members.remove(*key);
        return;
    }
    put(members.entry(*key).or_insert(Value::Null), rest, value);
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line has neither a key nor a value.
fn is_empty(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// The text after the key of a line, if it has this key.
fn after_key<'a>(line: &'a str, indent: usize, key: &str) -> Option<&'a str> {
    if indentation(line) != indent {
        return None;
    }
    let line = line.trim_start();
    let quoted = format!("\"{key}\"");
    let rest = line.strip_prefix(key).or_else(|| line.strip_prefix(&quoted))?;
    let rest = rest.trim_start().strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// Edits the lines of a map.
fn edit(
    lines: &mut Vec<String>,
    range: std::ops::Range<usize>,
    indent: usize,
    path: &[&str],
    tree: &Value,
    value: &Value,
) -> Result<(), EditError> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    let first = range.clone().find(|n| after_key(&lines[*n], indent, key).is_some());
    let Some(first) = first else {
        // Behind the last line of the map.
        let last = range.clone().rev().find(|n| !is_empty(&lines[*n]));
        let at = last.map_or(range.start, |last| last + 1);
        let mut nested = value.clone();
        for key in rest.iter().rev() {
            nested = Value::Object([(key.to_string(), nested)].into_iter().collect());
        }
        lines.splice(at..at, written(key, &nested, indent));
        return Ok(());
    };
    let is_next =
        |line: &String| !is_empty(line) && indentation(line) <= indent && !is_item(line, indent);
    let mut end = (first + 1..range.end).find(|n| is_next(&lines[*n])).unwrap_or(range.end);
    // Comments and empty lines before the next key belong to it.
    while end > first + 1 && is_empty(&lines[end - 1]) {
        end -= 1;
    }
    let inline = after_key(&lines[first], indent, key).unwrap_or_default().trim();
    let is_block = inline.is_empty() || inline.starts_with('#');
    let child = (first + 1..end).find(|n| !is_empty(&lines[*n])).map(|n| indentation(&lines[n]));
    match (rest.is_empty(), is_block, child) {
        (false, true, Some(child)) if child > indent => {
            edit(lines, first + 1..end, child, rest, &tree[*key], value)
        }
        _ => {
            if lines[first..end].iter().any(|line| line.contains("${")) {
                return Err(EditError::Variables(key.to_string()));
            }
            let mut new = tree[*key].clone();
            put(&mut new, rest, value);
            let replacement = match rest.is_empty() && value.is_null() {
                true => Vec::new(),
                false => written(key, &new, indent),
            };
            lines.splice(first..end, replacement);
            Ok(())
        }
    }
}

/// Whether a line is an item of a list that is not indented below its key.
fn is_item(line: &str, indent: usize) -> bool {
    indentation(line) == indent && line.trim_start().starts_with("- ")
}

/// The lines of a key and its value.
fn written(key: &str, value: &Value, indent: usize) -> Vec<String> {
    let mut text = String::new();
    member(&mut text, key, value, indent);
    text.lines().map(str::to_string).collect()
}

fn member(out: &mut String, key: &str, value: &Value, indent: usize) {
    let _ = write!(out, "{:indent$}{}:", "", scalar(&Value::from(key)));
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            members.iter().for_each(|(key, value)| member(out, key, value, indent + 2));
        }
        Value::Array(items) if !items.is_empty() && !items.iter().all(is_scalar) => {
            out.push('\n');
            for item in items {
                let mut text = String::new();
                match item {
                    Value::Object(members) if !members.is_empty() => {
                        // The name of an item comes first.
                        let is_name = |key: &str| ["name", "dnn", "sst"].contains(&key);
                        let (names, rest): (Vec<_>, Vec<_>) =
                            members.iter().partition(|(key, _)| is_name(key));
                        let all = names.into_iter().chain(rest);
                        all.for_each(|(k, v)| member(&mut text, k, v, indent + 4));
                    }
                    other => {
                        let _ =
                            writeln!(text, "{:width$}{}", "", scalar(other), width = indent + 4);
                    }
                }
                // The first line has the dash.
                let _ = write!(out, "{:width$}- {}", "", &text[indent + 4..], width = indent + 2);
            }
        }
        other => {
            let _ = writeln!(out, " {}", scalar(other));
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// A value in one line. A text that could mean something else is quoted.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]
            .contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.clone() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "# The core of the roof.\nnetwork: { plmn: \"00101\" } # ours\n\nsmf:\n  # \
                        Sessions.\n  max_sessions: 5\n  dnns:\n  - name: internet # all\n    pool: \
                        10.45.0.0/16\n\n  # Charging.\n  charging: { mode: offline }\n\n# \
                        Policies.\npcf: { default_5qi: 8 }\n";

    #[test]
    fn one_value_changes_and_comments_stay() {
        let dnns = json!([{"name": "internet", "dns": ["9.9.9.9"]}, {"name": "ims", "mtu": 1300}]);
        let after = set(TEXT, &["smf", "dnns"], &dnns).unwrap();
        for comment in
            ["# The core of the roof.", "# ours", "# Sessions.", "# Charging.", "# Policies."]
        {
            assert!(after.contains(comment), "{comment} is not in {after}");
        }
        assert!(after.contains("      mtu: 1300\n") && !after.contains("# all"), "{after}");
        assert_eq!(set(&after, &["smf", "dnns"], &dnns).unwrap(), after, "nothing changes");
        let after = set(TEXT, &["pcf", "default_5qi"], &json!(7)).unwrap();
        assert!(after.contains("pcf:\n  default_5qi: 7\n"), "{after}");
        let after = set(TEXT, &["pcf", "default_ambr"], &json!("1 Gbps")).unwrap();
        assert!(after.contains("default_5qi: 8") && after.contains("\"1 Gbps\""), "{after}");
        let after = set(TEXT, &["smf", "max_sessions"], &Value::Null).unwrap();
        assert!(!after.contains("max_sessions") && after.contains("# Sessions."), "{after}");
    }

    #[test]
    fn keys_that_are_not_there_are_added() {
        let after = set("", &["pcf", "default_5qi"], &json!(7)).unwrap();
        assert_eq!(after, "pcf:\n  default_5qi: 7\n");
        let after = set(TEXT, &["smf", "branching"], &json!([{"dnn": "internet"}])).unwrap();
        assert!(after.contains("  branching:\n    - dnn: internet\n"), "{after}");
        assert!(after.find("branching").unwrap() < after.find("# Policies.").unwrap(), "{after}");
        let after = set(TEXT, &["network", "slices"], &json!([{"sst": 1, "sd": "0000a7"}]));
        assert!(after.unwrap().contains("sd: \"0000a7\""));
    }

    #[test]
    fn variables_and_unknown_forms_are_refused() {
        let text = "smf:\n  dnns: [{ name: internet, pool: \"${POOL}\" }]\n";
        let refused = set(text, &["smf", "dnns"], &json!([])).unwrap_err();
        assert_eq!(refused, EditError::Variables("dnns".into()));
        assert_eq!(set("[]", &["a"], &json!(1)).unwrap_err(), EditError::Unreadable);
        let flow = "{ pcf: { default_5qi: 8 } }\n";
        let refused = set(flow, &["pcf", "default_5qi"], &json!(7)).unwrap_err();
        assert_eq!(refused, EditError::Unknown("pcf.default_5qi".into()));
    }
}

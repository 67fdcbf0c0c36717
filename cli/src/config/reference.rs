//! The reference of the configuration, made from the code: a table of every key, and a JSON Schema
//! by which editors complete and check a file.
use super::{Config, DEFAULTS};
use martlet_config::{Kind, Reference, UnknownType, from_yaml, keys};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Keys that functions apply when the configuration is reloaded (SIGHUP). The others are read at
/// the start.
pub const RELOADED: [&str; 8] = [
    "pcf.default_5qi",
    "pcf.default_arp",
    "pcf.default_ambr",
    "pcf.default_rfsp",
    "pcf.flows",
    "pcf.ue_requests",
    "udm.home_network_keys",
    "udm.null_scheme",
];

/// Whether a path is below a section, or the section itself.
pub fn is_within(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a key is applied when the configuration is reloaded.
pub fn is_reloaded(path: &str) -> bool {
    RELOADED.iter().any(|key| is_within(path, key))
}

/// Every key with its type.
///
/// # Errors
/// The path of a value whose type is not recognised.
pub fn all_keys() -> Result<BTreeMap<String, Kind>, UnknownType> {
    keys::<Config>()
}

fn in_words(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true or false".into(),
        Kind::Integer(_, u64::MAX) => "whole number".into(),
        Kind::Integer(min, max) => format!("{min} to {max}"),
        Kind::Number => "number".into(),
        Kind::Text => "text".into(),
        Kind::Choice(words) => words.join(", "),
        Kind::List => "list".into(),
        Kind::Section => "section".into(),
        Kind::Any => "several types".into(),
    }
}

/// The unit that the name of a key ends with.
fn unit(path: &str) -> &'static str {
    const UNITS: [(&str, &str); 11] = [
        ("_ms", "milliseconds"),
        ("_us", "microseconds"),
        ("_per_s", "per second"),
        ("_s", "seconds"),
        ("_percent", "per cent"),
        ("_bytes", "bytes"),
        ("_kbps", "kbit/s"),
        ("_kb", "kilobytes"),
        ("megabytes", "megabytes"),
        ("_dbm", "dBm"),
        ("_db", "dB"),
    ];
    UNITS.iter().find(|(end, _)| path.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// The default of a key.
fn default<'a>(defaults: &'a Value, path: &str) -> Option<&'a Value> {
    let pointer = path.replace("[]", ".0").replace('.', "/");
    defaults.pointer(&format!("/{pointer}"))
}

fn defaults() -> Value {
    from_yaml(DEFAULTS).unwrap_or_default()
}

/// A table of every key, Markdown.
///
/// # Errors
/// As [`all_keys`].
pub fn table() -> Result<String, UnknownType> {
    let (reference, defaults) = (Reference::new(DEFAULTS), defaults());
    let mut text = "# Configuration keys\n\nMade by `martlet reference keys`; `[]` stands for an \
                    item of a list. A key without a default is\noptional. *Reload* keys change on \
                    SIGHUP (`systemctl reload`), the others need a restart.\n"
        .to_string();
    let mut section = String::new();
    for (path, kind) in all_keys()? {
        let first = path.split(['.', '[']).next().unwrap_or_default();
        if first != section {
            section = first.to_string();
            // Writing to a text does not fail.
            let _ = write!(
                text,
                "\n## {section}\n\n| key | type | default | unit | applied | |\n\
                 | --- | --- | --- | --- | --- | --- |\n"
            );
        }
        if kind == Kind::Section {
            continue;
        }
        let default = match default(&defaults, &path) {
            Some(value @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => {
                format!("`{value}`")
            }
            Some(Value::Array(items)) if items.iter().all(|item| !item.is_object()) => {
                format!("`{}`", Value::Array(items.clone()))
            }
            _ => String::new(),
        };
        let applied = if is_reloaded(&path) { "reload" } else { "restart" };
        let comment = reference.comment(&path).unwrap_or_default().replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{path}` | {} | {default} | {} | {applied} | {comment} |",
            in_words(&kind),
            unit(&path)
        );
    }
    Ok(text)
}

/// A JSON Schema of a configuration file.
///
/// # Errors
/// As [`all_keys`].
pub fn schema() -> Result<Value, UnknownType> {
    let (reference, defaults) = (Reference::new(DEFAULTS), defaults());
    let keys = all_keys()?;
    let mut root = of_type(&Kind::Section, "", &reference, &defaults);
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Configuration of Martlet".into();
    // Parents come before their members: a path sorts before its extensions.
    for (path, kind) in &keys {
        let mut node = &mut root;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let (name, items) = (part.trim_end_matches("[]"), part.matches("[]").count());
            let is_last = parts.peek().is_none();
            for (level, is_item) in (0..=items).map(|level| (level, level > 0)) {
                let slot = match is_item {
                    true => &mut node["items"],
                    false => &mut node["properties"][name],
                };
                if is_last && level == items && slot.is_null() {
                    *slot = of_type(kind, path, &reference, &defaults);
                }
                node = slot;
            }
        }
    }
    open_maps(&mut root);
    Ok(root)
}

/// A section without keys of its own is a map whose keys the user chooses, such as `sbi.advertise`.
fn open_maps(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if members.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty) {
        members.remove("additionalProperties");
    }
    for (name, member) in members {
        match name.as_str() {
            "properties" => {
                member.as_object_mut().into_iter().flatten().for_each(|(_, one)| open_maps(one));
            }
            "items" => open_maps(member),
            _ => {}
        }
    }
}

fn of_type(kind: &Kind, path: &str, reference: &Reference, defaults: &Value) -> Value {
    let mut schema = match kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Integer(min, u64::MAX) => json!({"type": "integer", "minimum": min}),
        Kind::Integer(min, max) => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Kind::Number => json!({"type": "number"}),
        // YAML reads 00101 without quotes as a number.
        Kind::Text => json!({"type": ["string", "number"]}),
        Kind::Choice(words) if words.contains(&"micros") => json!({}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::List => json!({"type": "array"}),
        Kind::Section => {
            json!({"type": "object", "properties": Map::new(), "additionalProperties": false})
        }
        Kind::Any => json!({}),
    };
    if let Some(comment) = reference.comment(path) {
        schema["description"] = comment.into();
    }
    if let Some(value) = default(defaults, path).filter(|value| !value.is_object()) {
        schema["default"] = value.clone();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of a value, with `[]` for items.
    fn paths(value: &Value, path: &str, into: &mut Vec<String>) {
        let below = |name: &str| match path.is_empty() {
            true => name.to_string(),
            false => format!("{path}.{name}"),
        };
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    into.push(below(name));
                    paths(member, &below(name), into);
                }
            }
            Value::Array(items) => items.iter().for_each(|v| paths(v, &format!("{path}[]"), into)),
            _ => {}
        }
    }

    #[test]
    fn the_reference_has_every_key_of_the_code_and_of_the_defaults() {
        let keys = all_keys().unwrap();
        assert!(keys.len() > 300, "{} keys", keys.len());
        let mut written = Vec::new();
        paths(&defaults(), "", &mut written);
        let unknown: Vec<_> = written.iter().filter(|path| !keys.contains_key(*path)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert_eq!(keys["amf.n2.port"], Kind::Integer(0, 65_535));
        assert_eq!(
            keys["upf.datapath"],
            Kind::Choice(vec!["kernel", "xdp", "switch"]),
            "as the code has them"
        );
        for key in RELOADED {
            assert!(keys.contains_key(key), "{key}");
        }
        let table = table().unwrap();
        let row = table.lines().find(|line| line.starts_with("| `udr.flush_interval_ms`"));
        assert!(row.unwrap().contains("| `5` | milliseconds | restart |"), "{row:?}");
        let schema = schema().unwrap();
        let port = schema.pointer("/properties/amf/properties/n2/properties/port").unwrap();
        assert_eq!((&port["maximum"], &port["default"]), (&json!(65_535), &json!(38_412)));
        let name = "/properties/smf/properties/dnns/items/properties/name/type/0";
        assert_eq!(schema.pointer(name), Some(&json!("string")));
    }
}

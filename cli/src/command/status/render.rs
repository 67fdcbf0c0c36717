//! A status as text: a summary first, then each function, with lists as tables. Empty values are
//! left out.
use crate::table::table;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Maximum number of members of an object that is written on one line.
const MAX_ON_LINE: usize = 4;

/// The status of a core as text.
pub fn status(status: &Value) -> String {
    let mode = status["mode"].as_str().unwrap_or("?");
    let mut out = format!("Martlet, {mode}, process {}", status["pid"]);
    let nfs: Vec<_> = status["nfs"].as_array().into_iter().flatten().collect();
    let of = |name: &str| nfs.iter().find(|nf| nf["name"] == name).map(|nf| &nf["status"]);
    if let Some(amf) = of("amf") {
        let gnbs = amf["gnbs"].as_array().map_or(0, Vec::len);
        let number = |name: &str| amf["ues"][name].as_u64().unwrap_or(0);
        let _ = write!(out, ": {gnbs} gNBs, {} UEs registered", number("registered"));
        let _ = write!(out, " ({} connected)", number("connected"));
    }
    if let Some(sessions) = of("smf").and_then(|smf| smf["sessions"].as_u64()) {
        let _ = write!(out, ", {sessions} PDU sessions");
    }
    out.push('\n');
    for process in status["processes"].as_array().into_iter().flatten() {
        let restarts = process["restarts"].as_u64().unwrap_or(0);
        if restarts == 0 && process["state"] == "running" {
            continue;
        }
        let text = |name: &str| process[name].as_str().unwrap_or("?").to_string();
        let (name, state) = (text("name").to_uppercase(), text("state"));
        if state == "no_answer" {
            let _ = writeln!(out, "{name}: does not answer, process {}", process["pid"]);
            continue;
        }
        let _ = writeln!(
            out,
            "{name}: {state}, {restarts} restarts after crashes, the last one: {}",
            text("lastExit")
        );
    }
    for nf in nfs {
        let (name, at) =
            (nf["name"].as_str().unwrap_or("?"), nf["authority"].as_str().unwrap_or(""));
        let _ = write!(out, "\n{}\n", format!("{:<5} {at}", name.to_uppercase()).trim_end());
        if let Some(members) = nf["status"].as_object() {
            object(members, 1, &mut out);
        }
    }
    out
}

fn object(members: &Map<String, Value>, depth: usize, out: &mut String) {
    for (name, member) in members {
        let (indent, name) = ("  ".repeat(depth), words(name));
        match member {
            Value::Null => {}
            Value::Object(inner) if inner.is_empty() => {}
            Value::Object(inner) => {
                if let Some(rows) = named_rows(inner) {
                    let _ = writeln!(out, "{indent}{name}");
                    write_table(&rows, depth + 1, out);
                } else if let Some(line) = line(inner) {
                    let _ = writeln!(out, "{indent}{name}: {line}");
                } else {
                    let _ = writeln!(out, "{indent}{name}");
                    object(inner, depth + 1, out);
                }
            }
            Value::Array(items) if items.is_empty() => {
                let _ = writeln!(out, "{indent}{name}: none");
            }
            Value::Array(items) => {
                match items.iter().map(Value::as_object).collect::<Option<Vec<_>>>() {
                    Some(objects) => {
                        let _ = writeln!(out, "{indent}{name}: {}", items.len());
                        write_table(&rows(&objects), depth + 1, out);
                    }
                    None => {
                        let all: Vec<_> = items.iter().map(plain).collect();
                        let _ = writeln!(out, "{indent}{name}: {}", all.join(", "));
                    }
                }
            }
            other => {
                let _ = writeln!(out, "{indent}{name}: {}", shown(&name, other));
            }
        }
    }
}

/// A member's value; a time in seconds since 1970, which is called `since`, as a date with its age.
fn shown(name: &str, value: &Value) -> String {
    let seconds = value.as_i64().filter(|_| name == "since");
    match seconds.and_then(|at| Timestamp::from_second(at).ok()) {
        Some(at) => format!("{at} ({})", age(Timestamp::now().as_second() - at.as_second())),
        None => plain(value),
    }
}

/// A number of seconds in its two largest units.
fn age(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds.max(0) {
        ..60 => format!("{} s", seconds.max(0)),
        60..3600 => format!("{minutes} min"),
        3600..86_400 => format!("{hours} h {} min", minutes % 60),
        86_400.. => format!("{days} d {} h", hours % 24),
    }
}

/// An object on one line: one with few members, or the counters of many that are not 0.
fn line(members: &Map<String, Value>) -> Option<String> {
    if members.values().any(|member| member.is_object() || member.is_array()) {
        return None;
    }
    let item = |(name, value): (&String, &Value)| format!("{} {}", words(name), shown(name, value));
    if members.len() <= MAX_ON_LINE {
        return Some(
            members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(item)
                .collect::<Vec<_>>()
                .join(", "),
        );
    }
    if !members.values().all(Value::is_number) {
        return None;
    }
    let counted: Vec<_> =
        members.iter().filter(|(_, value)| value.as_f64() != Some(0.0)).map(item).collect();
    Some(if counted.is_empty() { "all 0".to_string() } else { counted.join(", ") })
}

/// The plain members of an object; members of an inner object have both names. `None` for deeper
/// objects and arrays.
fn flat(members: &Map<String, Value>) -> Option<Vec<(String, &Value)>> {
    let mut all = Vec::new();
    for (name, value) in members {
        match value {
            Value::Array(_) => return None,
            Value::Object(inner)
                if inner.values().any(|value| value.is_object() || value.is_array()) =>
            {
                return None;
            }
            Value::Object(inner) => all.extend(
                inner.iter().map(|(n, value)| (format!("{} {}", words(name), words(n)), value)),
            ),
            value => all.push((words(name), value)),
        }
    }
    Some(all)
}

/// The table of named objects that share members. The first column is the name; the others are all
/// members of any object.
fn named_rows(members: &Map<String, Value>) -> Option<Vec<Vec<String>>> {
    let objects: Vec<_> =
        members.values().map(|member| flat(member.as_object()?)).collect::<Option<_>>()?;
    let has = |object: &[(String, &Value)], name: &str| object.iter().any(|(n, _)| n == name);
    let shared =
        objects.first()?.iter().any(|(name, _)| objects.iter().all(|object| has(object, name)));
    if !shared {
        return None;
    }
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in objects.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let head =
        [String::new()].into_iter().chain(names.iter().map(|name| name.to_string())).collect();
    let row = |(name, object): (&String, &Vec<(String, &Value)>)| {
        let cell = |column: &&String| {
            object.iter().find(|(n, _)| n == *column).map_or("".into(), |(n, v)| shown(n, v))
        };
        [words(name)].into_iter().chain(names.iter().map(cell)).collect()
    };
    Some([head].into_iter().chain(members.keys().zip(&objects).map(row)).collect())
}

/// The table of objects, with the members of any of them as columns.
fn rows(objects: &[&Map<String, Value>]) -> Vec<Vec<String>> {
    let mut names: Vec<&String> = Vec::new();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let head = names.iter().map(|name| words(name)).collect();
    let row = |object: &&Map<String, Value>| {
        let cell = |name: &&String| object.get(*name).map_or("".into(), |value| shown(name, value));
        names.iter().map(cell).collect()
    };
    [head].into_iter().chain(objects.iter().map(row)).collect()
}

/// Appends a table whose first row is the header, indented.
fn write_table(rows: &[Vec<String>], depth: usize, out: &mut String) {
    let [header, rows @ ..] = rows else { return };
    for line in table(header, rows.to_vec()).lines() {
        let _ = writeln!(out, "{}{line}", "  ".repeat(depth));
    }
}

/// A value without quotation marks.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "–".into(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| format!("{} {}", words(name), plain(value)))
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    }
}

/// The name of a member in words, with abbreviations in their usual spelling.
fn words(name: &str) -> String {
    let mut text = String::new();
    let mut before_is_lower = false;
    for c in name.chars() {
        match c {
            '_' => text.push(' '),
            c if c.is_ascii_uppercase() && before_is_lower && !name.contains(' ') => {
                text.push(' ');
                text.push(c.to_ascii_lowercase());
            }
            c => text.push(c),
        }
        before_is_lower = c.is_ascii_lowercase();
    }
    // The list is limited to the first items.
    if text == "first" {
        return "the first".into();
    }
    let spelled = text.split(' ').map(|word| match word {
        "gnb" => "gNB",
        "gnbs" => "gNBs",
        "ue" => "UE",
        "ues" => "UEs",
        "upf" => "UPF",
        "upfs" => "UPFs",
        "pdu" => "PDU",
        "supi" => "SUPI",
        "n4" => "N4",
        "ipv6" => "IPv6",
        "dnn" => "DNN",
        "teid" => "TEID",
        "seid" => "SEID",
        other => other,
    });
    spelled.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_is_rendered_as_text_with_tables() {
        let text = status(&json!({"mode": "one process", "pid": 7, "nfs": [
            {"name": "amf", "authority": "127.0.0.17:7777", "status": {
                "gnbs": [{"name": "gnb-1", "ues": 2}, {"name": "g", "ues": 10, "tacs": [1, 2]}],
                "procedures": {
                    "pdu_session": {"running": 1, "limit": 16},
                    "paging": {"running": 0, "limit": 8}},
                "ues": {"registered": 2, "connected": 1}, "points of gNBs": 5,
                "nothing": null, "empty": {}, "none": []}},
            {"name": "smf", "authority": "", "status": {
                "sessions": 3, "counters": {"a": 0, "b": 0, "c": 0, "d": 0, "eF": 9}}}]}));
        let wanted = "Martlet, one process, process 7: 2 gNBs, 2 UEs registered (1 connected), 3 \
                      PDU sessions\n\nAMF   127.0.0.17:7777\n";
        assert!(text.starts_with(wanted), "{text}");
        let lines = [
            "  gNBs: 2\n    name   UEs  tacs\n    gnb-1  2\n    g      10   1, 2\n",
            "  procedures\n                 limit  running\n",
            "\n    paging       8      0\n    PDU session  16     1\n",
            "  UEs: connected 1, registered 2\n",
            "  none: none\n",
            "  points of gNBs: 5\n",
            "\nSMF\n",
            "  counters: e f 9\n",
            "  sessions: 3\n",
        ];
        for line in lines {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("nothing") && !text.contains("empty"), "{text}");
    }

    #[test]
    fn a_time_is_a_date_with_its_age() {
        let text = status(&json!({"nfs": [{"name": "upf", "status": {"associations": [
            {"peer": "127.0.0.7:8805", "since": 1_764_540_000, "sessions": 3}]}}]}));
        assert!(text.contains("2025-11-30T22:00:00Z (") && !text.contains("1764540000"), "{text}");
        assert_eq!(shown("sessions", &json!(1_764_540_000)), "1764540000");
        for (seconds, wanted) in [
            (-3, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3660, "1 h 1 min"),
            (86_399, "23 h 59 min"),
            (180_000, "2 d 2 h"),
        ] {
            assert_eq!(age(seconds), wanted);
        }
    }

    #[test]
    fn crashed_processes_are_shown_before_the_functions() {
        let text = status(&json!({"mode": "one process each", "pid": 7, "nfs": [], "processes": [
            {"name": "amf", "state": "running", "restarts": 0, "lastExit": null},
            {"name": "nrf", "state": "no_answer", "restarts": 0, "lastExit": null, "pid": 9},
            {"name": "lmf", "state": "restarting", "restarts": 6, "lastExit": "signal: 9"}]}));
        let line = "LMF: restarting, 6 restarts after crashes, the last one: signal: 9\n";
        assert!(text.contains(line) && !text.contains("AMF"), "{text}");
        assert!(text.contains("NRF: does not answer, process 9\n"), "{text}");
    }

    #[test]
    fn objects_that_share_members_are_rendered_as_a_table() {
        let text = status(&json!({"nfs": [{"name": "smf", "status": {"addresses": {
            "ims": {"of": 254, "used": 0},
            "internet": {"of": 65533, "used": 2, "ipv6": {"of": 256, "used": 1}}}}}]}));
        let lines = "  addresses\n              of     used  IPv6 of  IPv6 used\n    ims       \
                     254    0\n    internet  65533  2     256      1\n";
        assert!(text.contains(lines), "{text}");
        let text = status(&json!({"nfs": [{"name": "smf", "status": {
                "things": {"a": {"b": 1}, "c": {"d": 2}}}}]}));
        assert!(text.contains("  things\n    a: b 1\n    c: d 2\n"), "{text}");
    }

    #[test]
    fn counters_that_are_all_0_are_summarised() {
        let text = status(&json!({"nfs": [{"name": "upf", "status": {
                "drops": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0}}}]}));
        assert!(text.contains("  drops: all 0\n"), "{text}");
    }
}

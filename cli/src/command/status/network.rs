//! The whole network: functions, UPFs and gNBs. Any function of this machine asks the NRF for the
//! functions, and each function for its status.
use crate::table::table;
use serde_json::Value;

/// The functions, UPFs, gNBs, and the registered UEs of each AMF, as tables.
pub fn render(functions: &Value) -> String {
    let functions: Vec<&Value> = functions.as_array().into_iter().flatten().collect();
    let row = |function: &&Value| {
        let mut row =
            ["type", "status", "address", "set", "id"].map(|name| text(&function[name])).to_vec();
        row.push(readiness(function));
        row
    };
    let header = ["function", "status", "address", "set", "instance", "readiness"];
    let mut all = table(&header, functions.iter().map(row));
    // Each node in the view of the function that it is connected to.
    let nodes = |kind: &'static str, cells: fn(&Value) -> Vec<String>| {
        let of = |function: &&&Value| {
            let address = text(&function["address"]);
            let listed = function[kind].as_array().into_iter().flatten();
            let rows = listed.map(|node| [cells(node), vec![address.clone()]].concat());
            rows.collect::<Vec<_>>()
        };
        functions.iter().flat_map(|function| of(&function)).collect::<Vec<_>>()
    };
    let (upfs, gnbs) = (nodes("upfs", upf), nodes("gnbs", gnb));
    let amfs = functions.iter().filter(|function| function["registered_ues"].is_u64());
    let amfs: Vec<_> = amfs
        .map(|amf| ["address", "id", "registered_ues"].map(|name| text(&amf[name])).to_vec())
        .collect();
    if !upfs.is_empty() {
        all += "\n\n";
        all += &table(&["UPF", "node ID", "association", "sessions", "SMF"], upfs);
    }
    if !gnbs.is_empty() {
        all += "\n\n";
        all += &table(&["gNB", "ID", "tracking areas", "UEs in CM-CONNECTED", "AMF"], gnbs);
    }
    if !amfs.is_empty() {
        all += "\n\n";
        all += &table(&["AMF", "instance", "registered UEs"], amfs);
    }
    all
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn texts(value: &Value, separator: &str) -> String {
    let all: Vec<String> = value.as_array().into_iter().flatten().map(text).collect();
    all.join(separator)
}

/// What a function reports about itself.
fn readiness(function: &Value) -> String {
    match function["readiness"].as_str().unwrap_or_default() {
        "not_ready" => format!("not ready: {}", texts(&function["missing"], "; ")),
        "no_answer" => "does not answer".into(),
        // An older version, or another vendor's.
        "unknown" => "unknown: it has no status service".into(),
        other => other.into(),
    }
}

fn upf(upf: &Value) -> Vec<String> {
    let association = if upf["associated"] == true { "associated" } else { "not associated" };
    vec![text(&upf["n4"]), text(&upf["nodeId"]), association.into(), text(&upf["sessions"])]
}

fn gnb(gnb: &Value) -> Vec<String> {
    let name = if gnb["name"].is_null() { &gnb["address"] } else { &gnb["name"] };
    let areas = texts(&gnb["trackingAreas"], " ");
    vec![text(name), text(&gnb["id"]), areas, text(&gnb["connectedUes"])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_function_has_its_readiness_and_each_node_its_function() {
        let functions = json!([
            {"type": "AMF", "status": "REGISTERED", "address": "10.0.0.1:7777", "set": null,
                "id": "amf-1", "readiness": "ready", "gnbs": [{"id": "00101-000001", "name": null,
                    "address": "10.0.0.9:9000", "trackingAreas": ["00101-1", "00101-2"],
                    "connectedUes": 3}], "registered_ues": 12},
            {"type": "SMF", "status": "REGISTERED", "address": "10.0.0.2:7777", "id": "smf-1",
                "readiness": "ready", "upfs": [{"n4": "10.0.0.8:8805", "associated": false,
                    "sessions": 0}]},
            {"type": "UDM", "address": "10.0.0.3:7777", "readiness": "no_answer"},
            {"type": "UDR", "address": "10.0.0.4:7777", "readiness": "not_ready",
                "missing": ["database postgresql://db: not available for 2.0 s"]},
            {"type": "NEF", "address": "10.0.0.5:80", "readiness": "unknown"},
        ]);
        let text = render(&functions);
        let line = |start: &str| {
            text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_string()
        };
        let has = |start: &str, end: &str| {
            assert!(line(start).trim_end().ends_with(end), "{start} … {end}:\n{text}");
        };
        has("AMF", "ready");
        has("UDM", "does not answer");
        has("UDR", "not ready: database postgresql://db: not available for 2.0 s");
        has("NEF", "unknown: it has no status service");
        assert!(line("gNB").contains("UEs in CM-CONNECTED"), "{text}");
        has("10.0.0.9:9000", "00101-000001  00101-1 00101-2  3                    10.0.0.1:7777");
        assert!(text.contains("instance  registered UEs\n"), "{text}");
        has("10.0.0.1:7777", "amf-1     12");
        assert!(line("10.0.0.8:8805").contains("not associated"), "{text}");
        has("10.0.0.8:8805", "10.0.0.2:7777");
    }
}

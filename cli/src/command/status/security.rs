//! `martlet status --security`: the rights of each process of the core, as the kernel tells them.
//! Only Landlock and locked memory are what the process itself says.
use crate::table::table;
use martlet_sandbox::ProcessRights;
use serde_json::Value;

/// The rights as a table, a row for each process, and below it what processes could not give up.
pub fn render(status: &Value) -> String {
    let nfs: Vec<&Value> = status["nfs"].as_array().into_iter().flatten().collect();
    let is_split = nfs.iter().any(|nf| nf["process"].is_object());
    let own = if is_split { "supervisor" } else { "martlet" };
    let mut processes = vec![(own, &status["pid"], &status["rights"])];
    let fork_server = &status["forkServer"];
    if fork_server.is_object() {
        processes.push(("fork server", &fork_server["pid"], &fork_server["rights"]));
    }
    for nf in nfs.into_iter().filter(|nf| nf["process"].is_object()) {
        let process = &nf["process"];
        processes.push((nf["name"].as_str().unwrap_or("?"), &process["pid"], &process["rights"]));
    }
    // Processes without a function, or without an answer: the API is the only one that has rights.
    for process in status["processes"].as_array().into_iter().flatten().filter(|_| is_split) {
        let name = process["name"].as_str().unwrap_or("?");
        let is_known = processes.iter().any(|(known, ..)| *known == name);
        if !is_known && process["pid"].is_u64() {
            processes.push((name, &process["pid"], &process["rights"]));
        }
    }
    let (mut rows, mut kept) = (Vec::new(), String::new());
    for (name, pid, rights) in processes {
        rows.push(row(name, pid, rights));
        for what in rights["kept"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            kept += &format!("{name} keeps: {what}\n");
        }
    }
    let titles = [
        "process",
        "PID",
        "user",
        "capabilities",
        "no new privileges",
        "system calls",
        "Landlock",
        "memory",
    ];
    format!("{}\n{kept}", table(&titles, rows))
}

fn row(name: &str, pid: &Value, rights: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let number = pid.as_u64().and_then(|pid| u32::try_from(pid).ok());
    let Some(kernel) = number.and_then(|pid| ProcessRights::of(pid).ok()) else {
        let unknown = || "?".to_string();
        let landlock = text(&rights["landlock"]);
        let mut row = vec![name.to_string(), pid.to_string()];
        let memory = text(&rights["memory"]);
        row.extend([unknown(), unknown(), unknown(), unknown(), landlock, memory]);
        return row;
    };
    let capabilities = match kernel.capabilities.is_empty() {
        true => "none".into(),
        false => kernel.capabilities.join(" "),
    };
    let yes = |is| if is { "yes" } else { "no" }.to_string();
    let filter = match kernel.has_filter {
        true => text(&rights["seccomp"]),
        false => "all".into(),
    };
    vec![
        name.into(),
        pid.to_string(),
        kernel.uid.to_string(),
        capabilities,
        yes(kernel.no_new_privileges),
        filter,
        text(&rights["landlock"]),
        text(&rights["memory"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_process_has_a_row_with_its_rights() {
        // This process stands for all of them.
        let pid = std::process::id();
        let rights = json!({"landlock": "version 7", "memory": "not locked", "seccomp": "kill"});
        let text = render(&json!({
            "pid": pid, "rights": {"landlock": "none"},
            "forkServer": {"pid": pid, "rights": {"landlock": "none"}},
            "nfs": [{"name": "amf", "process": {"pid": pid, "rights": rights}}],
            "processes": [
                {"name": "amf", "pid": pid, "state": "running"},
                {"name": "nrf", "pid": pid, "state": "no_answer"},
                {"name": "smf", "pid": null, "state": "restarting"},
                {"name": "oam", "pid": pid, "state": "running",
                    "rights": {"landlock": "version 7", "kept": ["limits: x"]}},
            ],
        }));
        let uid = nix::unistd::getuid().to_string();
        let row = |name: &str| {
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with(name)).collect();
            assert_eq!(lines.len(), 1, "{name}: {text}");
            assert!(lines[0].contains(&format!("{pid}")) && lines[0].contains(&uid), "{text}");
            lines[0].to_string()
        };
        assert!(row("supervisor").contains("none") && row("fork server").contains("none"));
        assert!(row("amf").contains("version 7") && row("nrf").contains('?'), "{text}");
        assert!(row("oam  ").contains("version 7"), "{text}");
        assert!(text.ends_with("\noam keeps: limits: x\n") && !text.contains("smf"), "{text}");
    }

    #[test]
    fn functions_of_one_process_have_one_row() {
        let text = render(&json!({"pid": 7, "nfs": [{"name": "amf"}],
            "processes": [{"name": "amf", "pid": 7, "state": "running"}]}));
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}

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
    for nf in nfs.into_iter().filter(|nf| nf["process"].is_object()) {
        let process = &nf["process"];
        processes.push((nf["name"].as_str().unwrap_or("?"), &process["pid"], &process["rights"]));
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

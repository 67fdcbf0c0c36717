//! The machine on which an experiment runs.
use serde_json::{Value, json};

/// The model of this machine, if it is a board: it has a device tree.
pub fn board() -> Option<String> {
    let text = std::fs::read_to_string("/proc/device-tree/model").ok()?;
    Some(text.trim_end_matches('\0').into())
}

/// CPU model, number of CPUs, memory, kernel with its preemption, version and build of this
/// program, and the model of a board.
pub fn describe() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_string())).unwrap_or_default()
    };
    // The kernel's build string has PREEMPT_RT, PREEMPT_DYNAMIC or no such word.
    let version = read("/proc/version");
    let preemption = version.split(' ').find(|word| word.starts_with("PREEMPT")).unwrap_or("none");
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let mut all = json!({
        "cpu": field(&read("/proc/cpuinfo"), "model name"),
        "cpus": cpus,
        "memory": field(&read("/proc/meminfo"), "MemTotal"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "preemption": preemption,
        "martlet": env!("CARGO_PKG_VERSION"),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
    });
    if let Some(model) = board() {
        all["board"] = model.into();
    }
    all
}

/// CPU, kernel, preemption and build of a machine in a line, from [`describe`].
pub fn in_a_line(machine: &Value) -> String {
    let part = |name: &str| machine[name].as_str().unwrap_or("?");
    format!(
        "{}, Linux {}, preemption {}, {} build",
        part("cpu"),
        part("kernel"),
        part("preemption"),
        part("build")
    )
}

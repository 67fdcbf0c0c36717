//! On what an experiment ran.
use serde_json::{Value, json};

/// Processor, cores, memory, kernel, and the version of the program.
pub fn describe() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_string())).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({
        "processor": field(&read("/proc/cpuinfo"), "model name"),
        "cores": cores,
        "memory": field(&read("/proc/meminfo"), "MemTotal"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "martlet": env!("CARGO_PKG_VERSION"),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
    })
}

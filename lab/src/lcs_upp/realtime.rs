//! The real-time properties of the paper, each checked to be in force: SCHED_FIFO with priority 1, locked memory, and
//! processors at full speed.
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// What was in force.
#[derive(Debug, Clone)]
pub(super) struct Conditions {
    pub scheduling: String,
    pub memory: String,
    pub governor: String,
}

impl Conditions {
    /// Nothing was asked for.
    pub(super) fn ordinary() -> Self {
        Conditions {
            scheduling: scheduling(),
            memory: "not locked".into(),
            governor: governors().unwrap_or_else(|| "this machine has none".into()),
        }
    }
}

/// Gives this process the properties.
///
/// # Errors
/// One of them is not in force afterwards. A machine without governors has none to set, which the report says.
pub(super) fn enter() -> Result<Conditions> {
    let pid = std::process::id().to_string();
    let set = Command::new("chrt").args(["--fifo", "--all-tasks", "--pid", "1", &pid]).status();
    ensure!(set.context("`chrt` is missing: install util-linux")?.success(), "SCHED_FIFO was refused: run as root");
    let scheduling = scheduling();
    ensure!(scheduling == "SCHED_FIFO, priority 1", "asked for SCHED_FIFO with priority 1, got {scheduling}");
    nix::sys::mman::mlockall(nix::sys::mman::MlockAllFlags::all()).context("memory was not locked: run as root")?;
    let locked = field("/proc/self/status", "VmLck:").unwrap_or_default();
    ensure!(!locked.starts_with("0 "), "memory is not locked: {locked}");
    for governor in governor_files() {
        std::fs::write(&governor, "performance").with_context(|| governor.display().to_string())?;
    }
    let governor = governors();
    ensure!(governor.as_deref().is_none_or(|it| it == "performance"), "the governor is {governor:?}");
    Ok(Conditions {
        scheduling,
        memory: format!("{locked} locked"),
        governor: governor.unwrap_or_else(|| "this machine has none".into()),
    })
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.lines().find(|line| line.starts_with(name))?[name.len()..].trim().to_string())
}

/// Policy and priority of this process (proc(5), `stat`, fields 40 and 41).
fn scheduling() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may have blanks; the third field follows it.
    let behind = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).copied().unwrap_or("?");
    let policy = match number(41) {
        "0" => "SCHED_OTHER",
        "1" => "SCHED_FIFO",
        "2" => "SCHED_RR",
        other => return format!("policy {other}"),
    };
    format!("{policy}, priority {}", number(40))
}

fn governor_files() -> Vec<PathBuf> {
    let folders = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    folders.map(|cpu| cpu.path().join("cpufreq/scaling_governor")).filter(|path| path.exists()).collect()
}

/// The governor of all processors; several, where they differ.
fn governors() -> Option<String> {
    let mut all: Vec<String> = governor_files()
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap_or_default().trim().to_string())
        .collect();
    all.sort();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ordinary_process_is_seen_to_be_one() {
        let ordinary = super::Conditions::ordinary();
        assert!(ordinary.scheduling.starts_with("SCHED_"), "{ordinary:?}");
    }
}

//! The CPU frequency governor.
use crate::RealtimeError;
use std::path::PathBuf;

/// The governor of the paper.
pub(super) const PERFORMANCE: &str = "performance";

fn files() -> Vec<PathBuf> {
    let folders = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    folders
        .map(|cpu| cpu.path().join("cpufreq/scaling_governor"))
        .filter(|path| path.exists())
        .collect()
}

/// Sets the governor of every CPU and verifies it.
pub(super) fn set(wanted: &'static str) -> Result<(), RealtimeError> {
    for file in files() {
        std::fs::write(&file, wanted)
            .map_err(|error| RealtimeError::SetGovernor { path: file, error })?;
    }
    match now() {
        Some(got) if got != wanted => Err(RealtimeError::OtherGovernor { wanted, got }),
        _ => Ok(()),
    }
}

/// The governors of the CPUs, without repetition. None if there are no governors.
pub(super) fn now() -> Option<String> {
    let mut all: Vec<String> = files()
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap_or_default().trim().to_string())
        .collect();
    all.sort();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

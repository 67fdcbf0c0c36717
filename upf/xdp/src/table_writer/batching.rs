//! Interrupt mitigation: interfaces delay their interrupts (Linux, `networking/napi.rst`).
use std::fs;
use std::path::PathBuf;

/// Nanoseconds of the interval, and the number of uninterrupted polls.
const BATCHED: [(&str, &str); 2] = [("gro_flush_timeout", "200000"), ("napi_defer_hard_irqs", "4")];

/// NAPI settings of the interfaces, restored on drop.
pub(super) struct Batching {
    /// Sysfs files with their original values, and the values for batching.
    files: Vec<(PathBuf, String, &'static str)>,
    on: bool,
}

impl Batching {
    /// For interfaces by name and index.
    pub fn new<'a>(ports: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut files = Vec::new();
        for (name, ifindex) in ports {
            let folder = PathBuf::from("/sys/class/net").join(name);
            // The mounted sysfs may belong to another namespace than the interface.
            let index = fs::read_to_string(folder.join("ifindex"))
                .ok()
                .and_then(|text| text.trim().parse().ok());
            if index != Some(ifindex) || name == "lo" {
                continue;
            }
            for (file, value) in BATCHED {
                let path = folder.join(file);
                if let Ok(before) = fs::read_to_string(&path) {
                    files.push((path, before.trim().to_string(), value));
                }
            }
        }
        Batching { files, on: false }
    }

    /// Starts or stops batching.
    pub fn set(&mut self, on: bool) {
        if self.on == on {
            return;
        }
        self.on = on;
        for (path, before, batched) in &self.files {
            if let Err(error) = fs::write(path, if on { batched } else { before.as_str() }) {
                tracing::warn!(path = %path.display(), %error, "batching not set");
            }
        }
    }
}

impl Drop for Batching {
    fn drop(&mut self) {
        self.set(false);
    }
}

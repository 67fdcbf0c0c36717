//! Background load on another CPU: `stress-ng`, with or without memory accesses.
use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Kinds of load, and the arguments of `stress-ng`. `computing` has no memory accesses; it shows
/// whether memory matters, or that two CPUs share a core.
pub const KINDS: [(&str, &[&str]); 4] = [
    ("none", &[]),
    ("computing", &["--cpu", "1", "--cpu-method", "loop"]),
    ("sparse", &["--vm", "1", "--vm-bytes", "64M", "--vm-hang", "1"]),
    ("frequent", &["--stream", "1", "--stream-l3-size", "16M"]),
];

/// A running `stress-ng`, which is stopped on drop.
pub struct Stress(Option<Child>);

impl Stress {
    /// Starts `stress-ng` on the first CPU.
    ///
    /// # Errors
    /// `stress-ng` is not installed.
    pub fn start(arguments: &[&str]) -> Result<Stress> {
        if arguments.is_empty() {
            return Ok(Stress(None));
        }
        let mut command = Command::new("stress-ng");
        command.args(arguments).args(["--taskset", "0", "--timeout", "300"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.context("`stress-ng` is missing: install the package stress-ng")?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Stress(Some(child)))
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // On SIGTERM it ends its own children too.
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(child.id() as i32),
                nix::sys::signal::SIGTERM,
            );
            let _ = child.wait();
        }
    }
}

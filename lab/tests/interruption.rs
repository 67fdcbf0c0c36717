//! An experiment that a signal ends.
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until a file has a number.
fn number_in(file: &Path) -> Result<u32> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return Ok(text.trim().parse()?);
        }
        ensure!(begun.elapsed() < Duration::from_secs(30), "{} is missing", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn programs_of_an_experiment_end_with_it() {
    in_namespace(|| async {
        let name = format!("martlet-lab-interruption-test-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0)?;
        let (script, started) = (folder.0.join("core.sh"), folder.0.join("started"));
        let text = format!("#!/bin/sh\necho $$ > {}\nexec sleep 90\n", started.display());
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        let mut lab = Command::new(env!("CARGO_BIN_EXE_martlet-lab"))
            .args(["--log", "warn", "control-plane", "--quick", "--core", "external"])
            .args(["--amf", "127.60.0.5", "--start"])
            .arg(&script)
            .arg("--out")
            .arg(folder.0.join("results"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let program = number_in(&started);
        kill(Pid::from_raw(i32::try_from(lab.id())?), Signal::SIGTERM)?;
        let status = lab.wait()?;
        ensure!(!status.success(), "{status}");
        let program = program.context("the experiment starts no program")?;
        // That of a zombie is empty.
        let line = fs::read(format!("/proc/{program}/cmdline")).unwrap_or_default();
        ensure!(line.is_empty(), "{} runs on", String::from_utf8_lossy(&line));
        Ok(())
    });
}

//! A core dump would contain the keys of subscribers: there is none.
use crate::site::*;
use anyhow::{Result, ensure};
use martlet_tests::{in_namespace, skip};
use nix::sys::signal::Signal::SIGABRT;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Whether a program leaves a core dump when it is aborted once a file exists. Its limit of the
/// size of core dumps is lifted.
fn dumps_core(folder: &Path, program: &[&str], once: &Path) -> Result<bool> {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -c unlimited; exec \"$@\"", "sh"])
        .args(program)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let give_up = Instant::now() + Duration::from_secs(60);
    while !once.exists() {
        ensure!(Instant::now() < give_up, "{program:?} does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The shell has become the program by then.
    std::thread::sleep(Duration::from_millis(100));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), SIGABRT)?;
    let status = child.wait()?;
    ensure!(status.signal().is_some(), "{program:?} ended by itself: {status}");
    Ok(status.core_dumped())
}

#[test]
fn aborted_function_leaves_no_core_dump() {
    in_namespace(|| async {
        let site = Site::new("core-dump")?;
        if !dumps_core(&site.0, &["sleep", "60"], &site.config())? {
            skip("this machine makes no core dumps");
            return Ok(());
        }
        let config = site.config().display().to_string();
        let socket = site.0.join("oam-nrf.sock");
        let dumped = dumps_core(&site.0, &[MARTLET, "nf", "nrf", "-c", &config], &socket)?;
        ensure!(!dumped, "a function left a core dump");
        let dumped = dumps_core(&site.0, &[MARTLET, "up", "-c", &config], &site.oam())?;
        ensure!(!dumped, "a core left a core dump");
        Ok(())
    });
}

//! A program that starts what is measured, writes the line `ready`, and stops it on SIGTERM.
use super::process::{Usage, descendants, usage};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long the program may take until it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long it may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const READY: &str = "ready";

/// The running program. It is stopped on drop.
pub(crate) struct StartedProgram {
    child: Option<Child>,
    /// What it writes.
    log: PathBuf,
}

impl StartedProgram {
    /// Starts the program. Its output is written to the file.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<StartedProgram> {
        let file = std::fs::File::create(log)?;
        let child = command.stdout(file.try_clone()?).stderr(file).spawn();
        let child = child.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(StartedProgram { child: Some(child), log: log.to_path_buf() })
    }

    /// The ID of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Waits until it has written that it is ready.
    pub(crate) fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            let output = std::fs::read_to_string(&self.log).unwrap_or_default();
            if output.lines().any(|line| line.trim() == READY) {
                return Ok(());
            }
            let log = self.log.display();
            if let Some(status) = self.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                bail!("it ended ({status}), and had written to {log}:\n{output}");
            }
            ensure!(
                started.elapsed() < START_TIMEOUT,
                "it did not write `{READY}` within {START_TIMEOUT:?}, but to {log}:\n{output}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it and its descendants use now.
    pub(crate) fn usage(&self) -> Usage {
        usage(&descendants(self.id()))
    }

    /// Stops it.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let all = descendants(child.id());
        let signalled = Instant::now();
        kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM)?;
        while child.try_wait()?.is_none() {
            if signalled.elapsed() > STOP_TIMEOUT {
                for pid in all {
                    let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
                }
                child.wait()?;
                bail!("it did not stop within {STOP_TIMEOUT:?} and was killed");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for StartedProgram {
    fn drop(&mut self) {
        let _ = self.shut_down();
    }
}

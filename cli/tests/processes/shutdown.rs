//! All functions end with the process that was started, however it ends.
use crate::Site;
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Longer than the functions' shutdown, in which they wait for each other.
const LONGEST: Duration = Duration::from_secs(60);

fn send(pid: u32, signal: Signal) -> Result<()> {
    Ok(kill(Pid::from_raw(pid as i32), signal)?)
}

/// Waits until none of these processes runs; zombies count as ended.
async fn until_gone(pids: &[u32]) -> Result<()> {
    let is_there = |pid: &&u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    let asked = Instant::now();
    loop {
        let left: Vec<_> = pids.iter().filter(is_there).collect();
        if left.is_empty() {
            return Ok(());
        }
        ensure!(asked.elapsed() < LONGEST, "processes still run: {left:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn functions_end_with_their_supervisor() {
    in_namespace(|| async {
        let site = Site::new("orphans")?;
        let core = site.start(&["--split"])?;
        let family = core.family();
        let (watcher, functions) = family.split_first().context("it has a process")?;
        ensure!(functions.len() == 12, "ten functions, the API and the fork server: {family:?}");
        send(*watcher, Signal::SIGKILL)?;
        until_gone(functions).await?;
        drop(core);
        // The addresses can be bound again.
        site.start(&["--split"])?.stop()
    });
}

#[test]
fn a_signal_sent_twice_within_a_moment_shuts_down_in_order() {
    in_namespace(|| async {
        let site = Site::new("twice")?;
        let core = site.start(&["--split"])?;
        let family = core.family();
        // As timeout(1) does, which signals the process and then its group.
        send(core.id(), Signal::SIGTERM)?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        let _ = send(core.id(), Signal::SIGTERM);
        until_gone(&family).await?;
        Ok(())
    });
}

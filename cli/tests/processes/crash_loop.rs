//! A function that crashes again and again: the supervisor restarts it, also without its fork
//! server, and the others run on.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_tests::in_namespace;
use std::time::Duration;

/// Kills of the LMF.
const KILLS: u64 = 7;

/// The supervisor's entry of a function's process.
fn process_entry(core: &CoreProcess, name: &str) -> serde_json::Value {
    let status = core.status().unwrap_or_default();
    let all = status["processes"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|process| process["name"] == name).unwrap_or_default()
}

/// Kilobytes of the program's tables with the addresses of this process: those that it shares, and
/// its own.
fn tables(pid: u32) -> Result<(u64, u64)> {
    let (mut shared, mut own, mut is_table) = (0, 0, false);
    for line in std::fs::read_to_string(format!("/proc/{pid}/smaps"))?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Shared_Dirty:", kb, _] if is_table => shared += kb.parse::<u64>()?,
            ["Private_Dirty:", kb, _] if is_table => own += kb.parse::<u64>()?,
            [_, rights, _, _, _, file] => is_table = rights == "r--p" && file.contains("martlet"),
            _ => {}
        }
    }
    Ok((shared, own))
}

async fn next_process_of_lmf(core: &CoreProcess, killed: u32) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while core.process_of("nf lmf").is_none_or(|pid| pid == killed) {
        ensure!(tokio::time::Instant::now() < give_up, "the LMF is not restarted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[test]
fn crashing_lmf_does_not_end_the_core() {
    in_namespace(|| async {
        let site = Site::new("crash-loop")?;
        let core = site.start(&["--split"])?;
        let upf = core.process_of("nf upf").context("the UPF has a process")?;
        let (shared, own) = tables(upf)?;
        ensure!(shared > 4 * own, "{shared} KB of the UPF's tables are shared, {own} KB are not");
        for n in 1..=KILLS {
            if n == KILLS {
                let server = core.process_of("fork-server").context("there is a fork server")?;
                kill_process(server)?;
            }
            let killed = kill(&core, "lmf")?;
            next_process_of_lmf(&core, killed).await?;
        }
        ensure!(core.process_of("nf upf") == Some(upf), "the UPF is the same process");
        let entry = process_entry(&core, "lmf");
        ensure!(
            entry["restarts"] == KILLS && entry["lastExit"] != serde_json::Value::Null,
            "{entry}"
        );
        ensure!(process_entry(&core, "upf")["restarts"] == 0, "{}", process_entry(&core, "upf"));

        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        registration_cycle(&ue).await?;
        gnb.shutdown().await;
        core.stop()
    });
}

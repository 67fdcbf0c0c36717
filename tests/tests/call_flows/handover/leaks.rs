//! Repeated handovers leave no state and no memory behind.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace, metric};

#[test]
fn repeated_attach_handover_and_detach_leak_no_memory() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.timers.deregistered_s = 0).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let rounds: u64 =
            std::env::var("MARTLET_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
        let mut early = 0;
        for round in 0..rounds {
            let ue = one.new_ue(core.ue_config(round % 50 + 1))?;
            core.register_with_session(&ue).await?;
            ue.handover_to(&other).await?;
            ue.xn_handover_to(&one).await?;
            ue.deregister().await?;
            core.sbi_record.clear();
            if round == rounds / 4 {
                core.until_all_released().await?;
                early = resident()?;
            }
        }
        core.until_all_released().await?;
        core.until("no context is left at the AMF", |c| c.contexts == 0).await?;
        let late = resident()?;
        println!("{rounds} rounds: {early} kB after a quarter, {late} kB at the end");
        // The tolerance is far below the memory of one UE per round.
        ensure!(late < early + early / 10 + 4096, "memory grows from {early} kB to {late} kB");
        ensure!(
            metric("martlet_amf_procedures_total", &[("procedure", "handover"), ("result", "ok")])
                >= rounds as f64
        );
        Ok(())
    });
}

/// Resident set size of this process, kB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}

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
            let phone = one.new_ue(core.phone(round % 50 + 1))?;
            core.register_with_session(&phone).await?;
            phone.handover_to(&other).await?;
            phone.xn_handover_to(&one).await?;
            phone.deregister().await?;
            core.bodies.forget();
            if round == rounds / 4 {
                core.until_nothing_is_left().await?;
                early = resident()?;
            }
        }
        core.until_nothing_is_left().await?;
        core.until("the AMF keeps no context", |c| c.contexts == 0).await?;
        let late = resident()?;
        println!("{rounds} rounds: {early} kB after a quarter, {late} kB at the end");
        // What is left is the allocator's: far less than one UE each round would take.
        ensure!(late < early + early / 10 + 4096, "memory grows: {early} kB, then {late} kB");
        ensure!(
            metric("martlet_amf_procedures_total", &[("procedure", "handover"), ("result", "ok")])
                >= rounds as f64
        );
        Ok(())
    });
}

/// Resident size of this process, kB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}

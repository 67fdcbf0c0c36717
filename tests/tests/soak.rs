//! Soak tests: UEs perform random actions and the core must stay consistent with them.
//!
//! They take some seconds; `make soak` runs for longer. `MARTLET_SOAK_SECONDS` sets the duration,
//! `MARTLET_SOAK_UES` the number of UEs, and `MARTLET_SOAK_SEED` repeats the actions of a run.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_tests::{Soak, TestCore, in_namespace_within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn number(variable: &str, default: u64) -> Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable} is not a number: {text:?}")),
        Err(_) => Ok(default),
    }
}

fn soak(sbi: Sbi) -> Result<()> {
    let soak = Soak {
        seed: number("MARTLET_SOAK_SEED", 1)?,
        duration: Duration::from_secs(number("MARTLET_SOAK_SECONDS", 5)?),
        ues: number("MARTLET_SOAK_UES", 12)?,
        gnbs: 2,
    };
    in_namespace_within(soak.duration + Duration::from_secs(300), move || async move {
        let core = TestCore::start(sbi, |config| config.amf.status_ues = 1000).await?;
        let counters = soak.run(&core).await?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (actions, rejected, agreements) =
            (count(&counters.actions), count(&counters.rejected), count(&counters.agreements));
        println!("soak: {actions} actions, {rejected} rejected, {agreements} checks passed");
        ensure!(
            actions > rejected * 2 && agreements >= soak.ues,
            "too few actions succeeded: {actions} actions, {rejected} rejected, {agreements} \
             checks"
        );
        Ok(())
    });
    Ok(())
}

#[test]
fn ues_and_core_stay_consistent_in_one_process() -> Result<()> {
    soak(Sbi::Local)
}

#[test]
fn ues_and_core_stay_consistent_over_the_fabric() -> Result<()> {
    soak(Sbi::Fabric)
}

#[test]
fn ues_and_core_stay_consistent_over_http() -> Result<()> {
    soak(Sbi::Http)
}

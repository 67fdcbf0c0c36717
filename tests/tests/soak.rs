//! Phones that do whatever they like at the same time, and a core that has to stay in agreement
//! with them.
//!
//! Some seconds here; `make soak` goes on for as long as one says. `MARTLET_SOAK_SEED` repeats what
//! the phones of a soak wished, `MARTLET_SOAK_SECONDS` and `MARTLET_SOAK_PHONES` say how long and
//! how many.
use anyhow::{Context, Result};
use martlet::core::Sbi;
use martlet_tests::{Soak, TestCore, in_namespace_within};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn number(variable: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable} is a number, not {text:?}")),
        Err(_) => Ok(otherwise),
    }
}

fn soak(sbi: Sbi) -> Result<()> {
    let soak = Soak {
        seed: number("MARTLET_SOAK_SEED", 1)?,
        duration: Duration::from_secs(number("MARTLET_SOAK_SECONDS", 5)?),
        phones: number("MARTLET_SOAK_PHONES", 12)?,
        gnbs: 2,
    };
    in_namespace_within(soak.duration + Duration::from_secs(300), move || async move {
        let core = TestCore::start(sbi, |config| config.amf.status_ues = 1000).await?;
        let seen = soak.run(&core).await?;
        let count = |what: &std::sync::atomic::AtomicU64| what.load(Ordering::Relaxed);
        let (wishes, refused, agreements) =
            (count(&seen.wishes), count(&seen.refused), count(&seen.agreements));
        println!(
            "{wishes} wishes, of which {refused} were refused; {agreements} times phone and core \
             agreed"
        );
        anyhow::ensure!(
            wishes > refused * 2 && agreements >= soak.phones,
            "too little has happened for a test"
        );
        Ok(())
    });
    Ok(())
}

#[test]
fn phones_and_core_agree_whatever_the_phones_do() -> Result<()> {
    soak(Sbi::Local)
}

#[test]
fn phones_and_core_agree_over_the_fabric() -> Result<()> {
    soak(Sbi::Fabric)
}

#[test]
fn phones_and_core_agree_over_http() -> Result<()> {
    soak(Sbi::Http)
}

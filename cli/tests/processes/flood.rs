//! A flood of registrations without answers from UEs, at one gNB: what it costs the UEs of another.
use crate::site::*;
use anyhow::{Result, bail, ensure};
use martlet_ran::gnb::N2Link;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{RawGnb, in_namespace_within};
use std::time::{Duration, Instant};

/// REGISTRATION REQUEST of subscriber 2, with a SUCI of the null scheme.
const REGISTRATION: &str = "7e004179 000d01 00f110 0000 0000 0000000020 2e04f0f0f0f0";
/// Registrations of each turn.
const REGISTRATIONS: usize = 20;
/// A latency that a busy machine explains, whatever the ratio.
const BUSY: Duration = Duration::from_millis(300);

/// Sends this many registrations a second, forever.
async fn flood(gnb: &RawGnb, rate: u32) -> Result<()> {
    let message = hex::decode(REGISTRATION.replace(' ', ""))?;
    let (started, mut sent) = (Instant::now(), 0);
    loop {
        while f64::from(sent) < started.elapsed().as_secs_f64() * f64::from(rate) {
            sent += 1;
            gnb.send(gnb.initial_ue_message(sent, &message)).await?;
        }
        gnb.drain().await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

/// Times of registrations of a UE without a security context, so that it is authenticated.
async fn registration_times(ue: &Ue) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..REGISTRATIONS {
        let started = Instant::now();
        ue.register().await?;
        times.push(started.elapsed());
        ue.deregister().await?;
        ue.forget_registration().await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(times)
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The medians of turns without and with a flood of this rate.
async fn turns(ue: &Ue, rate: u32, attacker: &mut u8) -> Result<[Duration; 2]> {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        alone.extend(registration_times(ue).await?);
        *attacker += 1;
        let link = N2Link::connect(&gnb_config(*attacker, "127.0.0.5:38412")?).await?;
        let gnb = RawGnb::over(link, *attacker);
        gnb.send(gnb.ng_setup("001", 1)).await?;
        gnb.next().await?;
        let times = async {
            // The flood has taken slots and queue before.
            tokio::time::sleep(Duration::from_secs(1)).await;
            registration_times(ue).await
        };
        beside.extend(tokio::select! {
            times = times => times?,
            ended = flood(&gnb, rate) => bail!("the flood ended: {ended:?}"),
        });
        gnb.abort();
        // The contexts of the flood are released.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    Ok([median(&alone), median(&beside)])
}

#[test]
fn attack_flood_of_one_gnb_delays_ues_of_others() {
    in_namespace_within(Duration::from_secs(240), || async {
        let site = Site::new("flood")?;
        let core = site.start(&["--split"])?;
        let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
        let ue = ue(&gnb, 1)?;
        registration_times(&ue).await?;
        let mut attacker = 9;
        for rate in [200, 600] {
            let [alone, beside] = turns(&ue, rate, &mut attacker).await?;
            let ratio = beside.as_secs_f64() / alone.as_secs_f64();
            println!("{rate} registrations/s: {alone:?} alone, {beside:?} beside: {ratio:.2}");
            // A debug build on a busy machine; 2 is asked of an optimised one.
            ensure!(ratio < 10.0 || beside < BUSY, "{rate} registrations/s: {ratio:.2}");
        }
        gnb.shutdown().await;
        core.stop()
    });
}

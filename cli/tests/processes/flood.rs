//! A flood of registrations without answers from UEs, at one gNB: what it costs the UEs of another.
//! The core has processes of its own, so that what the UEs and gNBs of the test compute does not
//! count.
use crate::site::*;
use anyhow::{Result, bail};
use martlet_lab::CoreProcess;
use martlet_ran::gnb::N2Link;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{RawGnb, in_namespace_alone};
use std::time::{Duration, Instant};

/// REGISTRATION REQUEST of subscriber 2, with a SUCI of the null scheme.
const REGISTRATION: &str = "7e004179 000d01 00f110 0000 0000 0000000020 2e04f0f0f0f0";
/// Registrations of a turn, without and with the flood.
const REGISTRATIONS: usize = 20;
/// How much longer a registration may take beside a flood.
const PROMISED: f64 = 2.0;
/// Turns, until the median of their ratios is within the promise. Other programs of the machine
/// disturb a turn; a core that is not fair fails all of them. No other test of this program runs
/// meanwhile: a flood beside it would take the rest of the CPUs that a registration alone has.
const TURNS: usize = 9;

fn bytes(message: &str) -> Result<Vec<u8>> {
    Ok(hex::decode(message.replace(' ', ""))?)
}

/// Calls `send` so many times a second, forever.
async fn at_rate(rate: u32, mut send: impl AsyncFnMut(u32) -> Result<()>) -> Result<()> {
    let (started, mut sent) = (Instant::now(), 0);
    loop {
        while f64::from(sent) < started.elapsed().as_secs_f64() * f64::from(rate) {
            sent += 1;
            send(sent).await?;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

/// Times of registrations of a UE without a security context, so that it is authenticated.
async fn initial_registrations(ue: &Ue) -> Result<Vec<Duration>> {
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

fn median<T: Copy + PartialOrd>(values: &[T]) -> T {
    let mut values = values.to_vec();
    values.sort_unstable_by(|one, other| one.partial_cmp(other).expect("numbers"));
    values[values.len() / 2]
}

/// Repeats turns of registrations without and with a flood, until the median of their ratios is
/// within the promise.
async fn within_the_promise(
    flood: &str,
    mut turn: impl AsyncFnMut() -> Result<[Duration; 2]>,
) -> Result<()> {
    let mut ratios = Vec::new();
    while ratios.len() < TURNS {
        let [alone, beside] = turn().await?;
        let ratio = beside.as_secs_f64() / alone.as_secs_f64();
        println!("{flood}: {alone:?} alone, {beside:?} beside: {ratio:.2}");
        ratios.push(ratio);
        if ratios.len() >= 3 && median(&ratios) <= PROMISED {
            return Ok(());
        }
    }
    bail!("{flood}: {PROMISED} times the latency is promised, not {ratios:.2?}")
}

/// Without and with a flood of another gNB.
async fn turn_of_another_gnb(
    core: &CoreProcess,
    ue: &Ue,
    rate: u32,
    attacker: u8,
) -> Result<[Duration; 2]> {
    let alone = initial_registrations(ue).await?;
    let link = N2Link::connect(&gnb_config(attacker, "127.0.0.5:38412")?).await?;
    let gnb = RawGnb::over(link, attacker);
    gnb.send(gnb.ng_setup("001", 1)).await?;
    gnb.next().await?;
    let message = bytes(REGISTRATION)?;
    let times = async {
        // The flood has taken slots and queue before.
        tokio::time::sleep(Duration::from_secs(1)).await;
        initial_registrations(ue).await
    };
    let flood = at_rate(rate, async |number| {
        gnb.send(gnb.initial_ue_message(number, &message)).await?;
        gnb.drain().await;
        Ok(())
    });
    let beside = tokio::select! {
        times = times => times?,
        ended = flood => bail!("the flood ended: {ended:?}"),
    };
    gnb.abort();
    // The contexts of the flood are released.
    let released = Instant::now();
    let contexts = || status_of(core, "amf")["ues"]["contexts"].as_u64();
    while contexts() > Some(2) && released.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok([median(&alone), median(&beside)])
}

fn flood_of_another_gnb(name: &'static str, arguments: &'static [&'static str]) {
    in_namespace_alone(Duration::from_secs(600), move || async move {
        let site = Site::new(name)?;
        let core = site.start(arguments)?;
        let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
        let ue = ue(&gnb, 1)?;
        initial_registrations(&ue).await?;
        let mut attacker = 9;
        for rate in [200, 600] {
            let turn = async || {
                attacker += 1;
                turn_of_another_gnb(&core, &ue, rate, attacker).await
            };
            within_the_promise(&format!("{rate} registrations/s"), turn).await?;
        }
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn attack_flood_of_one_gnb_delays_ues_of_others() {
    flood_of_another_gnb("flood", &["--split"]);
}

#[test]
fn attack_flood_of_one_gnb_delays_ues_of_others_in_one_process() {
    flood_of_another_gnb("flood-one", &[]);
}

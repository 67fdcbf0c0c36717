//! A gNB with two AMFs of a set selects one for each UE by relative capacity, and returns UEs to
//! the AMF of their 5G-S-TMSI (TS 23.501, 6.3.5). When that one is killed, its connected UEs are
//! served by the other. Registered UEs move to an AMF that has less than its share (5.19.4).
use crate::nf_sets::{
    internet, over_postgresql, over_sqlite, second_amf, start_member, start_split, until_reached,
    with_sessions,
};
use crate::{MARTLET, Site, deregister_all, gnb_config, status_of, ue, until};
use anyhow::{Context, Result, ensure};
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, reaches};
use std::process::Command;
use std::time::Duration;

/// How many UEs have a 5G-GUTI of the AMF with this pointer.
async fn served_by(ues: &[Ue], pointer: u8) -> Result<usize> {
    let mut count = 0;
    for ue in ues {
        let guti = ue.status().await?.guti.context("a 5G-GUTI")?;
        count += usize::from(guti.amf_pointer() == pointer);
    }
    Ok(count)
}

async fn shared_ues(site: &Site) -> Result<()> {
    let core = start_split(site, "")?;
    let more = second_amf("", "  relative_capacity: 85\n");
    let other = start_member(site, &core, "amf", "AMF", &more).await?;
    let mut config = gnb_config(1, "127.0.0.5:38412")?;
    config.further_amfs = vec!["127.0.0.6:38412".parse()?];
    let gnb = Gnb::connect(config).await?;
    let ues = (1..=12).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    for ue in &ues {
        ue.register().await?;
        ue.establish_pdu_session(internet()).await?;
    }
    // Capacities of 255 and 85: three quarters and one.
    let of_other = served_by(&ues, 2).await?;
    println!("{of_other} of {} UEs at the AMF with a quarter of the capacity", ues.len());
    ensure!((2..=4).contains(&of_other), "{of_other}");
    for ue in &ues {
        ue.release_to_idle().await?;
        ue.service_request().await?;
    }
    ensure!(served_by(&ues, 2).await? == of_other, "UEs return to their AMF");
    // A drained AMF has no capacity: new UEs go to the other one.
    // It runs alone, without an API: the error names its socket.
    let config = site.0.join("other-amf.yaml").display().to_string();
    let socket = site.0.join("other-amf-amf.sock").display().to_string();
    let drain = Command::new(MARTLET).args(["drain", "-c", &config, "amf"]).output()?;
    let error = String::from_utf8_lossy(&drain.stderr);
    ensure!(!drain.status.success() && error.contains(&format!("--at {socket}")), "{error}");
    let drain = Command::new(MARTLET).args(["drain", "--at", &socket, "amf"]).output()?;
    ensure!(drain.status.success(), "{}", String::from_utf8_lossy(&drain.stderr));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let new = (13..=18).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    for ue in &new {
        ue.register().await?;
    }
    ensure!(served_by(&new, 2).await? == 0, "new UEs at the drained AMF");
    ensure!(served_by(&ues, 2).await? == of_other, "it serves what it has");
    for ue in &new {
        ue.deregister().await?;
    }
    other.kill()?;
    for (n, ue) in ues.iter().enumerate() {
        reaches(ue, 1, GATEWAY).await.with_context(|| format!("UE {n} after the kill"))?;
    }
    deregister_all(&core, &ues.iter().collect::<Vec<_>>()).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_gnb_shares_ues_among_two_amfs_by_relative_capacity() {
    over_sqlite("amf-selection", 18, shared_ues);
}

/// Runs a command of `martlet`. Returns what it prints.
fn martlet(arguments: &[&str]) -> Result<String> {
    let done = Command::new(MARTLET).args(arguments).output()?;
    ensure!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8_lossy(&done.stdout).into())
}

/// Runs `check` until it is true.
async fn within(
    limit: Duration,
    what: &str,
    mut check: impl AsyncFnMut() -> Result<bool>,
) -> Result<()> {
    let give_up = tokio::time::Instant::now() + limit;
    while !check().await? {
        ensure!(tokio::time::Instant::now() < give_up, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn rebalanced(site: &Site) -> Result<()> {
    let core = start_split(site, "")?;
    let other = start_member(site, &core, "amf", "AMF", &second_amf("", "")).await?;
    let socket = site.0.join("other-amf-amf.sock").display().to_string();
    martlet(&["drain", "--at", &socket, "amf"])?;
    let mut config = gnb_config(1, "127.0.0.5:38412")?;
    config.further_amfs = vec!["127.0.0.6:38412".parse()?];
    let gnb = Gnb::connect(config).await?;
    let ues = (1..=20).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let addresses = with_sessions(&ues.iter().collect::<Vec<_>>()).await?;
    ensure!(served_by(&ues, 2).await? == 0, "a drained AMF gets no UE");
    for ue in &ues[16..] {
        ue.release_to_idle().await?;
    }
    let own = site.config().display().to_string();
    let answer = martlet(&["rebalance", "-c", &own])?;
    ensure!(answer.contains("no other AMF of the set can take UEs"), "{answer}");
    martlet(&["drain", "--undo", "--at", &socket, "amf"])?;
    // The other AMF stores its new capacity within a second.
    within(Duration::from_secs(10), "10 of 20 UEs are to move", async || {
        let answer = martlet(&["rebalance", "-c", &own])?;
        ensure!(answer.contains(" of 20 registered UEs"), "{answer}");
        Ok(answer.contains(" 10 of "))
    })
    .await?;
    // Half of the connected UEs have packets all the time.
    within(Duration::from_secs(60), "10 UEs at the other AMF", async || {
        for ue in &ues[..8] {
            reaches(ue, 1, GATEWAY).await?;
        }
        Ok(served_by(&ues, 2).await? == 10)
    })
    .await?;
    until(&core, "amf", "the AMF has the other half", |amf| amf["ues"]["registered"] == 10).await?;
    let mut idle = 0;
    for (n, ue) in ues.iter().enumerate() {
        let status = ue.status().await?;
        let is_moved = status.guti.is_some_and(|guti| guti.amf_pointer() == 2);
        if is_moved && !status.connected {
            // The other AMF pages it.
            let from = if n == 0 { 1 } else { 0 };
            until_reached((&ues[from], addresses[from]), (ue, addresses[n]), n as u16 + 1).await?;
            idle += 1;
        }
        // Neither registered again, nor with another session.
        ensure!(status.sessions.first().and_then(|it| it.ipv4) == Some(addresses[n]), "{n}");
        reaches(ue, 1, GATEWAY).await.with_context(|| format!("UE {n} after the move"))?;
    }
    println!("{idle} moved UEs were idle");
    ensure!(served_by(&ues, 2).await? == 10, "no UE returns");
    ensure!(status_of(&core, "amf")["ues"]["registered"] == 10);
    // A balanced set moves nothing.
    let answer = martlet(&["rebalance", "-c", &own])?;
    ensure!(answer.contains(" 0 of 10 "), "{answer}");
    deregister_all(&core, &ues.iter().collect::<Vec<_>>()).await?;
    // Region 1, set 1, pointer 2.
    other.kill()?;
    let answer = martlet(&["rebalance", "-c", &own])?;
    ensure!(answer.contains("AMF 010042 at 127.0.0."), "{answer}");
    ensure!(answer.contains(" does not answer: it gets no UEs"), "{answer}");
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn registered_ues_move_to_an_amf_below_its_share() {
    over_postgresql("amf-rebalancing", 20, async |site: &Site, _: &mut _| rebalanced(site).await);
}

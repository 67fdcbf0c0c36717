//! A gNB with two AMFs of a set selects one for each UE by relative capacity, and returns UEs to
//! the AMF of their 5G-S-TMSI (TS 23.501, 6.3.5). When that one is killed, its connected UEs are
//! served by the other.
use crate::nf_sets::{internet, over_sqlite, second_amf, start_member, start_split};
use crate::{MARTLET, Site, deregister_all, gnb_config, ue};
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

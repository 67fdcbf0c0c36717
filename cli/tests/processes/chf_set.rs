//! A CHF set of two over PostgreSQL: one is killed, and the other one takes its accounts and
//! records over within the requests that meet the failure (TS 23.501, 5.21.3; TS 32.290, 5.3.2.3).
use crate::nf_sets::{internet, over_postgresql, start_member, start_split, with_sessions};
use crate::redundancy::PROMISE;
use crate::rolling::martlet;
use crate::{Site, gnb, ue};
use anyhow::{Context, Result, ensure};
use martlet_ran::Ue;
use martlet_tests::{GATEWAY, reaches};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const UES: u64 = 6;
const QUOTA: u64 = 1_000_000;

/// The section `chf` of a member.
fn member(number: u8) -> String {
    format!(
        "chf: {{ enabled: true, quota: {QUOTA}, grant: 100000, set: {{ id: \"1\", member: \
         {number} }} }}\n"
    )
}

/// The accounts and records of the CHF at an OAM socket.
fn charging(socket: &Path) -> Result<Value> {
    let socket = socket.display().to_string();
    Ok(serde_json::from_str(&martlet(&["charging", "--json", "--at", &socket])?)?)
}

fn accounts(shown: &Value) -> usize {
    shown["accounts"].as_object().map_or(0, |all| all.len())
}

/// What UEs have used is charged once, and no record is missing.
fn check(shown: &Value, records_of_each: usize) -> Result<()> {
    ensure!(accounts(shown) == UES as usize, "{shown}");
    for (supi, account) in shown["accounts"].as_object().into_iter().flatten() {
        let bytes = |name: &str| account[name].as_u64().unwrap_or_default();
        let used = bytes("uplink") + bytes("downlink");
        ensure!(used > 0 && bytes("left") == QUOTA - used, "{supi}: {shown}");
        let all = shown["records"].as_array().into_iter().flatten();
        let of_ue: Vec<&Value> = all.filter(|record| record["supi"] == *supi).collect();
        ensure!(of_ue.len() == records_of_each, "{supi}: {shown}");
        ensure!(of_ue.iter().all(|record| record["ended"] != ""), "{supi}: {shown}");
    }
    Ok(())
}

/// Establishes a session and uses it within the promise.
async fn is_charged(ue: &Ue) -> Result<()> {
    let begun = Instant::now();
    ue.establish_pdu_session(internet()).await?;
    println!("session established in {:?}", begun.elapsed());
    ensure!(begun.elapsed() < PROMISE, "the session took {:?}", begun.elapsed());
    reaches(ue, 1, GATEWAY).await
}

async fn killed_chf(site: &Site) -> Result<()> {
    let of_core = member(1) + "smf: { charging: { mode: online, on_failure: refuse } }\n";
    let core = start_split(site, &of_core)?;
    let more = member(2) + "sbi: { chf: \"127.0.0.37:7777\" }\n";
    let other = start_member(site, &core, "chf", "CHF", &more).await?;
    let own_socket = site.0.join("oam-chf.sock");
    let other_socket = site.0.join("other-chf-chf.sock");
    let gnb = gnb().await?;
    let ues = (1..=UES).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    with_sessions(&ues.iter().collect::<Vec<_>>()).await?;
    for ue in &ues {
        reaches(ue, 1, GATEWAY).await?;
    }
    let (first, second) = (charging(&own_socket)?, charging(&other_socket)?);
    println!("{} and {} accounts", accounts(&first), accounts(&second));
    ensure!(accounts(&first) + accounts(&second) == UES as usize, "{first} {second}");
    ensure!(accounts(&second) > 0, "all accounts are at one member: {first}");
    // Changes within the flush interval are lost.
    tokio::time::sleep(Duration::from_millis(300)).await;

    other.kill()?;
    for ue in &ues {
        ue.release_pdu_session(1).await.context("the release")?;
        is_charged(ue).await.context("without the second CHF")?;
    }
    // The member that is back forwards requests about accounts that it has lost.
    let again = start_member(site, &core, "chf", "CHF", &more).await?;
    for ue in &ues {
        ue.release_pdu_session(1).await.context("the second release")?;
        is_charged(ue).await.context("with the second CHF again")?;
        ue.deregister().await?;
    }
    ensure!(accounts(&charging(&other_socket)?) == 0, "{}", charging(&other_socket)?);
    let refused = martlet(&[
        "charging",
        "--at",
        &other_socket.display().to_string(),
        "001010000000001",
        "--set",
        "5",
    ]);
    let error = refused.err().context("the account of another member was set")?;
    ensure!(error.to_string().contains("chf-1-1"), "{error}");
    check(&charging(&own_socket)?, 3)?;
    drop(again);
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn the_accounts_of_a_killed_chf_are_taken_over_by_another_member() {
    over_postgresql("chf-set", UES, async |site, _| killed_chf(site).await);
}

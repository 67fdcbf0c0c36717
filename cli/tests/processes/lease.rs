//! A member of an NF set is suspended, taken over by another member, and resumed: it neither sends
//! nor writes anything for the contexts that the other now owns (TS 23.501, 5.21.2 and 5.22).
use crate::nf_sets::{
    TwoAmfs, TwoSmfs, gnb_of_second_amf, over_postgresql, over_sqlite, second_amf, two_amfs,
    two_smfs, until_reached, with_sessions,
};
use crate::{Site, deregister_all, gnb_at, has_stored, status_of, ue, until};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_context_store::{ContextStoreConfig, PeerContexts, SetContexts, StoreError};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use serde_json::json;
use std::time::Duration;

/// The status of a function outside the core's process, at the address in its log.
fn status_of_member(site: &Site, name: &str) -> Result<serde_json::Value> {
    let log = std::fs::read_to_string(site.0.join(format!("other-{name}.log")))?;
    let ready = log
        .lines()
        .rev()
        .find(|line| line.contains("function ready"))
        .context("the function is ready")?;
    let oam = ready
        .split("oam=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .context("an address")?;
    let status = martlet_lab::status_at(std::path::Path::new(oam))?;
    Ok(status["nfs"][0]["status"].clone())
}

pub async fn until_member(
    site: &Site,
    name: &str,
    what: &str,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let status = status_of_member(site, name)?;
        if is(&status) {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The stored contexts of a function, without its own records and those of N2 associations.
fn stored_contexts(
    site: &Site,
    database: Option<&str>,
    function: &str,
    owner: &str,
) -> Result<Vec<String>> {
    let file = site.0.join("martlet.db").display().to_string();
    let key_file = site.0.join("operator.key").display().to_string();
    let mut config = ContextStoreConfig { key_file, ..ContextStoreConfig::default() };
    config.derive_database(database.unwrap_or(&file), "", function);
    let owner = owner.to_string();
    // The PostgreSQL client blocks in a runtime of its own.
    let read = std::thread::spawn(move || PeerContexts::open(&config, &owner)?.contexts());
    let stored_contexts = read.join().ok().context("it reads")??;
    let own = [function, "instance", "rebalancing"];
    let is_own = |id: &String| own.contains(&id.as_str()) || id.starts_with("n2/");
    Ok(stored_contexts.into_iter().map(|(id, _)| id).filter(|id| !is_own(id)).collect())
}

async fn suspended_amf(site: &Site, database: Option<&str>) -> Result<()> {
    let amfs = two_amfs(site, &second_amf("", ""), gnb_of_second_amf()?, 2).await?;
    let TwoAmfs { core, other, gnbs: (first, second), ues, addresses } = amfs;
    let [active, idle, late] = ues;
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "amf", "it has stored them", has_stored).await?;
    ensure!(
        stored_contexts(site, database, "amf", "amf-01-001-02")?.len() == 2,
        "the other AMF took both UEs over"
    );

    other.signal(SIGSTOP)?;
    first.lost().await;
    reaches(&active, 1, GATEWAY).await.context("the connected UE")?;
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 7)
        .await
        .context("the idle UE")?;
    until(&core, "amf", "both UEs stay registered", |amf| amf["ues"]["registered"] == 2).await?;

    other.signal(SIGCONT)?;
    // Its gNB has disconnected and timers have expired: the AMF would notify SMF and UDM if it
    // still owned the UEs.
    until_member(site, "amf", "it released its contexts", |amf| {
        amf["ues"]["registered"] == 0 && amf["ues"]["contexts"] == 0
    })
    .await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    ensure!(
        stored_contexts(site, database, "amf", "amf-01-001-02")?.is_empty(),
        "it writes no record of them"
    );
    ensure!(
        stored_contexts(site, database, "amf", "amf-01-001-00")?.len() == 2,
        "the records of the other member are unchanged"
    );
    ensure!(status_of(&core, "smf")["sessions"] == 2, "{}", status_of(&core, "smf"));
    reaches(&active, 1, GATEWAY).await.context("after the return")?;
    idle.release_to_idle().await?;
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 9)
        .await
        .context("paged by its new AMF")?;
    // It serves UEs as before.
    let again = first.connect_again().await?;
    late.move_to(&again).await?;
    late.register().await?;
    until_member(site, "amf", "it serves another UE", |amf| amf["ues"]["registered"] == 1).await?;
    deregister_all(&core, &[&active, &idle, &late]).await?;
    second.shutdown().await;
    again.shutdown().await;
    core.stop()
}

#[test]
fn a_suspended_amf_leaves_its_ues_to_the_amf_that_took_over() {
    over_sqlite("amf-lease", 3, async |site| suspended_amf(site, None).await);
}

#[test]
fn a_suspended_amf_leaves_its_ues_to_the_amf_that_took_over_on_postgresql() {
    over_postgresql("amf-lease-pg", 3, async |site, server| {
        suspended_amf(site, Some(&server.url())).await
    });
}

async fn suspended_smf(site: &Site, database: Option<&str>) -> Result<()> {
    let TwoSmfs { core, other, .. } = two_smfs(site).await?;
    let gnb = gnb_at(1, "127.0.0.5:38412").await?;
    let (active, idle) = (ue(&gnb, 1)?, ue(&gnb, 2)?);
    let addresses = with_sessions(&[&active, &idle]).await?;
    reaches(&active, 1, GATEWAY).await?;
    idle.release_to_idle().await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "smf", "it has stored them", has_stored).await?;
    ensure!(
        stored_contexts(site, database, "smf", "smf-1-2")?.len() == 2,
        "the other SMF took both sessions over"
    );

    other.signal(SIGSTOP)?;
    until(&core, "smf", "the sessions are taken over", |smf| smf["sessions"] == 2).await?;
    active.release_to_idle().await.context("the release")?;
    reaches(&active, 1, GATEWAY).await.context("the session at the other SMF")?;

    other.signal(SIGCONT)?;
    until_member(site, "smf", "it released its contexts", |smf| smf["sessions"] == 0).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    ensure!(
        stored_contexts(site, database, "smf", "smf-1-2")?.is_empty(),
        "it writes no record of them"
    );
    ensure!(
        stored_contexts(site, database, "smf", "smf-1-1")?.len() == 2,
        "the records of the other member are unchanged"
    );
    ensure!(status_of(&core, "upf")["sessionCount"] == 2, "{}", status_of(&core, "upf"));
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 7)
        .await
        .context("the idle UE")?;
    let used = |smf: &serde_json::Value| smf["addresses"]["internet"]["used"].clone();
    ensure!(used(&status_of_member(site, "smf")?) == 2, "the addresses stay in use");
    deregister_all(&core, &[&active, &idle]).await?;
    until_member(site, "smf", "the addresses are free again", |smf| used(smf) == 0).await?;
    gnb.shutdown().await;
    core.stop()
}

/// The PCF answers the release of a session late, and another SMF takes the session over meanwhile,
/// as if this one were suspended. The session's address is in use there.
#[test]
fn a_session_that_is_taken_over_during_its_release_keeps_its_address() {
    const DELETE: &str = "npcf-smpolicycontrol DeleteSMPolicy";
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.smf.set = serde_json::from_value(json!({"id": "1", "member": 0})).ok();
            config.smf.context_store.lease_ms = 200;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let used = || core.status("smf")["addresses"]["internet"]["used"].clone();
        ensure!(used() == 1, "{}", core.status("smf"));
        core.sbi_gate.close(DELETE, 0);
        ue.deregister().await?;
        let held = || (core.sbi_gate.held(DELETE) == 1).then_some(());
        eventually("the SMF releases the session", held, String::new).await?;
        let mut store = core.config().smf.context_store.clone();
        store.derive_database(&core.config().udr.path, &core.config().udr.key_file, "smf");
        // Each attempt waits until the lease has expired.
        let take_over = move || {
            let peer = SetContexts::open(&store, Some("smf-1-1"))?.peer("smf-1-0");
            for _ in 0..50 {
                let ids = peer.contexts()?.into_iter().map(|(id, _)| id);
                let ids: Vec<String> = ids.filter(|id| id != "smf").collect();
                let taken = peer.take_over_all(&ids)?;
                if !taken.is_empty() {
                    return Ok(taken.len());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            Ok::<_, StoreError>(0)
        };
        let taken = tokio::task::spawn_blocking(take_over).await??;
        ensure!(taken == 1, "{taken} sessions are taken over");
        core.sbi_gate.open();
        let ended = || (core.status("smf")["sessions"] == 0).then_some(());
        eventually("the release ends", ended, || core.status("smf").to_string()).await?;
        ensure!(used() == 1, "the address is free: {}", core.status("smf"));
        Ok(())
    });
}

#[test]
fn a_suspended_smf_leaves_its_sessions_to_the_smf_that_took_over() {
    over_sqlite("smf-lease", 2, async |site| suspended_smf(site, None).await);
}

#[test]
fn a_suspended_smf_leaves_its_sessions_to_the_smf_that_took_over_on_postgresql() {
    over_postgresql("smf-lease-pg", 2, async |site, server| {
        suspended_smf(site, Some(&server.url())).await
    });
}

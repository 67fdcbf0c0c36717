//! An AMF of a set is cut off from the database: it sends its gNBs to the other AMF, and serves
//! again when it can renew its lease (TS 23.501, 5.21.2.2; TS 38.413, 8.7.6).
use crate::nf_sets::{
    TwoAmfs, network_from, over_postgresql, second_amf, start_member, start_split, two_amfs,
    until_reached,
};
use crate::relay::Relay;
use crate::{Site, deregister_all, gnb_config, ue, until};
use anyhow::{Context, Result, ensure};
use martlet_ran::Gnb;
use martlet_store::testing::TestPostgres;
use martlet_tests::{GATEWAY, reaches};
use std::time::{Duration, Instant};

async fn cut_off_amf(site: &Site, server: &TestPostgres) -> Result<()> {
    let relay = Relay::to(server, &site.0.join("relay"))?;
    let key_file = site.0.join("operator.key");
    let store =
        format!("  context_store: {{ database: {:?}, key_file: {key_file:?} }}\n", relay.url());
    let config = second_amf(", cut_off_ms: 1000", &store);
    let amfs = two_amfs(site, &config, gnb_config(1, "127.0.0.6:38412")?, 2).await?;
    let TwoAmfs { core, other, gnbs: (first, second), ues, addresses } = amfs;
    let [active, idle, late] = ues;
    // Both members know of each other, and the contexts are stored.
    tokio::time::sleep(Duration::from_secs(4)).await;

    relay.cut();
    let begun = Instant::now();
    first.lost().await;
    println!("associations closed {:?} after the AMF was cut off", begun.elapsed());
    ensure!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    reaches(&active, 1, GATEWAY).await.context("the connected UE, at the other AMF")?;
    println!("the connected UE is served {:?} after the cut", begun.elapsed());
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 7)
        .await
        .context("the idle UE, paged by the other AMF")?;
    until(&core, "amf", "both UEs are registered there", |amf| amf["ues"]["registered"] == 2)
        .await?;
    // A function without AMF and SMF shows what the AMF lacks, and the gNB at the other one.
    let shown = network_from(&site.0.join("oam-udm.sock")).await?;
    // The first table has the functions.
    let functions = shown.split("\n\n").next().unwrap_or_default();
    let amfs: Vec<_> = functions.lines().filter(|line| line.starts_with("AMF")).collect();
    let lacking: Vec<_> = amfs.iter().filter(|it| it.contains("not ready: database")).collect();
    ensure!(amfs.len() == 2 && lacking.len() == 1, "{shown}");
    ensure!(lacking[0].contains("SUSPENDED"), "{shown}");
    let is_gnb = |line: &str| line.starts_with("gnb-1") && line.contains(" 00101-1 ");
    ensure!(shown.lines().any(is_gnb), "{shown}");
    ensure!(shown.lines().any(|it| it.contains(":8805") && it.contains(" associated")), "{shown}");
    // It refuses gNBs until it has the database again.
    ensure!(first.connect_again().await.is_err(), "a new association is refused");
    relay.restore()?;
    let give_up = Instant::now() + Duration::from_secs(60);
    let again = loop {
        match first.connect_again().await {
            Ok(again) => break again,
            Err(error) => ensure!(Instant::now() < give_up, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    late.move_to(&again).await?;
    late.register().await.context("a UE at the AMF that is back")?;
    deregister_all(&core, &[&active, &idle, &late]).await?;
    drop(other);
    second.shutdown().await;
    again.shutdown().await;
    core.stop()
}

#[test]
fn an_amf_that_is_cut_off_from_the_database_sends_its_gnbs_to_the_other_member() {
    over_postgresql("cut-off", 3, async |site, server| cut_off_amf(site, server).await);
}

/// Without the database for all members, closing associations would help no UE.
#[test]
fn an_outage_of_the_database_for_the_whole_set_closes_no_association() {
    over_postgresql("outage-set", 2, async |site, server| {
        let core = start_split(site, "")?;
        let config = second_amf(", cut_off_ms: 1500", "");
        let other = start_member(site, &core, "amf", "AMF", &config).await?;
        let first = Gnb::connect(gnb_config(1, "127.0.0.6:38412")?).await?;
        let ue = ue(&first, 1)?;
        ue.register().await?;
        tokio::time::sleep(Duration::from_secs(4)).await;
        server.stop();
        let lost = tokio::time::timeout(Duration::from_secs(6), first.lost()).await;
        ensure!(lost.is_err(), "the association was closed: {lost:?}");
        server.restart()?;
        ue.deregister().await.context("after the outage")?;
        drop(other);
        first.shutdown().await;
        core.stop()
    });
}

//! `martlet subscriber remove` while the core runs: the subscriber gets no further authentication
//! vector, however soon it registers.
use crate::nf_sets::LIMIT;
use crate::{MARTLET, Site, gnb, ue};
use anyhow::{Result, ensure};
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace_within;
use std::process::Command;

fn remove(site: &Site, n: u64) -> Result<()> {
    let supi = format!("imsi-{:015}", 1_010_000_000_000 + n);
    let config = site.config().display().to_string();
    let removed =
        Command::new(MARTLET).args(["subscriber", "remove", "-c", &config, &supi]).output()?;
    ensure!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    Ok(())
}

async fn removed_subscribers_are_rejected_at_once(site: &Site) -> Result<()> {
    site.subscribe(3, 3)?;
    let core = site.start(&["--split", "--sbi", "http"])?;
    let gnb = gnb().await?;
    for n in 1..=5 {
        // The UDR has the subscriber in its cache, and over PostgreSQL a block of sequence numbers.
        let registered = ue(&gnb, n)?;
        registered.register().await?;
        registered.deregister().await?;
        remove(site, n)?;
        // Without the security context of before, so that it has to be authenticated.
        match ue(&gnb, n)?.register().await {
            Ok(_) => anyhow::bail!("subscriber {n} was registered after its removal"),
            // Illegal UE (TS 24.501, 9.11.3.2).
            Err(error) => ensure!(error.cause() == Some(3), "{error}"),
        }
    }
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_subscriber_removed_from_postgresql_is_rejected_at_once() {
    in_namespace_within(LIMIT, || async {
        let Some(server) = TestPostgres::start("removal")? else { return Ok(()) };
        let site = Site::on("removal-postgresql", Some(&server.url()))?;
        removed_subscribers_are_rejected_at_once(&site).await
    });
}

#[test]
fn a_subscriber_removed_from_an_sqlite_file_is_rejected_at_once() {
    in_namespace_within(LIMIT, || async {
        let site = Site::new("removal-sqlite")?;
        removed_subscribers_are_rejected_at_once(&site).await
    });
}

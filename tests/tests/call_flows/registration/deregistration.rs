//! Deregistration by the UE (TS 23.502, 4.2.2.3.2; TS 24.501, 5.5.2.2).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace};

#[test]
fn switch_off_releases_all_resources() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.switch_off().await?;
        core.until_all_released().await?;
        ensure!(gnb.ue_counts() == (0, 0), "the gNB still has a context: {:?}", gnb.ue_counts());
        core.sbi_record.check(&["nsmf-pdusession ReleaseSmContext"]).await
    });
}

#[test]
fn idle_ue_deregisters() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        let (two, _) = core.ue_with_session(&gnb, 2).await?;
        one.release_to_idle().await?;
        two.release_to_idle().await?;
        one.deregister().await?;
        two.switch_off().await?;
        core.until_all_released().await
    });
}

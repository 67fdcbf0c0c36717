//! Deregistration by the UE (TS 23.502, 4.2.2.3.2; TS 24.501, 5.5.2.2) and by the network at the
//! request of the UDM (TS 23.502, 4.2.2.3.3; TS 24.501, 5.5.2.3).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::MmState;
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

#[test]
fn udm_deregisters_connected_and_idle_ues_without_a_subscription() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (connected, _) = core.ue_with_session(&gnb, 1).await?;
        let (idle, _) = core.ue_with_session(&gnb, 2).await?;
        idle.release_to_idle().await?;
        core.unsubscribe(1)?;
        core.unsubscribe(2)?;
        core.until_all_released().await?;
        for ue in [&connected, &idle] {
            // The UE has received DEREGISTRATION REQUEST, the idle one after it was paged.
            let status = ue.status().await?;
            ensure!(status.state == MmState::Deregistered, "{status:?}");
            ensure!(ue.register().await.is_err(), "a UE without a subscription registered");
        }
        core.sbi_record
            .check(&["namf-callback SdmChangeNotify", "nsmf-pdusession ReleaseSmContext"])
            .await
    });
}

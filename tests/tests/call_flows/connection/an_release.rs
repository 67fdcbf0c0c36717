//! AN release (TS 23.502, 4.2.6).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

/// The gNB requests the release. The session stays, without a tunnel to the gNB.
#[test]
fn released_ue_is_idle_and_keeps_its_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let buffers = || core.status("upf")["sessions"][0]["buffers"] == true;
        ensure!(!buffers(), "downlink is buffered: {}", core.status("upf"));
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE with its session", |counts| {
            (counts.registered, counts.connected, counts.sessions, counts.user_planes)
                == (1, 0, 1, 1)
        })
        .await?;
        ensure!(buffers(), "downlink is not buffered: {}", core.status("upf"));
        ensure!(gnb.ue_counts().0 == 0, "the UE is still connected: {:?}", gnb.ue_counts());
        ue.service_request().await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.sbi_record.check(&["nsmf-pdusession UpdateSmContext"]).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

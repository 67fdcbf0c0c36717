//! Implicit deregistration (TS 23.502, 4.2.2.3.3; TS 24.501, 5.3.7).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace};

#[test]
fn unreachable_ue_is_implicitly_deregistered() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3512_s = 1;
            config.amf.timers.mobile_reachable_s = 0;
            config.amf.timers.implicit_deregistration_s = 1;
            config.amf.timers.deregistered_s = 0;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // The gNB loses the UE and requests the release of its context.
        drop(ue);
        core.until("the UE is in CM-IDLE", |counts| {
            (counts.registered, counts.connected) == (1, 0)
        })
        .await?;
        ensure!(
            (core.counts().sessions, core.counts().user_planes) == (1, 1),
            "the session is released too early: {:?}",
            core.counts()
        );
        ensure!(gnb.ue_counts() == (0, 0), "the gNB still has a context: {:?}", gnb.ue_counts());
        core.until_all_released().await?;
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await?;
        core.sbi_record.check(&["nudm-uecm Update3GppRegistration"]).await
    });
}

//! AN release (TS 23.502, 4.2.6) and implicit deregistration (TS 24.501, 5.3.7).
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
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        // The gNB loses it, and asks for the release of its context.
        drop(phone);
        core.until("the phone is idle", |counts| (counts.registered, counts.connected) == (1, 0))
            .await?;
        ensure!(
            (core.counts().sessions, core.counts().user_planes) == (1, 1),
            "its session waits: {:?}",
            core.counts()
        );
        ensure!(gnb.ue_counts() == (0, 0), "the gNB has let go of it: {:?}", gnb.ue_counts());
        core.until_nothing_is_left().await?;
        core.until("the AMF keeps no context of it", |counts| counts.contexts == 0).await?;
        core.bodies.check(&["nudm-uecm Update3GppRegistration"]).await
    });
}

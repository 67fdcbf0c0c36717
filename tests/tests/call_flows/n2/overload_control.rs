//! Overload start and stop (TS 38.413, 8.7.7 and 8.7.8).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};

#[test]
fn overload_start_and_stop_are_sent_to_every_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.limits.max_ues = 1;
            config.amf.limits.overload_ms = 1200;
            config.amf.limits.back_off_s = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ensure!(!gnb.is_overloaded());
        let refused =
            gnb.new_ue(core.ue_config(2))?.register().await.err().and_then(|error| error.cause());
        ensure!(refused == Some(22), "{refused:?}");
        eventually(
            "OVERLOAD START",
            || gnb.is_overloaded().then_some(()),
            || "not received".into(),
        )
        .await?;
        // A gNB that connects during the overload receives it, too.
        let other = core.gnb(2).await?;
        eventually(
            "OVERLOAD START",
            || other.is_overloaded().then_some(()),
            || "not received".into(),
        )
        .await?;
        let over = || (!gnb.is_overloaded() && !other.is_overloaded()).then_some(());
        eventually("OVERLOAD STOP", over, || "not received".into()).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

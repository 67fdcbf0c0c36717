//! N4 session release (TS 23.502, 4.4.1.4; TS 29.244, 6.3.4).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{SeparateUpf, TestCore, in_namespace};

#[test]
fn session_released_during_an_n4_outage_is_deleted_afterwards() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            // The association outlives the outage.
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        upf.until_sessions(1).await?;
        let filter = martlet_tests::PacketFilter::drop_udp_port(8805)?;
        ue.deregister().await?;
        core.until_all_released().await?;
        ensure!(
            upf.status()["sessionCount"] == 1,
            "the UPF received the deletion: {}",
            upf.status()
        );
        drop(filter);
        upf.until_sessions(0).await
    });
}

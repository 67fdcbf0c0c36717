//! AMF status indication (TS 38.413, 8.7.6).
use martlet::core::Sbi;
use martlet_tests::{TestCore, eventually, in_namespace};

#[test]
fn amf_status_indication_is_sent_at_shutdown() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        core.core.shut_down();
        eventually(
            "AMF STATUS INDICATION",
            || (gnb.unavailable_guamis() == 1).then_some(()),
            || format!("{} GUAMIs", gnb.unavailable_guamis()),
        )
        .await?;
        gnb.lost().await;
        Ok(())
    });
}

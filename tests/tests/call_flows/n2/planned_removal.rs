//! AMF planned removal (TS 23.501, 5.21.2.2.1).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use std::time::Duration;

/// The AMF makes itself unavailable at its gNBs and releases the connections of its UEs. Another
/// AMF of the set serves them.
#[test]
fn connected_ue_is_released_before_its_amf_stops() {
    in_namespace(|| async {
        // In one process an AMF cannot stop alone.
        let core = TestCore::start_on(Sbi::Http, |config| {
            let database = std::path::Path::new(&config.udr.path).with_file_name("amf-set.db");
            config.amf.context_store.database = database.display().to_string();
        })
        .await?;
        let database = core.config().amf.context_store.database.clone();
        let second = core.second_amf(|config| config.amf.context_store.database = database).await?;
        let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
        let (ue, _) = core.ue_with_session(&there, 1).await?;
        let authenticated = core.stored_sqn(1)?;
        reaches(&ue, 1, GATEWAY).await?;
        // Each member has seen the other in the context store.
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(second);
        tokio::time::timeout(Duration::from_secs(60), ue.wait_idle()).await??;
        ensure!(there.unavailable_guamis() == 1, "{} GUAMIs", there.unavailable_guamis());
        there.lost().await;
        ue.move_to(&here).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.stored_sqn(1)? == authenticated, "the UE was authenticated again");
        ue.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

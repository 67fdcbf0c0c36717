//! Another AMF of the set takes over the UEs of one that stopped (TS 23.501, 5.21.2).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};

/// The AMFs of a set share a context database.
#[test]
fn ue_of_a_stopped_amf_is_served_by_another_amf_of_the_set() {
    in_namespace(|| async {
        // In one process an AMF cannot stop alone.
        let core = TestCore::start_on(Sbi::Http, |config| {
            let place = std::path::Path::new(&config.udr.path).with_file_name("amf-set.db");
            config.amf.context_store.database = place.display().to_string();
        })
        .await?;
        let place = core.config().amf.context_store.database.clone();
        let second = core.second_amf(|config| config.amf.context_store.database = place).await?;
        let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
        let (ue, _) = core.ue_with_session(&there, 1).await?;
        let authenticated = core.stored_sqn(1)?;
        ue.release_to_idle().await?;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let stored = || (second.unwritten() == 0).then_some(());
        eventually("the UE is stored", stored, || second.unwritten().to_string()).await?;
        drop(second);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        ue.move_to(&here).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.stored_sqn(1)? == authenticated, "the UE was authenticated again");
        ue.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

//! Mobility and periodic registration update (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1.3).
use crate::registration::initial::AUTHENTICATE;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::RegistrationType;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

#[test]
fn mobility_and_periodic_registration_keep_the_sessions() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.release_to_idle().await?;
        ue.move_to(&other).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let remote = core.status("upf")["sessions"][0]["remote"].to_string();
        let there = core.gnb_config(2).n3.map(|address| format!("@{address}")).unwrap_or_default();
        ensure!(remote.contains(&there), "downlink is sent to {remote}");
        // A periodic update changes nothing.
        ue.release_to_idle().await?;
        ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.sbi_record.calls(AUTHENTICATE) == 1, "the UE was authenticated again");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

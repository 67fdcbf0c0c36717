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
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.move_to(&other).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        let remote = core.status("upf")["sessions"][0]["remote"].to_string();
        let there = core.gnb_config(2).n3.map(|address| format!("@{address}")).unwrap_or_default();
        ensure!(remote.contains(&there), "downlink goes to the other gNB: {remote}");
        // The periodic one changes nothing.
        phone.release_to_idle().await?;
        phone.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(core.bodies.calls(AUTHENTICATE) == 1, "one authentication is enough");
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

//! Initial, mobility and periodic registration (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1.2 and
//! 5.5.1.3).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::RegistrationType;
use martlet_ran::ue::PduSessionRequest;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

pub const AUTHENTICATE: &str = "nausf-auth Authenticate";

#[test]
fn ten_ues_register_concurrently() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=10 {
            let ue = gnb.new_ue(core.ue_config(n))?;
            tasks.spawn(async move {
                ue.register().await?;
                ue.establish_pdu_session(internet()).await?;
                ue.deregister().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        core.until_all_released().await
    });
}

#[test]
fn initial_registration_of_a_connected_ue_releases_its_sessions() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.register().await?;
        ensure!(ue.status().await?.active_user_planes.is_empty(), "the gNB still has the session");
        core.until("no session is left", |counts| (counts.sessions, counts.user_planes) == (0, 0))
            .await?;
        // The gNB would reject the setup if it still had the session.
        ue.establish_pdu_session(PduSessionRequest { psi: Some(1), ..internet() }).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

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

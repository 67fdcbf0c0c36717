//! A UPF that starts anew, or is out of reach for a while: phones notice nothing (TS 23.527, 4.3;
//! TS 29.244, 6.2).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_tests::{
    GATEWAY, Growth, OwnUpf, TestCore, eventually, in_namespace, ping, reaches, sequence_of,
};

const RESTORED: (&str, [(&str, &str); 2]) =
    ("martlet_smf_procedures_total", [("procedure", "user_plane_restoration"), ("result", "ok")]);

/// Waits until the UPF has so many sessions.
async fn until_sessions(upf: &OwnUpf, wanted: u64) -> Result<()> {
    let there = || (upf.status()["sessionCount"] == wanted).then_some(());
    eventually("the UPF has its sessions", there, || upf.status().to_string()).await
}

#[test]
fn phones_go_on_after_a_restart_of_their_upf() {
    in_namespace(|| async {
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Http, |config| {
            OwnUpf::instead(config);
            config.smf.n4.heartbeat_s = 1;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (active, from) = core.phone_with_session(&gnb, 1).await?;
        let (idle, to) = core.phone_with_session(&gnb, 2).await?;
        reaches(&active, 1, GATEWAY).await?;
        idle.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        let before = (active.status().await?, idle.status().await?);
        let teids = |upf: &OwnUpf| -> Vec<String> {
            let sessions = upf.status()["sessions"].as_array().cloned().unwrap_or_default();
            let mut teids: Vec<_> =
                sessions.iter().map(|session| session["localTeids"].to_string()).collect();
            teids.sort();
            teids
        };
        let tunnels = teids(&upf);
        let (noticed, restored) = (
            Growth::of("martlet_smf_n4_total", &[("event", "upf restarted")]),
            Growth::of(RESTORED.0, &RESTORED.1),
        );

        let upf = upf.restart().await?;
        ensure!(upf.status()["sessionCount"] == 0, "it has lost everything");
        // A heartbeat tells the SMF.
        until_sessions(&upf, 2).await?;
        ensure!(teids(&upf) == tunnels, "gNBs go on with their tunnels");
        // Counted once the UPF's answers are there.
        let counted = || (noticed.so_far() >= 1.0 && restored.so_far() >= 2.0).then_some(());
        eventually("it is counted", counted, || {
            format!("{} and {}", noticed.so_far(), restored.so_far())
        })
        .await?;
        reaches(&active, 1, GATEWAY).await?;
        // The idle one is still idle: what comes for it waits and pages it.
        active.send_ip(1, ping(from, to, 7)).await?;
        let (_, packet) = idle.recv_ip().await?;
        ensure!(sequence_of(&packet) == Some(7), "{packet:02x?}");
        let after = (active.status().await?, idle.status().await?);
        ensure!(
            after.0 == before.0 && after.1.sessions == before.1.sessions,
            "{before:?} and then {after:?}"
        );
        active.deregister().await?;
        idle.deregister().await?;
        core.until("the sessions are gone", |counts| (counts.sessions, counts.addresses) == (0, 0))
            .await?;
        until_sessions(&upf, 0).await
    });
}

#[test]
fn a_phone_that_comes_back_finds_out_that_the_upf_has_lost_its_session() {
    in_namespace(|| async {
        let upf = OwnUpf::start().await?;
        // No heartbeat comes in time.
        let core = TestCore::start(Sbi::Local, |config| {
            OwnUpf::instead(config);
            config.smf.n4.heartbeat_s = 3600;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.phone(1);
        config.idle = IdleBehaviour::Manual;
        let one = gnb.new_ue(config)?;
        core.register_with_session(&one).await?;
        let (two, _) = core.phone_with_session(&gnb, 2).await?;
        one.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        let upf = upf.restart().await?;
        one.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&one, 1, GATEWAY).await?;
        // The association is set up anew, and with it the other phone's session.
        reaches(&two, 1, GATEWAY).await?;
        until_sessions(&upf, 2).await
    });
}

#[test]
fn a_upf_out_of_reach_refuses_new_sessions_and_keeps_the_others() {
    in_namespace(|| async {
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            OwnUpf::instead(config);
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        reaches(&one, 1, GATEWAY).await?;
        let wall = martlet_tests::Wall::before_udp_port(8805)?;
        let associated = |wanted: bool| {
            let core = &core;
            move || (core.status("smf")["upfs"][0]["associated"] == wanted).then_some(())
        };
        eventually("the UPF is lost", associated(false), || core.status("smf").to_string()).await?;
        let two = gnb.new_ue(core.phone(2))?;
        two.register().await?;
        let refused = two.establish_pdu_session(martlet_tests::internet()).await;
        ensure!(
            refused.as_ref().is_err_and(|e| e.cause() == Some(38)),
            "network failure: {refused:?}"
        );
        reaches(&one, 1, GATEWAY).await?;
        drop(wall);
        eventually("the UPF is back", associated(true), || core.status("smf").to_string()).await?;
        until_sessions(&upf, 1).await?;
        reaches(&one, 1, GATEWAY).await?;
        core.use_session_and_leave(&two).await?;
        ensure!(core.counts().sessions == 1 && core.counts().addresses == 1, "{:?}", core.counts());
        Ok(())
    });
}

#[test]
fn a_upf_that_is_about_to_end_lets_phones_move_away_first() {
    in_namespace(|| async {
        let upf = OwnUpf::start_with(|config| config.n4.release_s = 60).await?;
        let core = TestCore::start(Sbi::Local, OwnUpf::instead).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        let (two, _) = core.phone_with_session(&gnb, 2).await?;
        reaches(&one, 1, GATEWAY).await?;
        until_sessions(&upf, 2).await?;
        let asked = Growth::of("martlet_smf_n4_total", &[("event", "upf leaves")]);
        // It ends when the last session is gone, long before the time that it gives.
        tokio::time::timeout(std::time::Duration::from_secs(30), upf.leave()).await??;
        ensure!(asked.so_far() >= 1.0, "the SMF was asked");
        core.until("the sessions are gone", |counts| (counts.sessions, counts.addresses) == (0, 0))
            .await?;
        ensure!(core.status("smf")["upfs"][0]["associated"] == false);
        // Phones were told to make their sessions anew, which another UPF at the same place serves.
        let upf = OwnUpf::start().await?;
        let there = || (core.status("smf")["upfs"][0]["associated"] == true).then_some(());
        eventually("the next UPF is associated", there, || core.status("smf").to_string()).await?;
        for phone in [&one, &two] {
            core.use_session_and_leave(phone).await?;
        }
        until_sessions(&upf, 0).await
    });
}

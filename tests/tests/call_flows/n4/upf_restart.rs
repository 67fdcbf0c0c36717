//! Restart of a UPF (TS 23.527, 4.3).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_tests::{
    GATEWAY, Growth, OwnUpf, TestCore, eventually, in_namespace, ping, reaches, sequence_of,
};

const RESTORED: (&str, [(&str, &str); 2]) =
    ("martlet_smf_procedures_total", [("procedure", "user_plane_restoration"), ("result", "ok")]);

#[test]
fn sessions_are_restored_after_a_upf_restart() {
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
        upf.until_sessions(2).await?;
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
        upf.until_sessions(0).await
    });
}

#[test]
fn service_request_detects_a_lost_upf_session() {
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
        upf.until_sessions(2).await
    });
}

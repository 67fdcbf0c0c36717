//! Restart of a UPF (TS 23.527, 4.3).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_tests::{
    GATEWAY, MetricDelta, SeparateUpf, TestCore, eventually, in_namespace, ping, reaches,
    sequence_of,
};

const RESTORED: (&str, [(&str, &str); 2]) =
    ("martlet_smf_procedures_total", [("procedure", "user_plane_restoration"), ("result", "ok")]);

#[test]
fn sessions_are_restored_after_a_upf_restart() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Http, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.n4.heartbeat_s = 1;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (active, from) = core.ue_with_session(&gnb, 1).await?;
        let (idle, to) = core.ue_with_session(&gnb, 2).await?;
        reaches(&active, 1, GATEWAY).await?;
        idle.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        let before = (active.status().await?, idle.status().await?);
        let teids = |upf: &SeparateUpf| -> Vec<String> {
            let sessions = upf.status()["sessions"].as_array().cloned().unwrap_or_default();
            let mut teids: Vec<_> =
                sessions.iter().map(|session| session["localTeids"].to_string()).collect();
            teids.sort();
            teids
        };
        let tunnels = teids(&upf);
        let (detected, restored) = (
            MetricDelta::of("martlet_smf_n4_total", &[("event", "upf restarted")]),
            MetricDelta::of(RESTORED.0, &RESTORED.1),
        );

        let upf = upf.restart().await?;
        ensure!(upf.status()["sessionCount"] == 0, "the UPF still has sessions");
        // The SMF detects the restart by a heartbeat.
        upf.until_sessions(2).await?;
        ensure!(teids(&upf) == tunnels, "the tunnels changed");
        // Counted when the answers of the UPF have arrived.
        let counted = || (detected.get() >= 1.0 && restored.get() >= 2.0).then_some(());
        eventually("the restoration is counted", counted, || {
            format!("{} and {}", detected.get(), restored.get())
        })
        .await?;
        reaches(&active, 1, GATEWAY).await?;
        // The idle UE is still idle: packets for it are buffered and page it.
        active.send_ip(1, ping(from, to, 7)).await?;
        let (_, packet) = idle.recv_ip().await?;
        ensure!(sequence_of(&packet) == Some(7), "{packet:02x?}");
        let after = (active.status().await?, idle.status().await?);
        ensure!(
            after.0 == before.0 && after.1.sessions == before.1.sessions,
            "{before:?} became {after:?}"
        );
        active.deregister().await?;
        idle.deregister().await?;
        core.until("the sessions are released", |counts| {
            (counts.sessions, counts.addresses) == (0, 0)
        })
        .await?;
        upf.until_sessions(0).await
    });
}

#[test]
fn service_request_detects_a_lost_upf_session() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        // No heartbeat during the test.
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.n4.heartbeat_s = 3600;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.idle = IdleBehaviour::Manual;
        let one = gnb.new_ue(config)?;
        core.register_with_session(&one).await?;
        let (two, _) = core.ue_with_session(&gnb, 2).await?;
        one.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        let upf = upf.restart().await?;
        one.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&one, 1, GATEWAY).await?;
        // The association is set up again and the session of the other UE restored.
        reaches(&two, 1, GATEWAY).await?;
        upf.until_sessions(2).await
    });
}

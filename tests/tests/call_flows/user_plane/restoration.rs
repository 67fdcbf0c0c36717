//! Restart of a UPF, and sessions after an interruption of N4 (TS 23.527, 4.3).
use anyhow::ensure;
use futures_util::future::join_all;
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_tests::{
    GATEWAY, MetricDelta, PacketFilter, SeparateUpf, TestCore, eventually, in_namespace, ping,
    reaches, sequence_of,
};
use std::time::Duration;

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

/// The UPF is started again with another address of N3.
#[test]
fn sessions_are_restored_at_another_address_of_n3() {
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

        let upf =
            upf.restart_as(|config| config.n3.address = ([127, 0, 0, 109], 2152).into()).await?;
        upf.until_sessions(2).await?;
        // The gNB gets the new endpoint at once, and that of the idle UE with its paging.
        reaches(&active, 1, GATEWAY).await?;
        active.send_ip(1, ping(from, to, 7)).await?;
        let (_, packet) = idle.recv_ip().await?;
        ensure!(sequence_of(&packet) == Some(7), "{packet:02x?}");
        active.deregister().await?;
        idle.deregister().await?;
        core.until_all_released().await?;
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

/// Requests that reach the UPF after the setup of the association, and before the restoration, do
/// not end their sessions.
#[test]
fn sessions_that_are_modified_after_an_interruption_of_n4_are_restored() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 20);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut ues = Vec::new();
        for n in 1..=5 {
            ues.push(core.ue_with_session(&gnb, n).await?.0);
        }
        let restored = MetricDelta::of(RESTORED.0, &RESTORED.1);
        let filter = PacketFilter::drop_udp_port(8805)?;
        let lost = || (core.status("smf")["upfs"][0]["associated"] == false).then_some(());
        eventually("the association is lost", lost, || core.status("smf").to_string()).await?;
        // The transmissions of these requests are spread over those of the setup.
        let idle = ues.iter().zip(0_u64..).map(|(ue, n)| async move {
            tokio::time::sleep(Duration::from_millis(20 * n)).await;
            ue.release_to_idle().await
        });
        let connected = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            drop(filter);
        };
        let (idle, ()) = tokio::join!(join_all(idle), connected);
        for outcome in idle {
            outcome?;
        }
        let all = || (restored.get() >= 5.0).then_some(());
        eventually("the sessions are restored", all, || restored.get().to_string()).await?;
        ensure!(core.counts().sessions == 5, "{:?}", core.counts());
        for ue in &ues {
            ue.service_request().await?;
            reaches(ue, 1, GATEWAY).await?;
            ue.deregister().await?;
        }
        core.until("the sessions are released", |counts| {
            (counts.sessions, counts.addresses) == (0, 0)
        })
        .await?;
        upf.until_sessions(0).await
    });
}

//! Graceful release of an N4 association (TS 29.244, 6.2.8 and 5.18).
use super::upf_failover::until_packet_passes;
use crate::session::{until_both_upfs_are_associated, with_second_upf};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{
    GATEWAY, MetricDelta, SeparateUpf, TestCore, eventually, in_namespace, reaches,
};

#[test]
fn sessions_leave_a_upf_before_it_stops() {
    in_namespace(|| async {
        let upf = SeparateUpf::start_with(|config| config.n4.graceful_release_s = 60).await?;
        let core = TestCore::start(Sbi::Local, SeparateUpf::replace_core_upf).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        let (two, _) = core.ue_with_session(&gnb, 2).await?;
        reaches(&one, 1, GATEWAY).await?;
        upf.until_sessions(2).await?;
        let asked = MetricDelta::of("martlet_smf_n4_total", &[("event", "upf releasing")]);
        // The UPF stops when the last session is released, before `graceful_release_s` has passed.
        tokio::time::timeout(std::time::Duration::from_secs(30), upf.stop()).await??;
        ensure!(asked.get() >= 1.0, "the UPF did not request the release");
        core.until("the sessions are released", |counts| {
            (counts.sessions, counts.addresses) == (0, 0)
        })
        .await?;
        ensure!(core.status("smf")["upfs"][0]["associated"] == false);
        // The UEs establish their sessions again; another UPF at the same address serves them.
        let upf = SeparateUpf::start().await?;
        let there = || (core.status("smf")["upfs"][0]["associated"] == true).then_some(());
        eventually("the next UPF is associated", there, || core.status("smf").to_string()).await?;
        for ue in [&one, &two] {
            core.use_session_and_deregister(ue).await?;
        }
        upf.until_sessions(0).await
    });
}

#[test]
fn sessions_move_to_another_upf_when_theirs_is_drained() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Local, |config| {
            config.smf.upfs.reverse();
            config.smf.n4.heartbeat_s = 1;
        });
        let Some((upf, core)) = second.await? else { return Ok(()) };
        let gnb = core.gnb(1).await?;
        let (active, from) = core.ue_with_session(&gnb, 1).await?;
        let (idle, to) = core.ue_with_session(&gnb, 2).await?;
        reaches(&active, 1, GATEWAY).await?;
        idle.release_to_idle().await?;
        upf.until_sessions(2).await?;
        upf.drain(true)?;
        upf.until_sessions(0).await?;
        let describe = || core.status("upf").to_string();
        let moved = || (core.status("upf")["sessionCount"] == 2).then_some(());
        eventually("the other UPF has the sessions", moved, describe).await?;
        // With the same addresses; the idle UE is paged.
        until_packet_passes(&active, from, &idle, to, 3).await?;
        until_packet_passes(&idle, to, &active, from, 4).await?;
        let associated = |wanted: bool| {
            let core = &core;
            move || (core.status("smf")["upfs"][0]["associated"] == wanted).then_some(())
        };
        let describe = || core.status("smf").to_string();
        eventually("the association is released", associated(false), describe).await?;
        upf.drain(false)?;
        until_both_upfs_are_associated(&core).await?;
        // They return while their UEs are idle.
        active.release_to_idle().await?;
        idle.release_to_idle().await?;
        upf.until_sessions(2).await?;
        active.service_request().await?;
        reaches(&active, 1, GATEWAY).await?;
        for ue in [&active, &idle] {
            ue.deregister().await?;
        }
        upf.until_sessions(0).await?;
        core.until_all_released().await
    });
}

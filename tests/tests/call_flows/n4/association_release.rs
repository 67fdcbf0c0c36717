//! Graceful release of an N4 association (TS 29.244, 6.2.8 and 5.18).
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

//! Graceful release of an N4 association (TS 29.244, 6.2.8 and 5.18).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, Growth, OwnUpf, TestCore, eventually, in_namespace, reaches};

#[test]
fn sessions_leave_a_upf_before_it_stops() {
    in_namespace(|| async {
        let upf = OwnUpf::start_with(|config| config.n4.release_s = 60).await?;
        let core = TestCore::start(Sbi::Local, OwnUpf::instead).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        let (two, _) = core.phone_with_session(&gnb, 2).await?;
        reaches(&one, 1, GATEWAY).await?;
        upf.until_sessions(2).await?;
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
        upf.until_sessions(0).await
    });
}

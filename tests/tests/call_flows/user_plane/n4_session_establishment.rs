//! N4 session establishment (TS 23.502, 4.4.1.2; TS 29.244, 6.3.2).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{
    GATEWAY, Impairments, LossyLink, SeparateUpf, TestCore, in_namespace, reaches,
};
use std::net::Ipv4Addr;
use std::time::Duration;

#[test]
fn session_that_a_upf_establishes_too_late_is_deleted() {
    in_namespace(|| async {
        let (near, far) = (Ipv4Addr::new(127, 0, 0, 40), Ipv4Addr::new(127, 0, 0, 41));
        let upf = SeparateUpf::start_with(|upf| {
            upf.n4.allow = vec![format!("{far}/32").parse().expect("a network")];
        })
        .await?;
        let link = LossyLink::between(near.into(), far.into(), SeparateUpf::n4(), 1)?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.upfs[0].n4 = (near, 8805).into();
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (first, _) = core.ue_with_session(&gnb, 1).await?;
        let delay = Duration::from_secs(2);
        link.impair(Impairments { reorder: 1.0, delay, ..Impairments::default() });
        let late = gnb.new_ue(core.ue_config(2))?;
        late.register().await?;
        // Most responses come after both transmissions have timed out.
        let mut refused = 0;
        for _ in 0..10 {
            match late.establish_pdu_session(martlet_tests::internet()).await {
                Err(_) => refused += 1,
                Ok(session) => late.release_pdu_session(session.psi).await?,
            }
        }
        ensure!(refused > 0, "each session was established in time");
        link.impair(Impairments::default());
        // The session of the first UE stays.
        upf.until_sessions(1).await?;
        reaches(&first, 1, GATEWAY).await
    });
}

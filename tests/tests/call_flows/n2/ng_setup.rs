//! NG setup (TS 38.413, 8.7.1).
use crate::registration::slice_selection::slice_of_type;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::{Gnb, GnbError};
use martlet_tests::{GATEWAY, RawGnb, TestCore, in_namespace, internet, reaches};
use std::time::Duration;

#[test]
fn ng_setup_fails_for_an_unknown_plmn_or_slice() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut config = core.gnb_config(1);
        config.plmn = martlet_security::Plmn::new("999", "70")?;
        let refusal = Gnb::connect(config).await.err();
        ensure!(
            matches!(refusal, Some(GnbError::SetupRefused { .. })),
            "unknown PLMN: {refusal:?}"
        );
        let mut config = core.gnb_config(2);
        config.slices = vec![slice_of_type(9)];
        let refusal = Gnb::connect(config).await.err();
        ensure!(
            matches!(refusal, Some(GnbError::SetupRefused { .. })),
            "unknown slice: {refusal:?}"
        );
        Ok(())
    });
}

/// An association that got NG SETUP FAILURE stays for the time to wait, in spite of the time limit
/// for NG SETUP.
#[test]
fn rejected_gnb_may_set_up_again_on_its_association() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.n2.setup_timeout_ms = 200).await?;
        let gnb = RawGnb::connect(&core, 1).await?;
        gnb.send(gnb.ng_setup("999", 1)).await?;
        let failure = gnb.next().await?;
        ensure!(failure.kind() == Kind::Unsuccessful_NGSetup, "{failure:?}");
        ensure!(gnb.is_silent(Duration::from_secs(1)).await, "the association has ended");
        gnb.send(gnb.ng_setup("001", 1)).await?;
        let response = gnb.next().await?;
        ensure!(response.kind() == Kind::Successful_NGSetup, "{response:?}");
        Ok(())
    });
}

#[test]
fn three_gnbs_serve_ues_concurrently() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 1..=3u8 {
            let gnb = core.gnb(number).await?;
            for n in 0..10 {
                let ue = gnb.new_ue(core.ue_config(u64::from(number) * 10 + n))?;
                tasks.spawn(async move {
                    ue.register().await?;
                    ue.establish_pdu_session(internet()).await?;
                    reaches(&ue, 1, GATEWAY).await?;
                    anyhow::Ok(ue)
                });
            }
        }
        let mut all = Vec::new();
        while let Some(done) = tasks.join_next().await {
            all.push(done??);
        }
        ensure!(core.counts().gnbs == 3 && core.counts().sessions == 30, "{:?}", core.counts());
        for ue in all {
            ue.deregister().await?;
        }
        core.until_all_released().await
    });
}

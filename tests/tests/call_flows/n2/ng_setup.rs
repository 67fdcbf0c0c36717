//! NG setup (TS 38.413, 8.7.1).
use crate::session::rejection::slice_of_type;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::{Gnb, GnbError, RegistrationType};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

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

#[test]
fn ng_setup_of_a_restarted_gnb_replaces_its_association() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // It connects again before the AMF has detected the failure.
        let again = Gnb::connect({
            let mut config = core.gnb_config(1);
            (config.n2_local, config.n3) = (core.gnb_config(2).n2_local, core.gnb_config(2).n3);
            config
        })
        .await?;
        core.until("one gNB is connected and its UE is in CM-IDLE", |c| {
            (c.gnbs, c.registered, c.connected) == (1, 1, 0)
        })
        .await?;
        ue.wait_idle().await?;
        ue.move_to(&again).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
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

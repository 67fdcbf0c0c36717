//! Handover failure (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1.3 and 8.4.2.3).
use crate::handover::{is_served, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::{HandoverPlan, HandoverScript};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use std::time::Duration;

#[test]
fn failed_preparation_keeps_the_source_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.ngap_ms = 300;
            config.amf.timers.handover_ms = 500;
        })
        .await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let failed = |script| HandoverPlan { script, ..Default::default() };
        for script in [HandoverScript::TargetRejects, HandoverScript::TargetSilent] {
            let outcome = phone.handover(&other, failed(script)).await;
            ensure!(outcome.is_err(), "{script:?}: {outcome:?}");
            is_served(&core, &phone, &one).await?;
            core.until("the target has let go", |c| c.connected == 1).await?;
        }
        // No session is taken, and none is handed over.
        let nothing = HandoverPlan { refused: vec![1], ..Default::default() };
        ensure!(phone.handover(&other, nothing).await.is_err());
        is_served(&core, &phone, &one).await?;
        // A phone that does not come is waited for, and no longer.
        let stays = tokio::time::timeout(
            Duration::from_secs(2),
            phone.handover(&other, failed(HandoverScript::UeDoesNotArrive)),
        );
        ensure!(stays.await.is_err(), "nobody answers");
        core.until("the target has let go", |c| c.connected == 1).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn handover_fails_when_a_gnb_is_lost() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Local).await?;
        other.vanish();
        other.lost().await;
        core.until("one gNB", |c| c.gnbs == 1).await?;
        let outcome = phone.handover_to(&other).await;
        ensure!(outcome.is_err(), "{outcome:?}");
        is_served(&core, &phone, &one).await?;
        // A source that vanishes with the phone on its way: the phone is idle, and comes back.
        let back = other.connect_again().await?;
        phone.handover_to(&back).await?;
        back.vanish();
        back.lost().await;
        phone.wait_idle().await?;
        phone.move_to(&one).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

//! Handover preparation that fails (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1.3 and 8.4.2.3).
use crate::handover::{expect_served_by, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::ie;
use martlet_ngap::ngap::{NGAP_PDU, ResetType, UENGAPIDs};
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
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let failed = |script| HandoverPlan { script, ..Default::default() };
        for script in [HandoverScript::TargetRejects, HandoverScript::TargetSilent] {
            let outcome = ue.handover(&other, failed(script)).await;
            ensure!(outcome.is_err(), "{script:?}: {outcome:?}");
            expect_served_by(&core, &ue, &one).await?;
            core.until("the target has released the UE", |c| c.connected == 1).await?;
        }
        // The target accepts no session: the handover fails.
        let nothing = HandoverPlan { refused: vec![1], ..Default::default() };
        ensure!(ue.handover(&other, nothing).await.is_err());
        expect_served_by(&core, &ue, &one).await?;
        // The UE does not arrive at the target: the AMF releases the prepared resources.
        let stays = tokio::time::timeout(
            Duration::from_secs(2),
            ue.handover(&other, failed(HandoverScript::UeDoesNotArrive)),
        );
        ensure!(stays.await.is_err(), "the handover ended");
        core.until("the target has released the UE", |c| c.connected == 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// The AMF has no RAN UE NGAP ID of such a target. Any number could be that of another UE there.
#[test]
fn target_without_an_answer_is_released_by_the_amf_ue_ngap_id_alone() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.ngap_ms = 300;
            // Otherwise the gNB's ERROR INDICATION, with this identity alone, ends the connection.
            config.amf.n2.strict = true;
        })
        .await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let mut messages = other.subscribe();
        let plan = HandoverPlan { script: HandoverScript::TargetSilent, ..Default::default() };
        let outcome = ue.handover(&other, plan).await;
        ensure!(outcome.is_err(), "{outcome:?}");
        let mut is_released = false;
        loop {
            let message = messages.recv().await?;
            let pdu = NGAP_PDU::decode(&message)?;
            if let Some(ids) = pdu.ie::<ie::UE_NGAP_IDs>().transpose()? {
                ensure!(matches!(ids, UENGAPIDs::aMF_UE_NGAP_ID(_)), "{ids:?}");
                is_released = true;
            }
            if let Some(ResetType::partOfNG_Interface(part)) =
                pdu.ie::<ie::ResetType>().transpose()?
            {
                let is_named = part.0.iter().any(|item| item.ran_ue_ngap_id.is_some());
                ensure!(is_released && !is_named, "{part:?}");
                break;
            }
        }
        expect_served_by(&core, &ue, &one).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn handover_fails_when_a_gnb_is_lost() {
    in_namespace(|| async {
        let (core, one, other, ue, _) = two_gnbs(Sbi::Local).await?;
        other.abort();
        other.lost().await;
        core.until("one gNB is left", |c| c.gnbs == 1).await?;
        let outcome = ue.handover_to(&other).await;
        ensure!(outcome.is_err(), "{outcome:?}");
        expect_served_by(&core, &ue, &one).await?;
        // The serving gNB fails: the UE becomes idle and returns through another gNB.
        let back = other.connect_again().await?;
        ue.handover_to(&back).await?;
        back.abort();
        back.lost().await;
        ue.wait_idle().await?;
        ue.move_to(&one).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

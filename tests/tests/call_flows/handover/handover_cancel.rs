//! Handover cancel (TS 23.502, 4.9.1.4; TS 38.413, 8.4.5).
use crate::handover::{expect_served_by, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::{HandoverPlan, HandoverScript};
use martlet_tests::in_namespace;

#[test]
fn cancelled_handover_keeps_the_source_gnb() {
    in_namespace(|| async {
        let (core, one, other, ue, _) = two_gnbs(Sbi::Local).await?;
        for script in
            [HandoverScript::CancelledAfterCommand, HandoverScript::CancelledDuringPreparation]
        {
            let plan = HandoverPlan { script, ..Default::default() };
            let outcome = ue.handover(&other, plan).await;
            ensure!(outcome.is_err(), "{script:?}: {outcome:?}");
            expect_served_by(&core, &ue, &one).await?;
            core.until("the target has released the UE", |c| c.connected == 1).await?;
        }
        ue.deregister().await?;
        core.until_all_released().await
    });
}

//! Xn handover: path switch (TS 23.502, 4.9.1.2; TS 38.413, 8.4.4).
use crate::handover::{expect_served_by, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, in_namespace, reaches};

#[test]
fn xn_handover_switches_the_path() {
    in_namespace(|| async {
        let (core, one, other, ue, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = ue.xn_handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            expect_served_by(&core, &ue, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the former gNB still has a context");
        // CM-IDLE, service request and deregistration still work.
        ue.xn_handover_to(&other).await?;
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

//! Xn handover: path switch (TS 23.502, 4.9.1.2; TS 38.413, 8.4.4).
use crate::handover::{is_served, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, in_namespace, reaches};

#[test]
fn xn_handover_switches_the_path() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = phone.xn_handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            is_served(&core, &phone, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the gNB that it has left has forgotten it");
        // Idle, back, and gone: everything else works as before.
        phone.xn_handover_to(&other).await?;
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        core.bodies.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

//! New NAS keys before the NAS COUNTs wrap (TS 33.501, 6.9.4).
use crate::registration::configuration_update::procedures;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::HandoverPlan;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

#[test]
fn keys_are_renewed_before_the_nas_counts_wrap() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Http, |config| config.amf.security.rekey_at_count = 8).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let rekeyed = procedures("rekeying", "ok");
        for round in 0..6 {
            let psi = phone.establish_pdu_session(internet()).await?.psi;
            phone.release_pdu_session(psi).await?;
            // The gNBs' keys follow: the next one in the chain is the phone's own.
            let to = if round % 2 == 0 { &other } else { &one };
            phone.handover(to, HandoverPlan::default()).await?;
            reaches(&phone, 1, GATEWAY).await?;
        }
        ensure!(rekeyed.so_far() >= 2.0, "{} times", rekeyed.so_far());
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

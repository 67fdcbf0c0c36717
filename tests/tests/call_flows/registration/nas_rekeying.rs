//! New NAS keys before the NAS COUNTs wrap (TS 33.501, 6.9.4).
use crate::registration::configuration_update::procedures;
use crate::registration::general_registration::AUTHENTICATE;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::{GmmCause, reaction};
use martlet_ran::HandoverPlan;
use martlet_ran::ue::MmState;
use martlet_store::Secret;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use serde_json::Value;

#[test]
fn keys_are_renewed_before_the_nas_counts_wrap() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Http, |config| config.amf.security.rekey_at_count = 8).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let rekeyed = procedures("rekeying", "ok");
        for round in 0..6 {
            let psi = ue.establish_pdu_session(internet()).await?.psi;
            ue.release_pdu_session(psi).await?;
            // The key chain {NH, NCC} follows the new K_AMF.
            let to = if round % 2 == 0 { &other } else { &one };
            ue.handover(to, HandoverPlan::default()).await?;
            reaches(&ue, 1, GATEWAY).await?;
        }
        ensure!(rekeyed.get() >= 2.0, "{} rekeyings", rekeyed.get());
        // The AMF knows the equipment since the first authentication.
        let requests = core.sbi_record.requests(AUTHENTICATE);
        let names_equipment = |(_, body): &(_, Value)| body["pei"].is_string();
        ensure!(requests.iter().skip(1).all(names_equipment), "{requests:?}");
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// A UE that fails the authentication is rejected, and no longer registered (TS 24.501, 5.4.1.3.5
/// and 5.4.1.3.7 c).
#[test]
fn ue_that_fails_the_authentication_is_rejected() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.security.rekey_at_count = 8).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let failed = procedures("rekeying", "not_authentic");
        // The home network has another key now.
        core.subscribe(1, |subscriber| subscriber.key = Secret([0x5a; 16]))?;
        // Messages without an answer, each with a NAS COUNT.
        for _ in 0..8 {
            ue.send_nas(reaction::status(GmmCause::ProtocolErrorUnspecified)).await?;
        }
        core.until("the UE is rejected", |counts| (counts.contexts, counts.sessions) == (0, 0))
            .await?;
        ue.wait_idle().await?;
        let status = ue.status().await?;
        ensure!(status.state == MmState::Deregistered && status.guti.is_none(), "{status:?}");
        ensure!(failed.get() >= 1.0, "the UE is not authenticated again");
        core.until_all_released().await
    });
}

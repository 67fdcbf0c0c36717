//! Change of K_AMF at a handover to another AMF (TS 33.501, 6.9.2.3.3).
use super::inter_amf_target::handovers_between_amfs;
use crate::handover::two_areas;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript};
use martlet_tests::{GATEWAY, eventually, in_namespace, internet, reaches};

#[test]
fn n2_handover_to_another_amf_with_a_derived_kamf() {
    in_namespace(|| handovers_between_amfs(Sbi::Http, true));
}

/// TS 33.501, 6.9.2.3.3: the UE rejects a new K_AMF whose NAS MAC is wrong and keeps its key. The
/// next handover, with another key, succeeds, and the key chain continues at the new AMF.
#[test]
fn ue_rejects_a_new_kamf_without_a_valid_mac() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (ue, _) = core.ue_with_session(&here, 1).await?;
        let plan =
            HandoverPlan { script: HandoverScript::NasContainerDamaged, ..Default::default() };
        ensure!(ue.handover(&there, plan).await.is_err(), "the handover succeeded");
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(
            ue.status().await?.key_changes == 0 && core.counts().registered == 1,
            "{:?}",
            core.counts()
        );
        eventually(
            "the second AMF deletes the context",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // The old key still protects messages in both directions; one NAS COUNT was skipped.
        let sent = ue.establish_pdu_session(internet()).await?.psi;
        ue.release_pdu_session(sent).await?;
        ue.handover_to(&there).await?;
        ensure!(ue.status().await?.key_changes == 1, "K_AMF did not change");
        let mut config = second.gnb_config(&core, 3);
        config.tac += 1;
        let third = Gnb::connect(config).await?;
        ue.handover_to(&third).await?;
        ensure!(ue.status().await?.key_changes == 1, "K_AMF changed without a change of the AMF");
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

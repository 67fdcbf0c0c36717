//! N2 handover to another AMF (TS 23.502, 4.9.1.3; TS 33.501, 6.9.2.3.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript};
use martlet_tests::{GATEWAY, SecondAmf, TestCore, eventually, in_namespace, internet, reaches};

/// A core with two AMFs, each with its own tracking area and gNB.
pub async fn two_areas(
    sbi: Sbi,
    change: impl FnOnce(&mut Config),
) -> Result<(TestCore, SecondAmf, Gnb, Gnb)> {
    let core = TestCore::start(sbi, change).await?;
    let second =
        core.second_amf(|config| config.amf.tais.iter_mut().for_each(|tai| tai.tac += 1)).await?;
    let here = core.gnb(1).await?;
    let mut config = second.gnb_config(&core, 2);
    config.tac += 1;
    Ok((core, second, here, Gnb::connect(config).await?))
}

async fn handovers_between_amfs(sbi: Sbi, derive: bool) -> Result<()> {
    let (core, second, here, there) =
        two_areas(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let (ue, _) = core.ue_with_session(&here, 1).await?;
    let authenticated = core.stored_sqn(1)?;
    for (to, changes) in [(&there, 1), (&here, 2), (&there, 3)] {
        let outcome = ue.handover_to(to).await?;
        ensure!(outcome.sessions == [1], "{outcome:?}");
        let changed = ue.status().await?.key_changes;
        ensure!(changed == if derive { changes } else { 0 }, "{changed} changes of K_AMF");
        reaches(&ue, 1, GATEWAY).await?;
        eventually(
            "RAN STATUS TRANSFER at the target",
            || (to.ran_status_transfers() > 0).then_some(()),
            || "not received".into(),
        )
        .await?;
        // The mobility registration in the new tracking area allocates a 5G-GUTI of the new AMF.
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
    }
    let statuses = (here.ran_status_transfers(), there.ran_status_transfers());
    ensure!(statuses == (1, 2), "RAN STATUS TRANSFER messages: {statuses:?}");
    ensure!(core.stored_sqn(1)? == authenticated, "the UE was authenticated again");
    eventually(
        "the first AMF releases the UE",
        || (core.counts().registered == 0).then_some(()),
        || "it is still registered there".into(),
    )
    .await?;
    ensure!(second.ues().1 == 1, "{:?}", second.ues());
    // CM-IDLE and back.
    ue.release_to_idle().await?;
    ue.service_request().await?;
    reaches(&ue, 1, GATEWAY).await?;
    ue.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.sbi_record
        .check(&[
            "namf-comm CreateUEContext",
            "namf-comm N1N2MessageTransfer",
            "namf-callback N2InfoNotifyHandoverComplete",
        ])
        .await
}

#[test]
fn n2_handover_to_another_amf_with_a_derived_kamf() {
    in_namespace(|| handovers_between_amfs(Sbi::Http, true));
}

#[test]
fn n2_handover_to_another_amf_with_the_same_kamf() {
    in_namespace(|| handovers_between_amfs(Sbi::Local, false));
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

#[test]
fn failed_handover_to_another_amf_keeps_the_source_amf() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (ue, _) = core.ue_with_session(&here, 1).await?;
        for script in [
            HandoverScript::TargetRejects,
            HandoverScript::CancelledAfterCommand,
            HandoverScript::CancelledDuringPreparation,
        ] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(ue.handover(&there, plan).await.is_err(), "{script:?}");
            reaches(&ue, 1, GATEWAY).await.with_context(|| format!("{script:?}"))?;
            ensure!(core.counts().registered == 1, "{:?}", core.counts());
        }
        eventually(
            "the second AMF deletes the context",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // The next handover succeeds.
        ue.handover_to(&there).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await?;
        core.sbi_record.check(&["namf-comm ReleaseUEContext"]).await
    });
}

/// The target AMF registers at the UDM when the handover is complete. A UE that loses its context
/// before its mobility registration, and registers at the source AMF, is served there only.
#[test]
fn ue_registers_at_the_source_amf_after_a_handover_to_another_amf() {
    in_namespace(|| async {
        let change = |config: &mut Config| config.amf.context_store.flush_interval_ms = 300;
        let (core, second, here, there) = two_areas(Sbi::Http, change).await?;
        let (ue, _) = core.ue_with_session(&here, 1).await?;
        ue.handover_to(&there).await?;
        // The target AMF has the subscription of the UE.
        ue.establish_pdu_session(internet()).await?;
        ue.forget_registration().await?;
        ue.move_to(&here).await?;
        core.register_with_session(&ue).await?;
        eventually(
            "the target AMF deregisters the UE",
            || (second.ues().1 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // The UDM may only then end its notification when a restarted AMF would not restore the UE.
        core.until("both AMFs were notified by the UDM", |_| {
            core.sbi_record.calls("namf-callback DeregistrationNotify") == 2
        })
        .await?;
        ensure!(second.unwritten() == 0, "the context is not removed from the store");
        core.until("one UE with one session", |c| (c.registered, c.sessions) == (1, 1)).await
    });
}

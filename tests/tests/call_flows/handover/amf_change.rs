//! N2 handover to another AMF (TS 23.502, 4.9.1.3; TS 33.501, 6.9.2.3.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript};
use martlet_tests::{GATEWAY, SecondAmf, TestCore, eventually, in_namespace, internet, reaches};

/// A core with two AMFs, each with a tracking area and a gNB of its own.
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

async fn handed_over(sbi: Sbi, derive: bool) -> Result<()> {
    let (core, second, here, there) =
        two_areas(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let (phone, _) = core.phone_with_session(&here, 1).await?;
    let authenticated = core.store_sqn(1)?;
    for (to, changes) in [(&there, 1), (&here, 2), (&there, 3)] {
        let outcome = phone.handover_to(to).await?;
        ensure!(outcome.sessions == [1], "{outcome:?}");
        let changed = phone.status().await?.key_changes;
        ensure!(changed == if derive { changes } else { 0 }, "{changed} changes of K_AMF");
        reaches(&phone, 1, GATEWAY).await?;
        eventually(
            "the RAN status",
            || (to.ran_status_transfers() > 0).then_some(()),
            || "is not there".into(),
        )
        .await?;
        // In another tracking area it registers, and gets a 5G-GUTI of the AMF that serves it.
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
    }
    let statuses = (here.ran_status_transfers(), there.ran_status_transfers());
    ensure!(
        statuses == (1, 2),
        "what a source says of its packets comes to the target: {statuses:?}"
    );
    ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
    eventually(
        "the first AMF lets go",
        || (core.counts().registered == 0).then_some(()),
        || "it does not".into(),
    )
    .await?;
    ensure!(second.ues().1 == 1, "{:?}", second.ues());
    // Idle and back: it is served as any other.
    phone.release_to_idle().await?;
    phone.service_request().await?;
    reaches(&phone, 1, GATEWAY).await?;
    phone.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.bodies
        .check(&[
            "namf-comm CreateUEContext",
            "namf-comm N1N2MessageTransfer",
            "namf-callback N2InfoNotifyHandoverComplete",
        ])
        .await
}

#[test]
fn n2_handover_to_another_amf_with_a_derived_kamf() {
    in_namespace(|| handed_over(Sbi::Http, true));
}

#[test]
fn n2_handover_to_another_amf_with_the_same_kamf() {
    in_namespace(|| handed_over(Sbi::Local, false));
}

/// TS 33.501, 6.9.2.3.3: a new K_AMF without its proof is not taken. The phone stays with the key
/// that it has, and the next try, which has another key, works; within the other AMF the chain of
/// keys goes on from there.
#[test]
fn ue_rejects_a_new_kamf_without_a_valid_mac() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let plan =
            HandoverPlan { script: HandoverScript::NasContainerDamaged, ..Default::default() };
        ensure!(phone.handover(&there, plan).await.is_err(), "it has gone");
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(
            phone.status().await?.key_changes == 0 && core.counts().registered == 1,
            "{:?}",
            core.counts()
        );
        eventually(
            "the second AMF forgets",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // Its key protects what comes next: messages of both sides, with COUNTs of which one was
        // left out.
        let sent = phone.establish_pdu_session(internet()).await?.psi;
        phone.release_pdu_session(sent).await?;
        phone.handover_to(&there).await?;
        ensure!(phone.status().await?.key_changes == 1, "K_AMF is new");
        let mut config = second.gnb_config(&core, 3);
        config.tac += 1;
        let beside = Gnb::connect(config).await?;
        phone.handover_to(&beside).await?;
        ensure!(phone.status().await?.key_changes == 1, "within an AMF it stays");
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

#[test]
fn failed_handover_to_another_amf_keeps_the_source_amf() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        for script in [
            HandoverScript::TargetRejects,
            HandoverScript::CancelledAfterCommand,
            HandoverScript::CancelledDuringPreparation,
        ] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(phone.handover(&there, plan).await.is_err(), "{script:?}");
            reaches(&phone, 1, GATEWAY).await.with_context(|| format!("{script:?}"))?;
            ensure!(core.counts().registered == 1, "{:?}", core.counts());
        }
        eventually(
            "the second AMF forgets",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // And then it works.
        phone.handover_to(&there).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await?;
        core.bodies.check(&["namf-comm ReleaseUEContext"]).await
    });
}

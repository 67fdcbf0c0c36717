//! N2 handover to another AMF, which fails or after which the UE returns: the source AMF (TS
//! 23.502, 4.9.1.3).
use crate::handover::two_areas;
use anyhow::{Context, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::{HandoverPlan, HandoverScript};
use martlet_tests::{GATEWAY, eventually, in_namespace, internet, reaches};

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
        core.sbi_record.check_members()?;
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
        core.sbi_record.check_members()?;
        ensure!(second.unwritten() == 0, "the context is not removed from the store");
        core.until("one UE with one session", |c| (c.registered, c.sessions) == (1, 1)).await
    });
}

//! N2 handover to another AMF (TS 23.502, 4.9.1.3; TS 33.501, 6.9.2.3.3).
use crate::handover::two_areas;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_tests::{GATEWAY, eventually, in_namespace, reaches};

pub async fn handovers_between_amfs(sbi: Sbi, derive: bool) -> Result<()> {
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
fn n2_handover_to_another_amf_with_the_same_kamf() {
    in_namespace(|| handovers_between_amfs(Sbi::Local, false));
}

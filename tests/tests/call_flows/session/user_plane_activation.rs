//! Activation of user planes (TS 23.502, 4.2.3.2, steps 4 to 19).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

#[test]
fn fifteen_sessions_are_established_and_reactivated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        for psi in 1..=15 {
            let session = ue.establish_pdu_session(internet()).await?;
            ensure!(session.psi == psi, "{session:?}");
            reaches(&ue, psi, GATEWAY).await?;
        }
        // All sessions are kept in CM-IDLE and activated again.
        ue.release_to_idle().await?;
        ue.service_request_for(martlet_ran::ServicePurpose::Data, &(1..=15).collect::<Vec<_>>())
            .await?;
        for psi in 1..=15 {
            reaches(&ue, psi, GATEWAY).await?;
        }
        ue.deregister().await?;
        core.until_all_released().await
    });
}

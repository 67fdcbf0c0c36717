//! PDU session release (TS 23.502, 4.3.4; TS 24.501, 6.4.3).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::PduSessionRequest;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

#[test]
fn released_session_is_removed_and_others_continue() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.establish_pdu_session(internet()).await?;
        let (other, _) = core.phone_with_session(&gnb, 2).await?;
        phone.release_pdu_session(1).await?;
        core.until("two sessions are left", |counts| {
            (counts.sessions, counts.addresses, counts.user_planes) == (2, 2, 2)
        })
        .await?;
        ensure!(
            phone.status().await?.active_user_planes == [2],
            "the gNB has let go of the first session"
        );
        ensure!(
            reaches(&phone, 1, GATEWAY).await.is_err(),
            "a session that is gone carries nothing"
        );
        reaches(&phone, 2, GATEWAY).await?;
        reaches(&other, 1, GATEWAY).await?;
        // Its identity is free again.
        phone.establish_pdu_session(PduSessionRequest { psi: Some(1), ..internet() }).await?;
        reaches(&phone, 1, GATEWAY).await?;
        core.bodies
            .check(&["npcf-smpolicycontrol DeleteSMPolicy", "nudm-uecm SmfDeregistration"])
            .await
    });
}

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
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.establish_pdu_session(internet()).await?;
        let (other, _) = core.ue_with_session(&gnb, 2).await?;
        ue.release_pdu_session(1).await?;
        core.until("two sessions are left", |counts| {
            (counts.sessions, counts.addresses, counts.user_planes) == (2, 2, 2)
        })
        .await?;
        ensure!(
            ue.status().await?.active_user_planes == [2],
            "the gNB still has the first session"
        );
        ensure!(reaches(&ue, 1, GATEWAY).await.is_err(), "the released session carries packets");
        reaches(&ue, 2, GATEWAY).await?;
        reaches(&other, 1, GATEWAY).await?;
        // Its PDU session ID can be used again.
        ue.establish_pdu_session(PduSessionRequest { psi: Some(1), ..internet() }).await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.sbi_record
            .check(&["npcf-smpolicycontrol DeleteSMPolicy", "nudm-uecm SmfDeregistration"])
            .await
    });
}

//! 5GSM STATUS (TS 24.501, 6.5).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasFGsmCause, NasFGsmStatus, NasPduSessionReleaseCommand,
};
use martlet_ran::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

/// 5GSM STATUS with cause #43 releases the session at the network; other causes change nothing (TS
/// 24.501, 6.5.3).
#[test]
fn gsm_status_with_cause_43_releases_the_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let status = |cause| {
            Nas5gsMessage::new_5gsm(NasFGsmStatus::new(NasFGsmCause::from_cause(cause)), 1, 0)
        };
        ue.send_session_message(1, status(GsmCause::MessageTypeNonExistentOrNotImplemented))
            .await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.until("the session is kept", |counts| counts.sessions == 1).await?;
        ue.send_session_message(1, status(GsmCause::InvalidPduSessionIdentity)).await?;
        core.until("the session is released", |counts| {
            (counts.sessions, counts.addresses) == (0, 0)
        })
        .await?;
        // The network answers an unexpected message with 5GSM STATUS.
        let mut events = ue.subscribe().await?;
        let nonsense =
            Nas5gsMessage::new_5gsm(NasPduSessionReleaseCommand::new(NasFGsmCause::new(36)), 2, 0);
        let second =
            ue.establish_pdu_session(PduSessionRequest { psi: Some(2), ..internet() }).await?;
        ue.send_session_message(second.psi, nonsense).await?;
        let answered = async {
            loop {
                if let UeEvent::Nas(Event::Status { psi, cause }) = events.recv().await? {
                    return anyhow::Ok((psi, cause));
                }
            }
        };
        let answer = tokio::time::timeout(std::time::Duration::from_secs(10), answered).await??;
        let wanted = GsmCause::MessageTypeNotCompatibleWithTheProtocolState.as_u8();
        ensure!(answer == (Some(2), wanted), "{answer:?}");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

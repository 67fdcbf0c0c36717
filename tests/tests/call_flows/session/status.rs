//! 5GSM STATUS (TS 24.501, 6.5).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasFGsmCause, NasFGsmStatus, NasPduSessionReleaseCommand,
};
use martlet_ran::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

/// 5GSM STATUS of a phone (TS 24.501, 6.5.3): with #43 the session ends at the network, too; with
/// any other cause nothing changes.
#[test]
fn gsm_status_with_cause_43_releases_the_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let status = |cause| {
            Nas5gsMessage::new_5gsm(NasFGsmStatus::new(NasFGsmCause::from_cause(cause)), 1, 0)
        };
        phone
            .send_session_message(1, status(GsmCause::MessageTypeNonExistentOrNotImplemented))
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        core.until("the session is there", |counts| counts.sessions == 1).await?;
        phone.send_session_message(1, status(GsmCause::InvalidPduSessionIdentity)).await?;
        core.until("the session is gone", |counts| (counts.sessions, counts.addresses) == (0, 0))
            .await?;
        // What the network does not understand gets the same answer: #97.
        let mut events = phone.subscribe().await?;
        let nonsense =
            Nas5gsMessage::new_5gsm(NasPduSessionReleaseCommand::new(NasFGsmCause::new(36)), 2, 0);
        let second =
            phone.establish_pdu_session(PduSessionRequest { psi: Some(2), ..internet() }).await?;
        phone.send_session_message(second.psi, nonsense).await?;
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
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

//! PDU sessions (TS 23.502, 4.3).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasFGsmCause, NasFGsmStatus, NasPduSessionReleaseCommand,
};
use martlet_ran::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest, ServicePurpose};
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use std::net::Ipv4Addr;

#[test]
fn a_phone_that_registers_anew_on_its_connection_begins_without_sessions_at_its_gnb_too() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.register().await?;
        ensure!(
            phone.status().await?.active_user_planes.is_empty(),
            "the gNB has let go of the session"
        );
        core.until("no session is left", |counts| (counts.sessions, counts.user_planes) == (0, 0))
            .await?;
        // A gNB that still had it would refuse to set it up.
        phone.establish_pdu_session(PduSessionRequest { psi: Some(1), ..internet() }).await?;
        reaches(&phone, 1, GATEWAY).await
    });
}

#[test]
fn service_for_a_session_that_is_active_changes_nothing() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(phone.status().await?.active_user_planes == [1], "its user plane stays");
        reaches(&phone, 1, GATEWAY).await
    });
}

#[test]
fn a_released_session_is_gone_everywhere_and_the_others_go_on() {
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

#[test]
fn a_phone_has_up_to_fifteen_sessions() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        for psi in 1..=15 {
            let session = phone.establish_pdu_session(internet()).await?;
            ensure!(session.psi == psi, "{session:?}");
            reaches(&phone, psi, GATEWAY).await?;
        }
        // All of them wait while the phone is idle, and all come back.
        phone.release_to_idle().await?;
        phone
            .service_request_for(martlet_ran::ServicePurpose::Data, &(1..=15).collect::<Vec<_>>())
            .await?;
        for psi in 1..=15 {
            reaches(&phone, psi, GATEWAY).await?;
        }
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn phones_reach_each_other_and_a_fixed_address_is_kept() {
    in_namespace(|| async {
        let fixed = Ipv4Addr::new(10, 45, 7, 7);
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(2, |subscriber| {
            subscriber.slices[0].dnns =
                vec![SubscribedDnn { static_ipv4: Some(fixed), ..SubscribedDnn::new("internet") }];
        })?;
        let gnb = core.gnb(1).await?;
        let (one, address) = core.phone_with_session(&gnb, 1).await?;
        let (two, of_two) = core.phone_with_session(&gnb, 2).await?;
        ensure!(of_two == fixed && address != fixed, "{of_two}");
        one.send_ip(1, martlet_tests::ping(address, fixed, 1)).await?;
        let (psi, packet) = two.recv_ip().await?;
        ensure!(psi == 1 && packet[12..16] == address.octets(), "{packet:02x?}");
        // A source address that the phone does not have goes nowhere, and is counted.
        one.send_ip(1, martlet_tests::ping(Ipv4Addr::new(10, 45, 9, 9), fixed, 2)).await?;
        let counted =
            || core.status("upf")["drops"]["foreign_source"].as_u64().filter(|count| *count == 1);
        martlet_tests::eventually("the packet is dropped", counted, || {
            core.status("upf").to_string()
        })
        .await?;
        // The default data network is the one that is subscribed.
        let session = two.establish_pdu_session(PduSessionRequest::default()).await.err();
        ensure!(session.is_some_and(|e| e.cause() == Some(26)), "the fixed address is in use");
        Ok(())
    });
}

/// 5GSM STATUS of a phone (TS 24.501, 6.5.3): with #43 the session ends at the network, too; with
/// any other cause nothing changes.
#[test]
fn a_phone_that_says_it_has_no_such_session_has_none() {
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

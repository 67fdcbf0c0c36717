//! PDU sessions: established, refused, released by either side.
use super::network::*;
use crate::gnb::tests::ue_lifecycle::session_accept;
use crate::ue::{Event, PduSessionRequest, SessionCause, Slice, UeNas};
use martlet_nas::*;
use std::net::Ipv4Addr;
use std::time::Instant;

fn accept() -> NasPduSessionEstablishmentAccept {
    session_accept()
        .with_s_nssai(NasSNssai::from_sst_sd(1, Some([1, 2, 3])))
        .with_dnn(NasDnn::from_string("internet").unwrap())
        .with_extended_protocol_configuration_options(NasExtendedProtocolConfigurationOptions::new(
            vec![0x80, 0x00, 0x0d, 4, 8, 8, 4, 4, 0x00, 0x10, 2, 0x05, 0x78],
        ))
}

fn request() -> PduSessionRequest {
    PduSessionRequest {
        dnn: Some("internet".into()),
        slice: Some(Slice { sst: 1, sd: None }),
        ..Default::default()
    }
}

pub fn establish(network: &mut Network, ue: &mut UeNas, now: Instant) -> u8 {
    let psi = ue.establish_session(&request(), now).unwrap();
    let (_, header, _) = network.unprotect_sm(&one(ue));
    let nas = network.protect_sm(accept(), psi, header.procedure_transaction_identity);
    ue.receive(&nas, now);
    assert!(matches!(events(actions(ue))[..], [Event::SessionEstablished(_)]));
    psi
}

#[test]
fn the_establishment_accept_is_applied() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = ue.establish_session(&request(), now).unwrap();
    let (transport, header, message) = network.unprotect_sm(&one(&mut ue));
    assert_eq!(transport.pdu_session_id.unwrap().pdu_session_id(), psi);
    assert_eq!(transport.dnn.unwrap().as_string().unwrap(), "internet");
    assert!(transport.request_type.unwrap().is_initial());
    assert!(matches!(message, Nas5gsmMessage::PduSessionEstablishmentRequest(_)));
    assert_eq!(ue.sessions().count(), 0, "not established yet");

    let nas = network.protect_sm(accept(), psi, header.procedure_transaction_identity);
    ue.receive(&nas, now);
    let [Event::SessionEstablished(session)] = &events(actions(&mut ue))[..] else { panic!() };
    assert_eq!(session.ipv4, Some(Ipv4Addr::new(10, 60, 0, 7)));
    assert_eq!(session.dns, [Ipv4Addr::new(8, 8, 4, 4)]);
    assert_eq!(session.mtu, Some(1400));
    assert_eq!(session.default_qfi, Some(9));
    assert_eq!(session.ambr_kbps, Some((1_000_000, 500_000)));
    assert_eq!(session.slice, Some(Slice { sst: 1, sd: Some([1, 2, 3]) }));
    assert_eq!(ue.session(psi), Some(session));
}

#[test]
fn a_reject_and_a_returned_message_end_the_establishment() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = ue.establish_session(&request(), now).unwrap();
    let (_, header, _) = network.unprotect_sm(&one(&mut ue));
    let reject = NasPduSessionEstablishmentReject::new(NasFGsmCause::from_cause(
        GsmCause::MissingOrUnknownDnn,
    ));
    let nas = network.protect_sm(reject, psi, header.procedure_transaction_identity);
    ue.receive(&nas, now);
    assert_eq!(
        events(actions(&mut ue)),
        [Event::SessionRejected { psi, cause: SessionCause::Sm(27) }]
    );

    let psi = ue.establish_session(&request(), now).unwrap();
    let (transport, ..) = network.unprotect_sm(&one(&mut ue));
    let nas = network.protect(
        NasDlNasTransport::new(transport.payload_container_type, transport.payload_container)
            .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi))
            .with_fgmm_cause(NasFGmmCause::from_cause(
                GmmCause::DnnNotSupportedOrNotSubscribedInTheSlice,
            )),
    );
    ue.receive(&nas, now);
    assert_eq!(
        events(actions(&mut ue)),
        [Event::SessionRejected { psi, cause: SessionCause::Mm(91) }]
    );
    assert_eq!(
        ue.next_timeout().map(|at| at > now + ue.config().timers.t3580),
        None,
        "T3580 still runs"
    );
}

#[test]
fn an_answer_with_another_pti_gets_a_status() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = ue.establish_session(&request(), now).unwrap();
    let (_, header, _) = network.unprotect_sm(&one(&mut ue));
    let nas = network.protect_sm(accept(), psi, header.procedure_transaction_identity + 1);
    ue.receive(&nas, now);
    let (_, _, status) = network.unprotect_sm(&one(&mut ue));
    let Nas5gsmMessage::FiveGsmStatus(status) = status else { panic!("not 5GSM STATUS") };
    assert_eq!(status.fgsm_cause.cause(), Some(GsmCause::PtiMismatch));
}

#[test]
fn the_establishment_request_is_retransmitted_four_times() {
    let mut now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = ue.establish_session(&request(), now).unwrap();
    network.unprotect_sm(&one(&mut ue));
    for _ in 0..4 {
        now += ue.config().timers.t3580;
        ue.handle_timeout(now);
        let (_, header, _) = network.unprotect_sm(&one(&mut ue));
        assert_eq!(header.pdu_session_identity, psi);
    }
    now += ue.config().timers.t3580;
    ue.handle_timeout(now);
    assert_eq!(
        events(actions(&mut ue)),
        [Event::SessionRejected { psi, cause: SessionCause::Timeout }]
    );
}

#[test]
fn the_ue_releases_a_session() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = establish(&mut network, &mut ue, now);
    ue.release_session(psi, now).unwrap();
    let (_, header, message) = network.unprotect_sm(&one(&mut ue));
    assert!(matches!(message, Nas5gsmMessage::PduSessionReleaseRequest(_)));
    let command =
        NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(GsmCause::RegularDeactivation));
    let nas = network.protect_sm(command, psi, header.procedure_transaction_identity);
    ue.receive(&nas, now);
    let actions = actions(&mut ue);
    let (_, _, message) = network.unprotect_sm(sent(&actions)[0]);
    assert!(matches!(message, Nas5gsmMessage::PduSessionReleaseComplete(_)));
    assert_eq!(events(actions), [Event::SessionReleased { psi, cause: SessionCause::Sm(36) }]);
    assert_eq!(ue.sessions().count(), 0);
    assert_eq!(ue.release_session(psi, now), Err(crate::ue::NasRefused::NoSession(psi)));
}

#[test]
fn the_network_releases_and_modifies_a_session() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = establish(&mut network, &mut ue, now);
    let command = NasPduSessionModificationCommand::new()
        .with_session_ambr(NasSessionAmbr::from_kbps(2_000, 1_000).unwrap());
    let nas = network.protect_sm(command, psi, 0);
    ue.receive(&nas, now);
    let (_, _, message) = network.unprotect_sm(&one(&mut ue));
    assert!(matches!(message, Nas5gsmMessage::PduSessionModificationComplete(_)));
    assert_eq!(ue.session(psi).unwrap().ambr_kbps, Some((2_000, 1_000)));

    let command =
        NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(GsmCause::NetworkFailure));
    let nas = network.protect_sm(command.clone(), psi, 0);
    ue.receive(&nas, now);
    let (_, _, message) = network.unprotect_sm(&one(&mut ue));
    assert!(matches!(message, Nas5gsmMessage::PduSessionReleaseComplete(_)));

    let nas = network.protect_sm(command, psi, 0);
    ue.receive(&nas, now);
    let (_, _, message) = network.unprotect_sm(&one(&mut ue));
    let Nas5gsmMessage::FiveGsmStatus(status) = message else { panic!("not 5GSM STATUS") };
    assert_eq!(status.fgsm_cause.cause(), Some(GsmCause::InvalidPduSessionIdentity));
}

#[test]
fn a_ue_has_at_most_fifteen_sessions() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    for _ in 0..15 {
        establish(&mut network, &mut ue, now);
    }
    assert!(ue.establish_session(&request(), now).is_err());
}

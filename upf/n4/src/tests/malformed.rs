//! Responses to malformed input.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use proptest::prelude::*;

/// A message with elements as bytes.
fn raw(message_type: u8, seid: Option<u64>, elements: &[u8]) -> Vec<u8> {
    Header { message_type, seid, sequence: 9, priority: None }.encode(|out| out.extend(elements))
}

#[test]
fn undecodable_datagrams_get_no_response() {
    let mut smf = Smf::associated();
    for bytes in [
        &[][..],
        &[0x20],
        &[0x20, 1, 0, 4, 0, 0],
        &raw(99, None, &[]),
        &raw(2, None, &[]),
        &raw(56, Some(1), &[]),
    ] {
        assert_eq!(smf.receive(bytes), [], "{bytes:02x?}");
    }
}

#[test]
fn an_unsupported_version_gets_version_not_supported() {
    let mut smf = Smf::associated();
    let mut bytes = raw(1, None, &[0, 96, 0, 4, 0, 0, 0, 1]);
    bytes[0] = 0x40;
    assert_eq!(smf.receive(&bytes), [Packet::node(9, VersionNotSupported {})]);
    // A response of another version gets no response.
    bytes[1] = 2;
    assert_eq!(smf.receive(&bytes), []);
}

#[test]
fn a_missing_mandatory_ie_is_named() {
    let mut smf = Smf::associated();
    let [Packet { message: Message::AssociationSetupResponse(answer), .. }] =
        &smf.receive(&raw(5, None, &[]))[..]
    else {
        panic!()
    };
    assert_eq!(answer.cause, Cause::MANDATORY_IE_MISSING);
    // An establishment without Node ID, whose CP F-SEID addresses the response.
    let fseid = [0, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0x50, 1, 127, 0, 0, 7];
    let mut bytes = raw(50, Some(0), &fseid);
    bytes[14] = 10;
    let answers = smf.receive(&bytes);
    let [
        Packet {
            seid: Some(CP_SEID), message: Message::SessionEstablishmentResponse(answer), ..
        },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(
        (answer.cause, answer.offending_ie),
        (Cause::MANDATORY_IE_MISSING, Some(OffendingIe(NodeId::TYPE)))
    );
}

#[test]
fn an_invalid_ie_length_is_named() {
    let (mut smf, seid, _) = Smf::in_session();
    // Update FAR with a FAR ID of two bytes.
    let elements = [0, 10, 0, 6, 0, 108, 0, 2, 0, 1];
    let answers = smf.receive(&raw(52, Some(seid), &elements));
    let [
        Packet {
            seid: Some(CP_SEID), message: Message::SessionModificationResponse(answer), ..
        },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(
        (answer.cause, answer.offending_ie),
        (Cause::INVALID_LENGTH, Some(OffendingIe(FarId::TYPE)))
    );
}

#[test]
fn an_unknown_session_gets_session_context_not_found() {
    let (mut smf, ..) = Smf::in_session();
    let answer = smf.session(42, SessionModificationRequest::default());
    assert!(matches!(answer.message,
            Message::SessionModificationResponse(a)
                if a.cause == Cause::SESSION_CONTEXT_NOT_FOUND));
    assert_eq!(answer.seid, Some(0));
    assert_eq!(smf.delete(42).cause, Cause::SESSION_CONTEXT_NOT_FOUND);
    // Even if the request for it is malformed.
    let answers = smf.receive(&raw(52, Some(42), &[0, 10, 0, 6, 0, 108, 0, 2, 0, 1]));
    let [Packet { message: Message::SessionModificationResponse(answer), .. }] = &answers[..]
    else {
        panic!()
    };
    assert_eq!(answer.cause, Cause::SESSION_CONTEXT_NOT_FOUND);
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn unexpected_requests_are_dropped() {
    let (mut smf, seid, _) = Smf::in_session();
    let report = super::super::report::report(ReportType::DLDR);
    assert_eq!(smf.receive(&Packet::session(seid, 3, report).encode()), []);
    // So is an unsolicited response.
    let answer = SessionReportResponse { cause: Cause::ACCEPTED, offending_ie: None, flags: None };
    assert_eq!(smf.receive(&Packet::session(seid, 3, answer).encode()), []);
}

proptest! {
    #[test]
    fn mutated_messages_are_rejected_without_a_panic(which in 0usize..4,
        changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6), cut: u16) {
        let (mut smf, seid, _) = Smf::in_session();
        let urr =
            measured(establishment(), ReportingTriggers::PERIO, |urr| urr.measurement_period =
            Some(MeasurementPeriod(1)));
        let mut bytes = match which {
            0 => Packet::session(0, 5, urr).encode(),
            1 => Packet::session(seid, 5, to_gnb(1)).encode(),
            2 => Packet::session(seid, 5, SessionDeletionRequest {}).encode(),
            _ => Packet::node(5, HeartbeatRequest { recovery: RecoveryTimeStamp(1) }).encode(),
        };
        for (at, value) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = value;
        }
        smf.n4.receive(address(), &bytes, smf.now);
        bytes.truncate(usize::from(cut) % bytes.len());
        smf.n4.receive(address(), &bytes, smf.now);
        for out in smf.n4.take_outgoing() {
            prop_assert!(Packet::decode(&out.bytes).is_ok());
        }
        smf.n4.status();
    }
}

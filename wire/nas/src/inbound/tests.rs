//! What is accepted, and what is not, at both ends.

use super::*;
use crate::*;

fn contexts() -> (NasSecurityContext, NasSecurityContext) {
    let kamf = KAmf::new(&[0x11; 32]);
    let context = || {
        NasSecurityContext::from_fresh_kamf(
            &kamf,
            IntegrityAlgorithm::NIA2,
            CipheringAlgorithm::NEA2,
        )
        .expect("algorithms that exist")
    };
    (context(), context())
}

fn registration_request() -> Vec<u8> {
    hex::decode("7e004179000d0102f8390000000000000010022e08a020000000000000").expect("hexadecimal")
}

fn service_request() -> Nas5gsMessage {
    let s_tmsi = STmsi::new(1, 0, 0xdead_beef).expect("it fits");
    let ngksi =
        NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0)).expect("it fits");
    Nas5gsMessage::new_5gmm(NasServiceRequest::new(
        ngksi,
        NasServiceType::from_service_type(ServiceType::Data),
        NasFGsMobileIdentity::from_s_tmsi(s_tmsi),
    ))
}

#[test]
fn before_security_only_the_listed_messages_may_be_plain() {
    let received = from_ue(None, false, &registration_request())
        .expect("a registration request may come plain");
    assert_eq!(received.assurance, Assurance::Plain);
    // REGISTRATION COMPLETE and a session message may not be unprotected.
    for bytes in [&[0x7e, 0x00, 0x43][..], &[0x2e, 0x05, 0x01, 0xc1, 0xff, 0xff]] {
        let refused = from_ue(None, false, bytes).expect_err("it may not come plain");
        assert!(matches!(refused.reason, Refusal::Unprotected(_)), "{refused}");
        assert!(refused.answer.is_none());
    }
    // Once exchange is secure, no message may.
    let refused =
        from_ue(None, true, &registration_request()).expect_err("it may not come plain any more");
    assert!(matches!(refused.reason, Refusal::Unprotected(_)));
    assert_eq!(refused.reason.label(), "unprotected");
}

#[test]
fn an_identity_in_clear_is_a_suci_or_none() {
    let identity = |identity| {
        Nas5gsMessage::new_5gmm(NasIdentityResponse::new(identity)).encode().expect("it encodes")
    };
    let suci = NasFGsMobileIdentity::from_suci(&Suci::Imsi(
        "suci-0-208-93-0000-0-0-0000000120".parse().expect("a SUCI"),
    ));
    assert!(from_ue(None, false, &identity(suci.expect("an identity"))).is_ok());
    assert!(from_ue(None, false, &identity(NasFGsMobileIdentity::from_no_identity())).is_ok());
    let imeisv = NasFGsMobileIdentity::from_imeisv("3534900698733190").expect("an IMEISV");
    assert!(from_ue(None, false, &identity(imeisv)).is_err());
}

#[test]
fn a_message_is_accepted_once() {
    let (mut ue, mut amf) = contexts();
    let complete = Nas5gsMessage::new_5gmm(NasRegistrationComplete::new());
    let sent = outbound::to_network(&mut ue, &complete).expect("it encodes");
    let received = from_ue(Some(&mut amf), true, &sent).expect("it verifies");
    assert_eq!(received.message, complete);
    assert!(received.is_verified());
    let replayed = from_ue(Some(&mut amf), true, &sent).expect_err("a replay");
    assert_eq!(replayed.reason, Refusal::Integrity);
    // The next message is accepted all the same.
    let sent = outbound::to_network(&mut ue, &complete).expect("it encodes");
    assert!(from_ue(Some(&mut amf), true, &sent).is_ok());
    // A changed octet is not.
    let mut forged = outbound::to_network(&mut ue, &complete).expect("it encodes");
    forged[7] ^= 1;
    assert_eq!(
        from_ue(Some(&mut amf), true, &forged).expect_err("forged").reason,
        Refusal::Integrity
    );
}

#[test]
fn a_service_request_that_cannot_be_verified_is_seen_as_such() {
    let (mut ue, _) = contexts();
    let sent = ue.protect_initial(&service_request()).expect("it encodes");
    // The AMF does not know the UE, or knows it with other keys.
    assert_eq!(from_ue(None, false, &sent).expect("seen").assurance, Assurance::Unverified);
    let kamf = KAmf::new(&[0x22; 32]);
    let mut other = NasSecurityContext::from_fresh_kamf(
        &kamf,
        IntegrityAlgorithm::NIA2,
        CipheringAlgorithm::NEA0,
    )
    .expect("algorithms that exist");
    assert_eq!(
        from_ue(Some(&mut other), false, &sent).expect("seen").assurance,
        Assurance::Unverified
    );
    // It is not processed once exchange is secure, and never in plain form.
    assert_eq!(
        from_ue(Some(&mut other), true, &sent).expect_err("discarded").reason,
        Refusal::Integrity
    );
    assert_eq!(from_ue(None, true, &sent).expect_err("discarded").reason, Refusal::NoContext);
    let plain = service_request().encode().expect("it encodes");
    assert!(matches!(
        from_ue(None, false, &plain).expect_err("discarded").reason,
        Refusal::Unprotected(_)
    ));
}

#[test]
fn the_message_of_a_ciphered_container_is_the_one_to_act_on() {
    let (mut ue, mut amf) = contexts();
    let Nas5gsMessage::Gmm(_, Nas5gmmMessage::ServiceRequest(request)) = service_request() else {
        unreachable!()
    };
    let status = NasUplinkDataStatus::from_sessions(&[5]).expect("a session");
    let request = Nas5gsMessage::new_5gmm((*request).clone().with_uplink_data_status(status));
    let sent = ue.protect_initial(&request).expect("it encodes");
    let received = from_ue(Some(&mut amf), false, &sent).expect("it verifies");
    assert_eq!(received.message, request);
    let Some(Nas5gsMessage::Gmm(_, Nas5gmmMessage::ServiceRequest(cleartext))) = received.cleartext
    else {
        panic!("the message as it was sent")
    };
    assert!(cleartext.uplink_data_status.is_none() && cleartext.nas_message_container.is_some());
}

#[test]
fn a_ciphered_message_without_a_context_is_discarded() {
    let (mut ue, _) = contexts();
    let complete = Nas5gsMessage::new_5gmm(NasRegistrationComplete::new());
    let sent = outbound::to_network(&mut ue, &complete).expect("it encodes");
    assert_eq!(from_ue(None, false, &sent).expect_err("unreadable").reason, Refusal::NoContext);
}

#[test]
fn a_faulty_message_from_the_ue_itself_is_answered() {
    let (mut ue, mut amf) = contexts();
    // An unknown message type, and then UL NAS TRANSPORT that ends early, both with a correct MAC.
    for (plain, cause) in [(vec![0x7e, 0x00, 0x01], 97), (vec![0x7e, 0x00, 0x67, 0x01], 96)] {
        let header = Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered;
        let sent = ue.protect_opaque_payload(plain, header, Direction::Uplink).expect("it encodes");
        let refused = from_ue(Some(&mut amf), true, &sent).expect_err("it does not decode");
        assert!(refused.authentic);
        assert_eq!(
            refused.answer.expect("an answer").encode().expect("it encodes"),
            [0x7e, 0x00, 0x64, cause]
        );
    }
    // An unknown element that requires comprehension, in REGISTRATION COMPLETE.
    let plain = vec![0x7e, 0x00, 0x43, 0x03, 0x01, 0x00];
    let header = Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered;
    let sent = ue.protect_opaque_payload(plain, header, Direction::Uplink).expect("it encodes");
    let refused = from_ue(Some(&mut amf), true, &sent).expect_err("it is not understood");
    assert_eq!(refused.reason, Refusal::NotComprehended(3));
    assert_eq!(
        refused.answer.expect("an answer").encode().expect("it encodes"),
        [0x7e, 0x00, 0x64, 96]
    );
    // The same without protection on a secured connection is not answered.
    assert!(
        from_ue(Some(&mut amf), true, &[0x7e, 0x00, 0x01]).expect_err("plain").answer.is_none()
    );
}

#[test]
fn a_ue_accepts_some_rejects_only_under_protection() {
    let reject = |cause: u8| vec![0x7e, 0x00, 0x44, cause];
    assert!(from_network(None, false, &reject(3)).is_ok());
    for cause in [76, 78, 81, 82] {
        assert!(from_network(None, false, &reject(cause)).is_err(), "{cause}");
    }
    let (mut ue, mut amf) = contexts();
    let protected =
        outbound::to_ue(&mut amf, &Nas5gsMessage::decode(&reject(76)).expect("a reject"));
    assert!(
        from_network(Some(&mut ue), true, &protected.expect("it encodes"))
            .expect("it verifies")
            .is_verified()
    );
}

#[test]
fn octets_that_are_no_message_are_discarded_or_answered_without_a_panic() {
    let (_, mut amf) = contexts();
    for bytes in [
        &[][..],
        &[0x7e],
        &[0x7e, 0x02],
        &[0x7e, 0x02, 0, 0, 0, 0, 0],
        &[0x7e, 0x0f, 0, 0, 0, 0, 0, 0x7e],
    ] {
        assert!(from_ue(Some(&mut amf), false, bytes).is_err());
        assert!(from_ue(None, false, bytes).is_err());
    }
}

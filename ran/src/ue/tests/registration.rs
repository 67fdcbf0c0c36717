//! Registration by SUCI and by 5G-GUTI, with every pair of algorithms.
use super::network::*;
use crate::ue::{Abort, Action, EstablishmentCause, Event, MmState, Slice};
use martlet_nas::*;
use std::time::{Duration, Instant};

const NEA: [CipheringAlgorithm; 4] = [
    CipheringAlgorithm::NEA0,
    CipheringAlgorithm::NEA1,
    CipheringAlgorithm::NEA2,
    CipheringAlgorithm::NEA3,
];
const NIA: [IntegrityAlgorithm; 3] =
    [IntegrityAlgorithm::NIA1, IntegrityAlgorithm::NIA2, IntegrityAlgorithm::NIA3];

#[test]
fn registration_by_suci_with_each_pair_of_algorithms() {
    let now = Instant::now();
    for nea in NEA {
        for nia in NIA {
            let mut config = config();
            config.requested_nssai = vec![Slice { sst: 1, sd: Some([1, 2, 3]) }];
            let (mut network, mut ue) =
                (Network::new(), crate::ue::UeNas::new(config, plmn()).unwrap());
            ue.register(RegistrationType::InitialRegistration, now).unwrap();
            let (request, initial) = one_initial(&mut ue);
            assert_eq!((initial.cause, initial.s_tmsi), (EstablishmentCause::MoSignalling, None));
            let Nas5gmmMessage::RegistrationRequest(request) =
                mm(Nas5gsMessage::decode(&request).unwrap())
            else {
                panic!("not REGISTRATION REQUEST")
            };
            assert_eq!(request.fgs_mobile_identity.to_string(), "suci-0-001-01-0-0-0-0000000001");
            assert!(request.ngksi.no_key_available());
            assert!(request.requested_nssai.is_none(), "a non-cleartext IE was sent in clear");

            let complete = network.secure(&mut ue, nea, nia, now);
            let container = complete.nas_message_container.expect("the complete request");
            let Nas5gmmMessage::RegistrationRequest(request) =
                mm(container.decode_as_nas_message().unwrap())
            else {
                panic!("not REGISTRATION REQUEST")
            };
            assert!(request.requested_nssai.is_some());

            let accept = network.protect(Network::registration_accept(7));
            ue.receive(&accept, now);
            let actions = actions(&mut ue);
            let [complete] = sent(&actions)[..] else { panic!("{actions:?}") };
            assert!(matches!(network.unprotect(complete), Nas5gmmMessage::RegistrationComplete(_)));
            let [Event::Registered(outcome)] = &events(actions)[..] else {
                panic!("not registered")
            };
            assert_eq!(outcome.guti, Some(guti(7)));
            assert_eq!(outcome.algorithms, Some((nea as u8, nia as u8)));
            assert_eq!(outcome.t3512, Some(Duration::from_secs(3600)));
            assert_eq!(outcome.allowed_nssai, [Slice { sst: 1, sd: Some([1, 2, 3]) }]);
            assert_eq!(ue.state(), MmState::Registered);
            assert!(ue.security().k_gnb().is_some());
        }
    }
}

#[test]
fn registration_by_guti_ciphers_the_non_cleartext_ies() {
    let now = Instant::now();
    let mut config = config();
    config.requested_nssai = vec![Slice { sst: 1, sd: None }];
    let (mut network, mut ue) = Network::registered(config, now);
    ue.connection_released(now);
    actions(&mut ue);
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    let (nas, initial) = one_initial(&mut ue);
    assert_eq!(initial.s_tmsi, Some(guti(0xc000_0001).s_tmsi()));
    assert_eq!(nas[1], 1, "an initial message is integrity protected and not ciphered");
    let Nas5gmmMessage::RegistrationRequest(request) = network.unprotect(&nas) else { panic!() };
    assert_eq!(request.fgs_mobile_identity.as_guti(), Some(guti(0xc000_0001)));
    assert!(request.requested_nssai.is_some(), "the container has the complete request");

    // The network knows the context and accepts at once, without a new 5G-GUTI: there is nothing to
    // complete.
    let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
    let accept = network.protect(NasRegistrationAccept::new(result));
    ue.receive(&accept, now);
    let actions = actions(&mut ue);
    assert!(sent(&actions).is_empty(), "{actions:?}");
    assert!(matches!(events(actions)[..], [Event::Registered(_)]));
}

#[test]
fn a_registration_reject_deletes_what_its_cause_invalidates() {
    let now = Instant::now();
    for (cause, forgets) in [(GmmCause::IllegalUe, true), (GmmCause::Congestion, false)] {
        let (mut network, mut ue) = Network::registered(config(), now);
        ue.connection_released(now);
        actions(&mut ue);
        ue.register(RegistrationType::InitialRegistration, now).unwrap();
        one_initial(&mut ue);
        let reject = network.protect(NasRegistrationReject::new(NasFGmmCause::from_cause(cause)));
        ue.receive(&reject, now);
        let events = events(actions(&mut ue));
        assert!(
            events.contains(&Event::RegistrationRejected { cause: cause.as_u8() }),
            "{events:?}"
        );
        assert_eq!(ue.state(), MmState::Deregistered);
        assert_eq!(ue.guti().is_none(), forgets);
    }
}

#[test]
fn registration_without_an_answer_is_retried_and_then_aborted() {
    let mut now = Instant::now();
    let mut config = config();
    config.timers.registration_attempts = 2;
    let (t3510, t3511) = (config.timers.t3510, config.timers.t3511);
    let mut ue = crate::ue::UeNas::new(config, plmn()).unwrap();
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    now += t3510;
    assert_eq!(ue.next_timeout(), Some(now));
    ue.handle_timeout(now);
    assert_eq!(actions(&mut ue), [Action::ReleaseConnection]);
    ue.connection_released(now);
    assert_eq!(actions(&mut ue), []);
    now += t3511;
    ue.handle_timeout(now);
    one_initial(&mut ue);
    now += t3510;
    ue.handle_timeout(now);
    assert_eq!(
        actions(&mut ue),
        [Action::Event(Event::RegistrationAborted(Abort::Timeout)), Action::ReleaseConnection]
    );
    assert_eq!(ue.state(), MmState::Deregistered);
}

#[test]
fn only_the_suci_is_sent_without_protection() {
    let now = Instant::now();
    let mut ue = ue();
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    let request = |kind| {
        let kind = NasFGsIdentityType::from_identity_type(kind).unwrap();
        NasIdentityRequest::new(kind)
    };
    let clear = |kind| Nas5gsMessage::new_5gmm(request(kind)).encode().unwrap();
    ue.receive(&clear(MobileIdentityType::Suci), now);
    let Nas5gmmMessage::IdentityResponse(response) =
        mm(Nas5gsMessage::decode(&one(&mut ue)).unwrap())
    else {
        panic!("not IDENTITY RESPONSE")
    };
    assert!(response.mobile_identity.as_suci().is_some());
    ue.receive(&clear(MobileIdentityType::Imeisv), now);
    assert!(matches!(&events(actions(&mut ue))[..], [Event::Discarded(_)]));

    let mut network = Network::new();
    network.secure(&mut ue, CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2, now);
    let nas = network.protect(request(MobileIdentityType::Imeisv));
    ue.receive(&nas, now);
    let response = one(&mut ue);
    let Nas5gmmMessage::IdentityResponse(response) = network.unprotect(&response) else { panic!() };
    assert!(response.mobile_identity.as_imeisv().is_some());
}

#[test]
fn a_periodic_registration_follows_in_idle_mode() {
    let mut now = Instant::now();
    let mut config = config();
    config.requested_nssai = vec![Slice { sst: 1, sd: None }];
    let (mut network, mut ue) = Network::registered(config, now);
    ue.connection_released(now);
    actions(&mut ue);
    now += Duration::from_secs(3600);
    ue.handle_timeout(now);
    let (nas, _) = one_initial(&mut ue);
    let Nas5gmmMessage::RegistrationRequest(request) = network.unprotect(&nas) else { panic!() };
    let kind = request.fgs_registration_type.registration_type();
    assert_eq!(kind, Some(RegistrationType::PeriodicRegistrationUpdating));
    assert!(request.requested_nssai.is_none(), "it requests the slices again");
}

#[test]
fn unprotected_messages_are_discarded_once_messages_are_protected() {
    let now = Instant::now();
    let (_, mut ue) = Network::registered(config(), now);
    let reject = NasRegistrationReject::new(NasFGmmCause::from_cause(GmmCause::IllegalUe));
    ue.receive(&Nas5gsMessage::new_5gmm(reject).encode().unwrap(), now);
    assert!(matches!(&events(actions(&mut ue))[..], [Event::Discarded(_)]));
    assert_eq!(ue.state(), MmState::Registered);
}

#[test]
fn a_replayed_downlink_message_is_discarded() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let status =
        network.protect(NasFGmmStatus::new(NasFGmmCause::from_cause(GmmCause::Congestion)));
    ue.receive(&status, now);
    assert_eq!(events(actions(&mut ue)), [Event::Status { psi: None, cause: 22 }]);
    ue.receive(&status, now);
    assert!(matches!(&events(actions(&mut ue))[..], [Event::Discarded(_)]));
}

#[test]
fn invalid_messages_do_not_panic_and_an_unknown_type_gets_a_status() {
    let now = Instant::now();
    let mut ue = ue();
    for nas in [
        &[][..],
        &[0x7e],
        &[0x7e, 0],
        &[0x7e, 3, 0, 0, 0, 0, 0],
        &[0x7e, 0, 0x42],
        &[0x2e, 1, 1, 0xc1],
    ] {
        ue.receive(nas, now);
        assert!(sent(&actions(&mut ue)).is_empty() || nas.len() > 2, "{nas:?}");
    }
    ue.receive(&[0x7e, 0x00, 0x01], now);
    let status = one(&mut ue);
    assert_eq!(status, [0x7e, 0x00, 0x64, 97]);
}

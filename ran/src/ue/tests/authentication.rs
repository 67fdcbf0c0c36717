//! 5G AKA and its failures.
use super::network::*;
use crate::ue::{Abort, Action, Event, MmState};
use martlet_nas::*;
use std::time::Instant;

fn failure(nas: &[u8]) -> NasAuthenticationFailure {
    match mm(Nas5gsMessage::decode(nas).unwrap()) {
        Nas5gmmMessage::AuthenticationFailure(failure) => *failure,
        other => panic!("not AUTHENTICATION FAILURE: {other:?}"),
    }
}

fn registering(now: Instant) -> (Network, crate::ue::UeNas) {
    let mut ue = ue();
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    (Network::new(), ue)
}

#[test]
fn a_wrong_mac_gets_cause_20_and_a_valid_challenge_succeeds() {
    let now = Instant::now();
    let (mut network, mut ue) = registering(now);
    ue.receive(&network.challenge_with([0x80, 0], true), now);
    let actions = actions(&mut ue);
    assert_eq!(failure(sent(&actions)[0]).fgmm_cause.cause(), Some(GmmCause::MacFailure));
    assert_eq!(events(actions), [Event::AuthenticationFailureSent { cause: 20 }]);
    network.secure(&mut ue, CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2, now);
    assert!(ue.security().current.is_some());
}

#[test]
fn an_old_sqn_gets_cause_21_and_resynchronization_succeeds() {
    let now = Instant::now();
    let mut config = config();
    config.sqn = 0x10_0000;
    let mut ue = crate::ue::UeNas::new(config, plmn()).unwrap();
    let mut network = Network::new();
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    ue.receive(&network.challenge(), now);
    let failure = failure(&one(&mut ue));
    assert_eq!(failure.fgmm_cause.cause(), Some(GmmCause::SynchFailure));
    let auts = failure.authentication_failure_parameter.unwrap().auts().copied().unwrap();
    assert_eq!(network.resynchronise(&auts), 0x10_0000);
    network.secure(&mut ue, CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2, now);
}

#[test]
fn a_challenge_that_is_not_for_5g_gets_cause_26() {
    let now = Instant::now();
    let (mut network, mut ue) = registering(now);
    ue.receive(&network.challenge_with([0, 0], false), now);
    let cause = failure(&one(&mut ue)).fgmm_cause.cause();
    assert_eq!(cause, Some(GmmCause::NonFiveGAuthenticationUnacceptable));
}

#[test]
fn a_key_set_identifier_in_use_gets_cause_71() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    network.rand = [0x24; 16];
    let request = network.challenge();
    let Nas5gmmMessage::AuthenticationRequest(request) =
        mm(Nas5gsMessage::decode(&request).unwrap())
    else {
        panic!()
    };
    let nas = network.protect(*request);
    ue.receive(&nas, now);
    let response = one(&mut ue);
    let Nas5gmmMessage::AuthenticationFailure(failure) = network.unprotect(&response) else {
        panic!()
    };
    assert_eq!(failure.fgmm_cause.cause(), Some(GmmCause::NgKsiAlreadyInUse));
}

#[test]
fn a_repeated_challenge_gets_the_same_answer() {
    let now = Instant::now();
    let (mut network, mut ue) = registering(now);
    let challenge = network.challenge();
    ue.receive(&challenge, now);
    let first = one(&mut ue);
    ue.receive(&challenge, now);
    assert_eq!(one(&mut ue), first);
}

#[test]
fn the_ue_aborts_when_t3520_expires() {
    let now = Instant::now();
    let (mut network, mut ue) = registering(now);
    ue.receive(&network.challenge_with([0x80, 0], true), now);
    actions(&mut ue);
    ue.handle_timeout(now + ue.config().timers.t3520);
    assert_eq!(
        actions(&mut ue),
        [
            Action::Event(Event::RegistrationAborted(Abort::NetworkNotAuthentic)),
            Action::ReleaseConnection
        ]
    );
}

#[test]
fn an_authentication_reject_ends_the_registration() {
    let now = Instant::now();
    let (mut network, mut ue) = registering(now);
    ue.receive(&network.challenge(), now);
    one(&mut ue);
    ue.receive(&Nas5gsMessage::new_5gmm(NasAuthenticationReject::new()).encode().unwrap(), now);
    assert_eq!(
        events(actions(&mut ue)),
        [Event::RegistrationAborted(Abort::AuthenticationRejected)]
    );
    assert_eq!(ue.state(), MmState::Deregistered);
    assert!(ue.security().partial.is_none());
}

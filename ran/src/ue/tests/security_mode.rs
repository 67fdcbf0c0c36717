//! Security mode control: what the UE accepts and what it rejects.
use super::network::*;
use crate::ue::{Abort, Event, UeNas};
use martlet_nas::*;
use std::time::Instant;

const NEA2: CipheringAlgorithm = CipheringAlgorithm::NEA2;
const NIA2: IntegrityAlgorithm = IntegrityAlgorithm::NIA2;

/// A UE that has answered its challenge.
fn authenticated(now: Instant) -> (Network, UeNas) {
    let (mut network, mut ue) = (Network::new(), ue());
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    ue.receive(&network.challenge(), now);
    one(&mut ue);
    (network, ue)
}

/// The plain SECURITY MODE REJECT that the UE answers with.
fn rejected(ue: &mut UeNas) -> u8 {
    let actions = actions(ue);
    let nas = sent(&actions)[0];
    assert_eq!(nas[1], 0, "no context was in use before: the reject is plain");
    let Nas5gmmMessage::SecurityModeReject(reject) = mm(Nas5gsMessage::decode(nas).unwrap()) else {
        panic!("not SECURITY MODE REJECT")
    };
    let cause = reject.fgmm_cause.cause_raw();
    assert!(
        events(actions).contains(&Event::RegistrationAborted(Abort::SecurityModeRejected(cause)))
    );
    assert!(ue.security().current.is_none(), "the context was taken into use");
    cause
}

#[test]
fn a_changed_security_capability_gets_cause_23() {
    let now = Instant::now();
    let (mut network, mut ue) = authenticated(now);
    let changed = NasUeSecurityCapability::from_capabilities(0xf0, 0x80);
    ue.receive(&network.security_mode_command(NEA2, NIA2, changed, |_| {}), now);
    assert_eq!(rejected(&mut ue), 23);
}

#[test]
fn a_longer_security_capability_gets_cause_23() {
    let now = Instant::now();
    let (mut network, mut ue) = authenticated(now);
    let longer = NasUeSecurityCapability::from_capabilities_extended(0xf0, 0xf0, 0xf0, 0xf0);
    ue.receive(&network.security_mode_command(NEA2, NIA2, longer, |_| {}), now);
    assert_eq!(rejected(&mut ue), 23);
}

#[test]
fn null_integrity_is_rejected_unless_allowed() {
    let now = Instant::now();
    let (nea0, nia0) = (CipheringAlgorithm::NEA0, IntegrityAlgorithm::NIA0);
    let (mut network, mut ue) = authenticated(now);
    let capability = ue.security_capability.clone();
    ue.receive(&network.security_mode_command(nea0, nia0, capability, |_| {}), now);
    assert_eq!(rejected(&mut ue), 24);

    let mut config = config();
    config.null_integrity_allowed = true;
    let (mut network, mut ue) = (Network::new(), UeNas::new(config, plmn()).unwrap());
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    network.secure(&mut ue, nea0, nia0, now);
}

#[test]
fn an_unsupported_algorithm_is_rejected() {
    let now = Instant::now();
    let mut config = config();
    config.nea = 0xa0;
    let (mut network, mut ue) = (Network::new(), UeNas::new(config, plmn()).unwrap());
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    ue.receive(&network.challenge(), now);
    one(&mut ue);
    let capability = ue.security_capability.clone();
    ue.receive(
        &network.security_mode_command(CipheringAlgorithm::NEA1, NIA2, capability, |_| {}),
        now,
    );
    assert_eq!(rejected(&mut ue), 24);
}

#[test]
fn a_wrong_mac_and_an_unknown_ngksi_are_rejected() {
    let now = Instant::now();
    let (mut network, mut ue) = authenticated(now);
    let capability = ue.security_capability.clone();
    let mut nas = network.security_mode_command(NEA2, NIA2, capability.clone(), |_| {});
    nas[3] ^= 1;
    ue.receive(&nas, now);
    assert_eq!(rejected(&mut ue), 24);

    let (mut network, mut ue) = authenticated(now);
    network.ngksi = 5;
    ue.receive(&network.security_mode_command(NEA2, NIA2, capability, |_| {}), now);
    assert_eq!(rejected(&mut ue), 24);
}

#[test]
fn the_imeisv_and_the_complete_request_are_sent_if_requested() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    ue.connection_released(now);
    actions(&mut ue);
    ue.register(RegistrationType::InitialRegistration, now).unwrap();
    one_initial(&mut ue);
    network.ngksi = 1;
    network.rand = [0x77; 16];
    ue.receive(&network.challenge(), now);
    one(&mut ue);
    let capability = ue.security_capability.clone();
    let command = network.security_mode_command(NEA2, NIA2, capability, |command| {
        command.set_imeisv_request(NasImeisvRequest::from_requested(true));
        command.set_additional_5g_security_information(
            NasAdditional5gSecurityInformation::from_flags(true, false),
        );
    });
    ue.receive(&command, now);
    let nas = one(&mut ue);
    let Nas5gmmMessage::SecurityModeComplete(complete) = network.unprotect(&nas) else { panic!() };
    assert!(complete.imeisv.unwrap().as_imeisv().is_some());
    assert!(complete.nas_message_container.is_some());
}

#[test]
fn a_message_that_is_not_ciphered_is_discarded() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let request = || {
        let kind = NasFGsIdentityType::from_identity_type(MobileIdentityType::Imeisv).unwrap();
        NasIdentityRequest::new(kind)
    };
    let message = Nas5gsMessage::new_5gmm(request());
    let sht = Nas5gsSecurityHeaderType::IntegrityProtected;
    let context = network.context.as_mut().unwrap();
    let nas = context.protect(&message, sht, Direction::Downlink).unwrap();
    ue.receive(&nas, now);
    assert!(matches!(&events(actions(&mut ue))[..], [Event::Discarded(_)]));
    // The same message, ciphered.
    ue.receive(&network.protect(request()), now);
    let response = one(&mut ue);
    assert!(matches!(network.unprotect(&response), Nas5gmmMessage::IdentityResponse(_)));
}

#[test]
fn new_algorithms_with_the_current_key_keep_the_nas_counts() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let capability = ue.security_capability.clone();
    let kamf = network.kamf.clone().unwrap();
    let context = network.context.as_mut().unwrap();
    context.reselect_algorithms(&kamf, IntegrityAlgorithm::NIA1, CipheringAlgorithm::NEA3).unwrap();
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0)).unwrap();
    let algorithms =
        NasSecurityAlgorithms::from_algorithms(CipheringAlgorithm::NEA3, IntegrityAlgorithm::NIA1);
    let command =
        Nas5gsMessage::new_5gmm(NasSecurityModeCommand::new(algorithms, ngksi, capability));
    let sht = Nas5gsSecurityHeaderType::IntegrityProtectedWithNewFiveGNasSecurityContext;
    let nas = context.protect(&command, sht, Direction::Downlink).unwrap();
    ue.receive(&nas, now);
    let complete = one(&mut ue);
    assert!(matches!(network.unprotect(&complete), Nas5gmmMessage::SecurityModeComplete(_)));
    assert_eq!(
        ue.security().algorithms(),
        Some((CipheringAlgorithm::NEA3, IntegrityAlgorithm::NIA1))
    );
}

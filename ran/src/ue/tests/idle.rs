//! Idle mode: service request, paging, de-registration, configuration update.
use super::network::*;
use super::sessions::establish;
use crate::ue::{
    Abort, Action, EstablishmentCause, Event, IdleBehaviour, MmState, ServicePurpose, SessionCause,
    UeNas,
};
use martlet_nas::*;
use martlet_security::nas_5gs::{derive_kgnb, derive_nh};
use std::time::Instant;

#[test]
fn a_service_request_for_data_lists_its_sessions() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = establish(&mut network, &mut ue, now);
    ue.connection_released(now);
    ue.request_service(ServicePurpose::Data, &[psi], now).unwrap();
    let (nas, initial) = one_initial(&mut ue);
    assert_eq!(initial.cause, EstablishmentCause::MoData);
    assert_eq!(initial.s_tmsi, ue.guti().map(|g| g.s_tmsi()));
    assert_eq!(nas[1], 1);
    let k_gnb = ue.security().k_gnb().unwrap();
    let Nas5gmmMessage::ServiceRequest(request) = network.unprotect(&nas) else { panic!() };
    assert_eq!(request.service_type.service_type(), Some(ServiceType::Data));
    assert_eq!(request.uplink_data_status.unwrap().sessions_with_data(), [psi]);
    assert_eq!(request.pdu_session_status.unwrap().active_sessions(), [psi]);
    // K_gNB is derived from the COUNT of this message: REGISTRATION COMPLETE and the
    // session's request precede it.
    let count = NasCount::new(3).unwrap();
    let expected = derive_kgnb(network.kamf.as_ref().unwrap(), count);
    assert_eq!(k_gnb.as_octets(), expected.as_octets());

    let accept = NasServiceAccept::new()
        .with_pdu_session_status(NasPduSessionStatus::from_sessions(&[psi]).unwrap());
    let nas = network.protect(accept);
    ue.receive(&nas, now);
    let expected =
        Event::ServiceAccepted { active_sessions: Some(vec![psi]), failed_reactivation: vec![] };
    assert_eq!(events(actions(&mut ue)), [expected]);
}

#[test]
fn either_of_two_unanswered_requests_may_trigger_access_stratum_security() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    // First by the SERVICE REQUEST, then by the registration that follows it.
    for (first, trigger) in [(2, 2), (4, 5)] {
        ue.connection_released(now);
        actions(&mut ue);
        assert!(ue.security().k_gnb().is_none(), "the keys of the last connection are deleted");
        ue.paged(now);
        ue.register(RegistrationType::MobilityRegistrationUpdating, now).unwrap();
        let both = actions(&mut ue);
        for nas in sent(&both) {
            network.unprotect(nas);
        }
        let k_gnb = |count: u32| {
            let count = NasCount::new(count).unwrap();
            derive_kgnb(network.kamf.as_ref().unwrap(), count)
        };
        let has = |ue: &UeNas, count| ue.security().has_k_gnb(k_gnb(count).as_octets());
        let accepted = |ue: &UeNas| (1..8).filter(|count| has(ue, *count)).collect::<Vec<_>>();
        assert_eq!(accepted(&ue), [first, first + 1]);
        ue.security_mut().begin_access(k_gnb(trigger).as_octets());
        let next = derive_nh(network.kamf.as_ref().unwrap(), &k_gnb(trigger));
        assert!(ue.security_mut().take_next_hop(1, next.as_octets()));
        // A later K_gNB belongs to a message that follows.
        assert_eq!(accepted(&ue), [first + 1]);
        let accept = network.protect(NasServiceAccept::new());
        ue.receive(&accept, now);
        let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
        let accept = network.protect(NasRegistrationAccept::new(result));
        ue.receive(&accept, now);
        assert_eq!(ue.state(), MmState::Registered);
    }
}

#[test]
fn a_session_missing_in_the_network_is_released_locally() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let psi = establish(&mut network, &mut ue, now);
    ue.connection_released(now);
    ue.request_service(ServicePurpose::Signalling, &[], now).unwrap();
    let (nas, _) = one_initial(&mut ue);
    network.unprotect(&nas);
    let accept = NasServiceAccept::new()
        .with_pdu_session_status(NasPduSessionStatus::from_sessions(&[]).unwrap());
    let nas = network.protect(accept);
    ue.receive(&nas, now);
    let events = events(actions(&mut ue));
    assert_eq!(events[0], Event::SessionReleased { psi, cause: SessionCause::StatusInactive });
    assert_eq!(ue.sessions().count(), 0);
}

#[test]
fn paging_is_answered_at_once_or_on_request() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    ue.paged(now);
    assert!(
        matches!(events(actions(&mut ue))[..], [Event::Discarded(_)]),
        "a connected UE is not paged"
    );
    ue.connection_released(now);
    ue.paged(now);
    let mut polled = actions(&mut ue);
    assert_eq!(polled.remove(0), Action::Event(Event::Paged));
    let Action::Send { nas, initial: Some(initial) } = &polled[0] else { panic!("{polled:?}") };
    assert_eq!(initial.cause, EstablishmentCause::MtAccess);
    let Nas5gmmMessage::ServiceRequest(request) = network.unprotect(nas) else { panic!() };
    assert_eq!(request.service_type.service_type(), Some(ServiceType::MobileTerminatedServices));

    let mut manual = config();
    manual.idle = IdleBehaviour::Manual;
    let (_, mut ue) = Network::registered(manual, now);
    ue.connection_released(now);
    ue.paged(now);
    assert_eq!(actions(&mut ue), [Action::Event(Event::Paged)]);
}

#[test]
fn a_service_reject_with_cause_9_deregisters() {
    let now = Instant::now();
    let (_, mut ue) = Network::registered(config(), now);
    ue.connection_released(now);
    ue.request_service(ServicePurpose::Signalling, &[], now).unwrap();
    one_initial(&mut ue);
    let cause = NasFGmmCause::from_cause(GmmCause::UeIdentityCannotBeDerivedByTheNetwork);
    ue.receive(&Nas5gsMessage::new_5gmm(NasServiceReject::new(cause)).encode().unwrap(), now);
    assert_eq!(events(actions(&mut ue)), [Event::ServiceRejected { cause: 9 }]);
    assert_eq!((ue.state(), ue.guti()), (MmState::Deregistered, None));
}

#[test]
fn a_service_request_without_an_answer_is_aborted() {
    let now = Instant::now();
    let (_, mut ue) = Network::registered(config(), now);
    ue.connection_released(now);
    ue.request_service(ServicePurpose::Signalling, &[], now).unwrap();
    one_initial(&mut ue);
    ue.handle_timeout(now + ue.config().timers.t3517);
    assert_eq!(
        actions(&mut ue),
        [Action::Event(Event::ServiceAborted(Abort::Timeout)), Action::ReleaseConnection]
    );
}

#[test]
fn an_idle_ue_requests_service_before_a_session() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    ue.connection_released(now);
    let psi = ue.establish_session(&Default::default(), now).unwrap();
    let (nas, _) = one_initial(&mut ue);
    assert!(matches!(network.unprotect(&nas), Nas5gmmMessage::ServiceRequest(_)));
    let nas = network.protect(NasServiceAccept::new());
    ue.receive(&nas, now);
    let (_, header, _) = network.unprotect_sm(&one(&mut ue));
    assert_eq!(header.pdu_session_identity, psi);
}

#[test]
fn ue_initiated_deregistration() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    establish(&mut network, &mut ue, now);
    ue.deregister(false, now).unwrap();
    let polled = actions(&mut ue);
    let nas = sent(&polled)[0];
    let Nas5gmmMessage::DeregistrationRequestUeOriginating(request) = network.unprotect(nas) else {
        panic!()
    };
    assert!(!request.de_registration_type.switch_off());
    let accept = network.protect(NasDeregistrationAcceptUeOriginating::new());
    ue.receive(&accept, now);
    assert_eq!(events(actions(&mut ue)), [Event::Deregistered]);
    assert_eq!(ue.state(), MmState::Deregistered);
    assert!(ue.guti().is_some(), "the next registration uses the 5G-GUTI");
}

#[test]
fn deregistration_with_switch_off_does_not_wait() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    ue.connection_released(now);
    ue.deregister(true, now).unwrap();
    let (nas, _) = one_initial(&mut ue);
    let Nas5gmmMessage::DeregistrationRequestUeOriginating(request) = network.unprotect(&nas)
    else {
        panic!()
    };
    assert!(request.de_registration_type.switch_off());
    assert_eq!(ue.state(), MmState::Deregistered);
}

#[test]
fn the_deregistration_request_is_retransmitted() {
    let mut now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    ue.deregister(false, now).unwrap();
    one(&mut ue);
    for _ in 0..4 {
        now += ue.config().timers.t3521;
        ue.handle_timeout(now);
        let nas = one(&mut ue);
        assert!(matches!(
            network.unprotect(&nas),
            Nas5gmmMessage::DeregistrationRequestUeOriginating(_)
        ));
    }
    now += ue.config().timers.t3521;
    ue.handle_timeout(now);
    assert_eq!(actions(&mut ue), [Action::Event(Event::Deregistered), Action::ReleaseConnection]);
}

#[test]
fn network_initiated_deregistration() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let kind = NasDeRegistrationType::default()
        .with_access_type(AccessTypeValue::ThreeGppAccess)
        .with_re_registration_required(true);
    let nas = network.protect(NasDeregistrationRequestUeTerminated::new(kind));
    ue.receive(&nas, now);
    let polled = actions(&mut ue);
    let nas = sent(&polled)[0].to_vec();
    assert!(matches!(network.unprotect(&nas), Nas5gmmMessage::DeregistrationAcceptUeTerminated(_)));
    let expected = Event::DeregisteredByNetwork { cause: None, re_registration_required: true };
    assert_eq!(events(polled), [expected]);
}

#[test]
fn a_configuration_update_is_acknowledged_if_requested() {
    let now = Instant::now();
    let (mut network, mut ue) = Network::registered(config(), now);
    let command = NasConfigurationUpdateCommand::new()
        .with_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(
            true, false,
        ))
        .with_fg_guti(NasFGsMobileIdentity::from_guti(guti(99)))
        .with_full_name_for_network(NasNetworkName::from_name("Martlet", false));
    let nas = network.protect(command);
    ue.receive(&nas, now);
    let polled = actions(&mut ue);
    let nas = sent(&polled)[0].to_vec();
    assert!(matches!(network.unprotect(&nas), Nas5gmmMessage::ConfigurationUpdateComplete(_)));
    assert_eq!(ue.guti(), Some(guti(99)));
    let expected = Event::ConfigurationUpdated {
        new_guti: true,
        registration_requested: false,
        network_name: Some("Martlet".into()),
    };
    assert_eq!(events(polled), [expected]);
}

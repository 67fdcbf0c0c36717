//! UEs that are not as they should be, and networks that are not.
use super::core::{Core, KEY, OPC, ue};
use super::n2::{downlink, initial, next, setup};
use super::smf::Behaviour;
use crate::procedures::registration::ue_context_transfer::ReceivedContext;
use crate::procedures::session::user_plane_activation;
use crate::ue::{Event, Ue as UeContext, UeHandle};
use bytes::Bytes;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::{OperatorKey, PduSessionRequest, Ue, UeConfig, UeError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;

/// How a registration fails.
async fn refused(ue_1: &Ue) -> UeError {
    ue_1.register().await.expect_err("no registration")
}

#[tokio::test]
async fn a_wrong_key_and_an_unknown_subscriber_are_rejected() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut config = ue(1);
    config.operator_key = OperatorKey::Opc([1; 16]);
    let other_ue = gnb.new_ue(config).unwrap();
    println!("{}", refused(&other_ue).await);
    let unknown = gnb.new_ue(ue(5000)).unwrap();
    println!("{}", refused(&unknown).await);
    core.wait_for((0, 0, 0)).await;
    // Others are not concerned.
    gnb.new_ue(ue(2)).unwrap().register().await.unwrap();
}

#[tokio::test]
async fn an_unknown_subscriber_of_another_network_is_refused_in_this_one_alone() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    for (imsi, cause) in [("208930000000001", 11), ("001010000005000", 3)] {
        let config = UeConfig::new(imsi, 2, KEY, OperatorKey::Opc(OPC)).unwrap();
        let refused = refused(&gnb.new_ue(config).unwrap()).await;
        assert_eq!(refused.cause(), Some(cause), "{imsi}: {refused}");
    }
    core.wait_for((0, 0, 0)).await;
}

/// The UEs of an AMF that has lost its contexts: after any other cause than #9 or #10 they would
/// wait for T3502, 12 minutes.
#[tokio::test]
async fn a_periodic_registration_of_an_unknown_ue_is_followed_by_an_initial_one() {
    let core = Core::start().await;
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    next(&mut from_amf).await;
    // Protected by a security context that the AMF does not have, with a 5G-GUTI of this AMF.
    let request = "7e01a1b2c3d4057e004103000bf200f11001004000000007";
    to_amf.send(initial(5, hex::decode(request).unwrap())).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(hex::encode(nas), "7e004409", "no identification or authentication before");
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
    assert_eq!(core.counts().1, 0);
}

#[tokio::test]
async fn an_emergency_registration_without_usim_is_rejected_at_once() {
    let core = Core::start().await;
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    next(&mut from_amf).await;
    // With the IMEI 490154203237518.
    let request = hex::decode("7e00417400084b09512430325781").unwrap();
    to_amf.send(initial(5, request)).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(hex::encode(nas), "7e004405");
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
}

#[tokio::test]
async fn an_emergency_registration_of_a_subscriber_is_rejected_unless_nia0_is_configured() {
    use crate::config::IntegrityName::{NIA0, NIA2};
    use martlet_ran::ue::RegistrationType::EmergencyRegistration;
    for with_nia0 in [false, true] {
        let core = Core::start_with(|config| {
            config.security.integrity = if with_nia0 { vec![NIA2, NIA0] } else { vec![NIA2] };
        })
        .await;
        let gnb = core.gnb().await;
        let ue_1 = gnb.new_ue(ue(1)).unwrap();
        // By SUCI, then by the 5G-GUTI of a verified context.
        for _ in 0..2 {
            match ue_1.register_as(EmergencyRegistration).await {
                Ok(registered) => {
                    let nia = registered.algorithms.map(|(_, nia)| nia);
                    assert_eq!((nia, with_nia0), (Some(2), true));
                }
                Err(rejected) => assert_eq!((rejected.cause(), with_nia0), (Some(111), false)),
            }
            ue_1.register().await.unwrap();
            ue_1.deregister().await.unwrap();
        }
    }
}

#[tokio::test]
async fn null_integrity_needs_an_emergency_registration_in_the_complete_request() {
    use crate::config::IntegrityName::{NIA0, NIA2};
    let core = Core::start_with(|config| config.security.integrity = vec![NIA2, NIA0]).await;
    // REGISTRATION REQUEST for emergency registration in place of initial registration.
    let mut was_changed = false;
    let between = move |message: Bytes| {
        let at = message.windows(3).position(|window| window == [0x7e, 0x00, 0x41]);
        let Some(at) = at.filter(|_| !std::mem::replace(&mut was_changed, true)) else {
            return message;
        };
        let mut changed = message.to_vec();
        assert_eq!(changed[at + 3] & 7, 1);
        changed[at + 3] ^= 5;
        changed.into()
    };
    let gnb = core.gnb_through(between, |_| {}).await.unwrap();
    let mut config = ue(1);
    (config.nia, config.null_integrity_allowed) = (0x80, true);
    let refused = refused(&gnb.new_ue(config).unwrap()).await;
    assert_eq!(refused.cause(), Some(23), "{refused}");
    assert_eq!(core.counts().1, 0, "registered");
}

#[tokio::test]
async fn a_usim_that_is_ahead_is_resynchronised() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut config = ue(1);
    config.sqn = 1 << 30;
    gnb.new_ue(config).unwrap().register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
}

#[tokio::test]
async fn every_pair_of_algorithms_works() {
    use crate::config::{CipheringName::*, IntegrityName::*};
    for (ciphering, integrity, nea, nia) in [
        (NEA0, NIA1, 0, 1),
        (NEA1, NIA1, 1, 1),
        (NEA2, NIA2, 2, 2),
        (NEA3, NIA3, 3, 3),
        (NEA0, NIA0, 0, 0),
    ] {
        let core = Core::start_with(|config| {
            config.security.ciphering = vec![ciphering];
            config.security.integrity = vec![integrity];
        })
        .await;
        let gnb = core.gnb().await;
        let ue_1 = gnb.new_ue(ue(1)).unwrap();
        let registered = ue_1.register().await;
        if integrity == NIA0 {
            // NIA0 is for emergency alone (TS 24.501, 5.4.2.3).
            registered.unwrap_err();
            core.wait_for((0, 0, 0)).await;
            continue;
        }
        registered.unwrap();
        let status = ue_1.status().await.unwrap();
        assert_eq!(status.algorithms, Some((nea, nia)));
        ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_ue_without_a_common_algorithm_is_rejected() {
    let core =
        Core::start_with(|config| config.security.integrity = vec![crate::IntegrityName::NIA3])
            .await;
    let gnb = core.gnb().await;
    let mut config = ue(1);
    config.nia = 0x20;
    let refused = refused(&gnb.new_ue(config).unwrap()).await;
    assert!(refused.to_string().contains("23"), "{refused}");
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_full_amf_rejects_with_a_back_off_timer() {
    let core = Core::start_with(|config| config.limits.max_ues = 1).await;
    let gnb = core.gnb().await;
    let first = gnb.new_ue(ue(1)).unwrap();
    first.register().await.unwrap();
    let second = gnb.new_ue(ue(2)).unwrap();
    let refused = refused(&second).await;
    assert!(refused.to_string().contains("22"), "{refused}");
    core.wait_for((1, 1, 1)).await;
    // A registered UE replaces its own context: the same USIM in another device.
    let mut config = ue(1);
    config.sqn = 1 << 20;
    let first = gnb.new_ue(config).unwrap();
    first.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
    // A deregistered context is evicted.
    first.deregister().await.unwrap();
    core.wait_for((1, 0, 0)).await;
    let third = gnb.new_ue(ue(3)).unwrap();
    third.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
}

#[tokio::test]
async fn a_ue_outside_the_served_tracking_areas_is_rejected() {
    let core = Core::start().await;
    let gnb = core.gnb_with(|config| config.tac = 77).await;
    let refused = refused(&gnb.new_ue(ue(1)).unwrap()).await;
    assert!(refused.to_string().contains("15"), "{refused}");
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn slices_that_are_not_there_are_rejected() {
    use martlet_ran::Slice;
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut config = ue(1);
    config.requested_nssai = vec![Slice { sst: 9, sd: None }, Slice { sst: 1, sd: None }];
    let registered = gnb.new_ue(config).unwrap().register().await.unwrap();
    assert_eq!(registered.allowed_nssai, [Slice { sst: 1, sd: None }]);
    assert!(registered.rejected_nssai);
}

#[tokio::test]
async fn a_ue_that_registers_twice_replaces_its_old_context() {
    let core = Core::start().await;
    let (gnb, other) = (core.gnb().await, core.gnb().await);
    let first = gnb.new_ue(ue(1)).unwrap();
    first.register().await.unwrap();
    first.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    // The same USIM in another device, with its SUCI.
    let mut config = ue(1);
    config.sqn = 1 << 20;
    let second = other.new_ue(config).unwrap();
    second.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
    assert_eq!(core.smf.sessions(), 0);
    first.wait_idle().await.unwrap();
    second.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
}

#[tokio::test]
async fn sessions_that_no_new_context_waits_for_are_released() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let _ue_1 = core.with_session(&gnb, ue(1)).await;
    let (answer, new_context) = oneshot::channel();
    drop(new_context);
    core.amf.find("imsi-001010000000001").unwrap().send(Event::Replaced(answer)).unwrap();
    core.smf.wait_for("release 1").await;
    assert_eq!(core.smf.sessions(), 0);
}

#[tokio::test]
async fn uplink_data_of_a_session_that_the_amf_does_not_have_reports_its_end() {
    let core = Core::start().await;
    let (sender, inbox) = martlet_event_queue::bounded(8);
    let handle = UeHandle { number: core.amf.tables.next_number(), sender };
    let mut context = UeContext::new(core.amf.clone(), handle, inbox, false);
    assert!(!user_plane_activation::request(&mut context, &[]).await.has_ended);
    let activation = user_plane_activation::request(&mut context, &[1]).await;
    assert!(activation.has_ended && activation.sessions.is_empty());
}

#[tokio::test]
async fn sessions_of_a_context_from_the_store_that_is_rejected_are_released() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let _ue_1 = core.with_session(&gnb, ue(1)).await;
    // The context that had them is gone.
    let (answer, sessions) = oneshot::channel();
    core.amf.find("imsi-001010000000001").unwrap().send(Event::Replaced(answer)).unwrap();
    let sessions = sessions.await.unwrap();
    assert_eq!((sessions.len(), core.smf.sessions()), (1, 1));
    let (sender, inbox) = martlet_event_queue::bounded(8);
    let handle = UeHandle { number: core.amf.tables.next_number(), sender };
    let mut taken = UeContext::new(core.amf.clone(), handle, inbox, false);
    taken.sessions.extend(sessions);
    ReceivedContext::from_store(None).reject(&mut taken).await;
    assert_eq!(core.smf.sessions(), 0);
}

#[tokio::test]
async fn a_short_message_is_not_returned_to_its_ue() {
    use martlet_nas::*;
    use martlet_ran::UeEvent;
    use martlet_ran::ue::Event;
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    let mut events = ue_1.subscribe().await.unwrap();
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::Sms);
    let cp_data = NasPayloadContainer::new(vec![0x09, 0x01, 0x00]);
    let transport = NasUlNasTransport::new(kind, cp_data);
    ue_1.send_nas(Nas5gsMessage::new_5gmm(transport)).await.unwrap();
    let status = async {
        loop {
            if let UeEvent::Nas(Event::Status { psi, cause }) = events.recv().await.unwrap() {
                return (psi, cause);
            }
        }
    };
    let status = tokio::time::timeout(std::time::Duration::from_secs(30), status).await;
    assert_eq!(status, Ok((None, GmmCause::PayloadWasNotForwarded.as_u8())));
}

#[tokio::test]
async fn a_forged_5g_guti_does_not_affect_its_ue() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    let guti = ue_1.status().await.unwrap().guti.unwrap();

    // Registration, service and deregistration requests in its name, unprotected or with a wrong
    // MAC.
    use martlet_nas::*;
    let ngksi =
        || NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0)).unwrap();
    let identity = || NasFGsMobileIdentity::from_guti(guti);
    let deregistration = NasDeregistrationRequestUeOriginating::new(
        NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess),
        ngksi(),
        identity(),
    );
    let registration = NasRegistrationRequest::new(
        NasFGsRegistrationType::from_registration_type(RegistrationType::InitialRegistration),
        ngksi(),
        identity(),
    )
    .with_ue_security_capability(NasUeSecurityCapability::from_capabilities(0xe0, 0xe0));
    let service = NasServiceRequest::new(
        ngksi(),
        NasServiceType::from_service_type(ServiceType::Data),
        NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi()),
    );
    let messages = [
        Nas5gsMessage::new_5gmm(deregistration),
        Nas5gsMessage::new_5gmm(registration),
        Nas5gsMessage::new_5gmm(service),
    ];
    for (n, message) in messages.into_iter().enumerate() {
        let attacker = gnb.new_ue(ue(50 + n as u32)).unwrap();
        attacker.send_raw_nas(message.encode().unwrap()).await.unwrap();
        let mut wrong = vec![0x7e, 0x01, 1, 2, 3, 4, 0];
        wrong.extend(message.encode().unwrap());
        let attacker = gnb.new_ue(ue(60 + n as u32)).unwrap();
        attacker.send_raw_nas(wrong).await.unwrap();
    }
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let handle = core.amf.find("imsi-001010000000001").unwrap();
    assert!(!handle.sender.is_closed());
    assert_eq!((core.smf.sessions(), core.counts().1), (1, 1));
    ue_1.release_pdu_session(1).await.unwrap();
    ue_1.deregister().await.unwrap();
}

#[tokio::test]
async fn a_registration_type_that_is_changed_on_its_way_ends_no_session() {
    use martlet_ran::{IdleBehaviour, RegistrationType};
    let core = Core::start().await;
    let is_changed = Arc::new(AtomicBool::new(true));
    let was_changed = is_changed.clone();
    // REGISTRATION REQUEST for initial registration in place of mobility registration updating.
    let between = move |message: Bytes| {
        let at = message.windows(3).position(|window| window == [0x7e, 0x00, 0x41]);
        let Some(at) = at.filter(|_| !was_changed.swap(true, Ordering::Relaxed)) else {
            return message;
        };
        let mut changed = message.to_vec();
        assert_eq!(changed[at + 3] & 7, 2);
        changed[at + 3] ^= 3;
        changed.into()
    };
    let gnb = core.gnb_through(between, |_| {}).await.unwrap();
    let mut config = ue(1);
    config.idle = IdleBehaviour::Manual;
    let ue_1 = core.with_session(&gnb, config).await;
    ue_1.release_to_idle().await.unwrap();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    is_changed.store(false, Ordering::Relaxed);
    ue_1.register_as(RegistrationType::MobilityRegistrationUpdating).await.unwrap();
    assert!(is_changed.load(Ordering::Relaxed), "the request was not changed");
    core.wait_for((1, 1, 1)).await;
    assert_eq!(core.smf.sessions(), 1);
    assert_eq!(ue_1.status().await.unwrap().sessions.len(), 1);
}

#[tokio::test]
async fn replayed_and_unprotected_messages_are_dropped() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    ue_1.replay_last_nas().await.unwrap();
    let status = martlet_nas::reaction::status(martlet_nas::GmmCause::Congestion);
    ue_1.send_with_wrong_mac(status.clone()).await.unwrap();
    ue_1.send_raw_nas(status.encode().unwrap()).await.unwrap();
    ue_1.send_raw_nas(vec![0x7e]).await.unwrap();
    ue_1.send_raw_nas(vec![0x7e, 0x02, 1, 2, 3, 4, 5, 6]).await.unwrap();
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    assert_eq!(core.counts(), (1, 1, 1));
}

#[tokio::test]
async fn sessions_that_are_not_to_be_had_are_refused() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    let not_subscribed = PduSessionRequest { dnn: Some("elsewhere".into()), ..Default::default() };
    let refused = ue_1.establish_pdu_session(not_subscribed).await.unwrap_err();
    assert!(refused.to_string().contains("91"), "{refused}");
    core.smf.set_behaviour(Behaviour::Reject);
    let refused = ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap_err();
    assert!(refused.to_string().contains("27"), "{refused}");
    core.smf.set_behaviour(Behaviour::Fail);
    let refused = ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap_err();
    assert!(refused.to_string().contains("67"), "{refused}");
    core.smf.set_behaviour(Behaviour::Accept);
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    let dnn = Some("internet.mnc001.mcc001.gprs".into());
    let with_operator = PduSessionRequest { dnn, ..Default::default() };
    ue_1.establish_pdu_session(with_operator).await.unwrap();
}

#[tokio::test]
async fn many_ues_at_once() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ues: Vec<_> = (1..=64).map(|n| gnb.new_ue(ue(n)).unwrap()).collect();
    let mut work = tokio::task::JoinSet::new();
    for ue_1 in ues {
        work.spawn(async move {
            ue_1.register().await.unwrap();
            ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
            ue_1
        });
    }
    let ues = work.join_all().await;
    core.wait_for((64, 64, 64)).await;
    assert_eq!(core.smf.sessions(), 64);
    drop(ues);
}

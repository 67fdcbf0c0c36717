//! Scripted UEs and gNBs that do not answer.
use super::core::{Core, ue};
use super::n2::{downlink, initial, next, setup, setup_of_session_9, uplink};
use super::script::Script;
use super::smf::Behaviour;
use crate::AmfConfig;
use bytes::Bytes;
use martlet_ausf::Ausf;
use martlet_nas::*;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::PduSessionRequest;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

const SUCI: &str = "suci-0-001-01-0000-0-0-0000000001";

/// REGISTRATION REQUEST with this identity.
pub(super) fn registration(identity: NasFGsMobileIdentity) -> NasRegistrationRequest {
    NasRegistrationRequest::new(
        NasFGsRegistrationType::from_registration_type(RegistrationType::InitialRegistration),
        NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::NoKey).unwrap(),
        identity,
    )
}

pub(super) fn by_suci() -> NasFGsMobileIdentity {
    NasFGsMobileIdentity::from_suci(&Suci::Imsi(SUCI.parse().unwrap())).unwrap()
}

pub(super) fn capable(request: NasRegistrationRequest) -> Vec<u8> {
    let capability = NasUeSecurityCapability::from_capabilities(0xf0, 0x70);
    Nas5gsMessage::new_5gmm(request.with_ue_security_capability(capability)).encode().unwrap()
}

fn quick(config: &mut AmfConfig) {
    config.timers.t3560_ms = 40;
    config.timers.t3570_ms = 40;
    config.timers.t3550_ms = 40;
    config.timers.ngap_ms = 300;
    config.timers.nas_attempts = 3;
}

/// A core and a scripted gNB.
async fn by_hand() -> (Core, mpsc::Sender<Bytes>, mpsc::Receiver<(u16, Bytes)>) {
    let core = Core::start_with(quick).await;
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Successful_NGSetup);
    (core, to_amf, from_amf)
}

#[tokio::test]
async fn a_request_is_repeated_as_often_as_it_may_and_the_connection_ended() {
    let (core, to_amf, mut from_amf) = by_hand().await;
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    for _ in 0..3 {
        let (_, nas) = downlink(&next(&mut from_amf).await);
        assert_eq!(nas[..3], [0x7e, 0x00, 0x56], "AUTHENTICATION REQUEST");
    }
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
    // The gNB never confirms.
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_challenge_without_a_response_is_deleted_at_the_ausf() {
    const DELETE: &str = "Delete5gAkaAuthenticationResult";
    let (core, script) = (Core::start().await, Script::new());
    core.start_scripted::<Ausf>(13, &script).await;
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Successful_NGSetup);
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let (amf_id, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas[..3], [0x7e, 0x00, 0x56], "AUTHENTICATION REQUEST");
    // A challenge that the UE refuses.
    let failure = NasAuthenticationFailure::new(NasFGmmCause::from_cause(GmmCause::MacFailure));
    let failure = Nas5gsMessage::new_5gmm(failure).encode().unwrap();
    to_amf.send(uplink(amf_id, 1, failure)).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas, [0x7e, 0x00, 0x5b, 0x01], "IDENTITY REQUEST for the SUCI");
    script.wait_for_answers(DELETE, &[204]).await;
    let response = Nas5gsMessage::new_5gmm(NasIdentityResponse::new(by_suci())).encode().unwrap();
    to_amf.send(uplink(amf_id, 1, response)).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas[..3], [0x7e, 0x00, 0x56], "AUTHENTICATION REQUEST");
    // A challenge whose connection is lost.
    drop((to_amf, from_amf));
    script.wait_for_answers(DELETE, &[204, 204]).await;
}

#[tokio::test]
async fn an_unknown_5g_guti_is_asked_who_it_is() {
    let (core, to_amf, mut from_amf) = by_hand().await;
    let guti =
        core.amf.served.guamis[0].id.guti(core.amf.served.plmns[0].plmn, 0x0bad_cafe).unwrap();
    to_amf
        .send(initial(1, capable(registration(NasFGsMobileIdentity::from_guti(guti)))))
        .await
        .unwrap();
    let (amf_id, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas, [0x7e, 0x00, 0x5b, 0x01], "IDENTITY REQUEST for the SUCI");
    let response = Nas5gsMessage::new_5gmm(NasIdentityResponse::new(by_suci())).encode().unwrap();
    to_amf.send(uplink(amf_id, 1, response)).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas[..3], [0x7e, 0x00, 0x56], "AUTHENTICATION REQUEST");
    // A UE that responds with "no identity".
    to_amf
        .send(initial(2, capable(registration(NasFGsMobileIdentity::from_guti(guti)))))
        .await
        .unwrap();
    let mut asked = None;
    while asked.is_none() {
        let (amf_id, nas) = downlink(&next(&mut from_amf).await);
        asked = (nas[2] == 0x5b).then_some(amf_id);
    }
    let none =
        Nas5gsMessage::new_5gmm(NasIdentityResponse::new(NasFGsMobileIdentity::from_no_identity()));
    to_amf.send(uplink(asked.unwrap(), 2, none.encode().unwrap())).await.unwrap();
    loop {
        let pdu = next(&mut from_amf).await;
        if pdu.kind() == Kind::Initiating_DownlinkNASTransport && downlink(&pdu).1[2] == 0x44 {
            assert_eq!(downlink(&pdu).1, [0x7e, 0x00, 0x44, 9]);
            break;
        }
    }
}

#[tokio::test]
async fn another_ngksi_is_chosen_and_a_ue_that_refuses_for_ever_is_rejected() {
    let (core, to_amf, mut from_amf) = by_hand().await;
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let in_use =
        NasAuthenticationFailure::new(NasFGmmCause::from_cause(GmmCause::NgKsiAlreadyInUse));
    let in_use = Nas5gsMessage::new_5gmm(in_use).encode().unwrap();
    let mut seen = Vec::new();
    loop {
        let (amf_id, nas) = downlink(&next(&mut from_amf).await);
        if nas == [0x7e, 0x00, 0x58] {
            break; // AUTHENTICATION REJECT
        }
        assert_eq!(nas[..3], [0x7e, 0x00, 0x56]);
        seen.push(nas[3]);
        to_amf.send(uplink(amf_id, 1, in_use.clone())).await.unwrap();
    }
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_request_without_capabilities_or_of_another_kind_is_rejected() {
    let (core, to_amf, mut from_amf) = by_hand().await;
    // The scripted UE cannot authenticate itself. The AMF misses the capability before that.
    to_amf.send(initial(1, vec![0x7e, 0x00, 0x41])).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas, [0x7e, 0x00, 0x44, 96], "REGISTRATION REJECT, #96");
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
    // Uplink NAS transport as the first message: the UE is unknown.
    to_amf.send(initial(2, vec![0x7e, 0x00, 0x67, 0x01, 0x00, 0x01, 0x00])).await.unwrap();
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Initiating_UEContextRelease);
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_reused_ran_ue_ngap_id_starts_a_new_connection() {
    let (core, to_amf, mut from_amf) = by_hand().await;
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let (first, _) = downlink(&next(&mut from_amf).await);
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let second = loop {
        let (amf_id, _) = downlink(&next(&mut from_amf).await);
        if amf_id != first {
            break amf_id;
        }
    };
    assert_eq!(core.amf.tables.connections(), [second]);
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_new_request_takes_the_place_of_the_old_one() {
    let (_core, to_amf, mut from_amf) = by_hand().await;
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let (amf_id, first) = downlink(&next(&mut from_amf).await);
    // The same again changes nothing.
    to_amf.send(uplink(amf_id, 1, capable(registration(by_suci())))).await.unwrap();
    // Another registration starts again, with another challenge.
    let other = registration(by_suci())
        .with_requested_nssai(NasNssai::from_snssais(&[NasSNssai::from_sst_sd(1, None)]).unwrap());
    to_amf.send(uplink(amf_id, 1, capable(other))).await.unwrap();
    let mut challenges = vec![first];
    for _ in 0..4 {
        let pdu = next(&mut from_amf).await;
        if pdu.kind() == Kind::Initiating_DownlinkNASTransport {
            challenges.push(downlink(&pdu).1);
        }
    }
    challenges.dedup();
    assert_eq!(challenges.len(), 2, "one challenge for each request");
}

#[tokio::test]
async fn a_session_that_the_gnb_does_not_set_up_is_reported() {
    use martlet_sbi_api::namf_communication::NgapIeType;
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    core.smf.set_behaviour(Behaviour::Accept);
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    // The gNB has no user plane of the session any more, and is then given a transfer that it
    // cannot read.
    ue_1.release_to_idle().await.unwrap();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    ue_1.service_request_for(martlet_ran::ServicePurpose::Signalling, &[]).await.unwrap();
    let supi = "imsi-001010000000001";
    core.smf
        .transfer(supi, 1, None, Some((NgapIeType::PduResSetupReq, vec![0xff; 3])))
        .await
        .unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_FAIL").await;
    ue_1.deregister().await.unwrap();
}

/// A response about another session alone comes too late for an earlier request.
#[tokio::test]
async fn a_late_response_does_not_answer_the_setup_of_another_session() {
    let core = Core::start().await;
    let held: Arc<Mutex<Option<Bytes>>> = Arc::default();
    let (holding, mut is_first) = (held.clone(), true);
    let between = move |message: Bytes| {
        let late = setup_of_session_9(&message).filter(|_| std::mem::take(&mut is_first));
        let Some(late) = late else { return message };
        *holding.lock().unwrap() = Some(message);
        late
    };
    let gnb = core.gnb_through(between, |_| {}).await.unwrap();
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    let response = loop {
        if let Some(response) = held.lock().unwrap().take() {
            break response;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    gnb.send_raw_ngap(1, response.to_vec()).await.unwrap();
    let requests = core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert!(!requests.contains(&"update 1 DEACTIVATED".to_string()), "{requests:?}");
}

#[tokio::test]
async fn the_network_changes_and_releases_sessions() {
    use martlet_ngap::transfer::ModifyRequest;
    use martlet_sbi_api::namf_communication::NgapIeType;
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    let supi = "imsi-001010000000001";
    let change = ModifyRequest {
        ambr: Some(martlet_ngap::transfer::Ambr { downlink: 5, uplink: 5 }),
        ..Default::default()
    };
    let n2 = Some((NgapIeType::PduResModReq, change.encode().unwrap()));
    core.smf.transfer(supi, 1, None, n2).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_MOD_RSP").await;
    let command =
        NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(GsmCause::RegularDeactivation));
    let command = Nas5gsMessage::new_5gsm(command, 1, 0).encode().unwrap();
    let n2 = Some((NgapIeType::PduResRelCmd, super::smf::release_command()));
    core.smf.transfer(supi, 1, Some(command), n2).await.unwrap();
    let requests = core.smf.wait_for("update 1 release complete").await;
    assert!(requests.contains(&"update 1 PDU_RES_REL_RSP".to_string()), "{requests:?}");
    assert!(ue_1.status().await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn the_udm_ends_a_registration() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    let handle = core.amf.find("imsi-001010000000001").unwrap();
    let reason = martlet_sbi_api::nudm_uecm::DeregistrationReason::SubscriptionWithdrawn;
    handle.send(crate::ue::Event::Deregister(reason, None)).unwrap();
    core.wait_for((0, 0, 0)).await;
    assert_eq!(core.smf.sessions(), 0);
    ue_1.wait_idle().await.unwrap();
    assert!(ue_1.status().await.unwrap().guti.is_some());
    // It may come again.
    ue_1.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
}

#[tokio::test]
async fn the_udm_ends_the_registration_of_an_idle_ue() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    ue_1.release_to_idle().await.unwrap();
    let mut events = ue_1.subscribe().await.unwrap();
    let handle = core.amf.find("imsi-001010000000001").unwrap();
    let reason = martlet_sbi_api::nudm_uecm::DeregistrationReason::ReregistrationRequired;
    handle.send(crate::ue::Event::Deregister(reason, None)).unwrap();
    // It is paged, connects, and is notified.
    let requests = async {
        loop {
            let event = events.recv().await.unwrap();
            if let martlet_ran::UeEvent::Nas(martlet_ran::ue::Event::DeregisteredByNetwork {
                re_registration_required,
                ..
            }) = event
            {
                return re_registration_required;
            }
        }
    };
    assert!(tokio::time::timeout(std::time::Duration::from_secs(30), requests).await.unwrap());
    core.wait_for((0, 0, 0)).await;
    assert_eq!(core.smf.sessions(), 0);
}

//! The life of a UE.
use super::core::{Core, ue};
use bytes::Bytes;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ngap::{NgapPduKind as Kind, ie};
use martlet_ran::PduSessionRequest;
use martlet_ran::ue::{IdleBehaviour, RegistrationType, ServicePurpose};
use tokio::sync::broadcast;

#[tokio::test]
async fn registration_session_and_deregistration() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    assert!(gnb.amf().unwrap().name.starts_with("amf-"));
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    let registered = ue_1.register().await.unwrap();
    let guti = registered.guti.unwrap();
    assert!(core.amf.served.allocated(&guti));
    assert_eq!(core.counts(), (1, 1, 1));

    let session = ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    assert_eq!(session.ipv4.unwrap().octets(), [10, 45, 0, 1]);
    let requests = core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert_eq!(requests, ["create 1 1 internet", "update 1 PDU_RES_SETUP_RSP"]);

    ue_1.release_pdu_session(1).await.unwrap();
    let requests = core.smf.wait_for("update 1 release complete").await;
    assert_eq!(
        requests,
        ["update 1 release request", "update 1 PDU_RES_REL_RSP", "update 1 release complete"]
    );
    assert_eq!(core.smf.sessions(), 0);

    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    ue_1.deregister().await.unwrap();
    assert_eq!(core.smf.wait_for("release 1").await, ["release 1"]);
    core.wait_for((1, 0, 0)).await;

    // The context is still there: no authentication is needed.
    let again = ue_1.register().await.unwrap();
    assert_ne!(again.guti.unwrap(), guti);
    core.wait_for((1, 1, 1)).await;
    ue_1.switch_off().await.unwrap();
    core.wait_for((1, 0, 0)).await;
}

#[tokio::test]
async fn mobility_and_periodic_registrations_keep_the_sessions() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    ue_1.release_to_idle().await.unwrap();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    for kind in [
        RegistrationType::PeriodicRegistrationUpdating,
        RegistrationType::MobilityRegistrationUpdating,
    ] {
        let before = ue_1.status().await.unwrap().guti;
        ue_1.register_as(kind).await.unwrap();
        let status = ue_1.status().await.unwrap();
        assert_ne!(status.guti, before);
        assert_eq!(status.sessions.len(), 1);
        ue_1.release_to_idle().await.unwrap();
    }
    assert_eq!(core.smf.sessions(), 1);
    // An initial registration starts without sessions.
    ue_1.forget_registration().await.unwrap();
    ue_1.register().await.unwrap();
    assert_eq!(core.smf.sessions(), 0);
    core.wait_for((1, 1, 1)).await;
}

/// Whether the next INITIAL CONTEXT SETUP REQUEST has the UE's radio capability.
async fn has_radio_capability(messages: &mut broadcast::Receiver<Bytes>) -> bool {
    loop {
        let pdu = NGAP_PDU::decode(&messages.recv().await.unwrap()).unwrap().into_owned();
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            return pdu.ie::<ie::UERadioCapability>().is_some();
        }
    }
}

#[tokio::test]
async fn an_initial_registration_deletes_the_radio_capability() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut messages = gnb.subscribe();
    let mut config = ue(1);
    config.radio_capability = vec![7; 100];
    config.idle = IdleBehaviour::Manual;
    let ue_1 = gnb.new_ue(config).unwrap();
    ue_1.register().await.unwrap();
    assert!(!has_radio_capability(&mut messages).await, "no gNB has sent it");
    ue_1.release_to_idle().await.unwrap();
    ue_1.register_as(RegistrationType::PeriodicRegistrationUpdating).await.unwrap();
    assert!(has_radio_capability(&mut messages).await);
    ue_1.release_to_idle().await.unwrap();
    // The equipment may be another one with the same SIM, or may have other bands.
    ue_1.register().await.unwrap();
    assert!(!has_radio_capability(&mut messages).await);
    // The gNB has asked the UE again.
    ue_1.release_to_idle().await.unwrap();
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    assert!(has_radio_capability(&mut messages).await);
}

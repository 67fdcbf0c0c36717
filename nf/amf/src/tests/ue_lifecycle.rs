//! The life of a UE.
use super::core::{Core, ue};
use martlet_ran::PduSessionRequest;
use martlet_ran::ue::RegistrationType;

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

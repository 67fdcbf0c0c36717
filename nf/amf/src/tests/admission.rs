//! More procedures than may be at work at the same time.
use super::core::{Core, ue};
use super::n2::{downlink, initial, next, setup};
use super::timers::{by_suci, capable, registration};
use crate::Limit;
use crate::concurrency::Kind as Procedure;
use bytes::Bytes;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::NotifyReleased;
use martlet_ngap::{build_ngap, ie};
use martlet_ran::{PduSessionRequest, RegistrationType, Ue};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};

/// A UE that has the only slot for registrations, and does not answer.
async fn silent(core: &Core) -> (mpsc::Sender<Bytes>, mpsc::Receiver<(u16, Bytes)>) {
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Successful_NGSetup);
    to_amf.send(initial(1, capable(registration(by_suci())))).await.unwrap();
    let (_, nas) = downlink(&next(&mut from_amf).await);
    assert_eq!(nas[..3], [0x7e, 0x00, 0x56], "AUTHENTICATION REQUEST");
    (to_amf, from_amf)
}

fn status(core: &Core, kind: &str) -> serde_json::Value {
    core.amf.concurrency.status()[kind].clone()
}

async fn until(condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), met).await.expect("the condition in time");
}

#[tokio::test]
async fn a_full_queue_rejects_with_a_back_off_timer() {
    let core = Core::start_with(|config| {
        config.concurrency.registration = Limit::Fixed(1);
        config.concurrency.queue = 0;
        config.concurrency.slot_timeout_ms = 60_000;
    })
    .await;
    let _silent = silent(&core).await;
    let gnb = core.gnb().await;
    let refused =
        gnb.new_ue(ue(2)).unwrap().register().await.expect_err("there is no slot and no queue");
    assert_eq!(refused.cause(), Some(22), "{refused}");
}

#[tokio::test]
async fn a_connected_ue_that_is_rejected_has_no_active_user_plane() {
    let core = Core::start_with(|config| {
        config.concurrency.registration = Limit::Fixed(1);
        config.concurrency.queue = 0;
    })
    .await;
    let gnb = core.gnb().await;
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    let _slot = core.amf.concurrency.of(Procedure::Registration).enter(0).await.unwrap();
    let refused = ue_1.register_as(RegistrationType::MobilityRegistrationUpdating).await;
    let refused = refused.map(drop).expect_err("there is no slot and no queue");
    assert_eq!(refused.cause(), Some(22), "{refused}");
    // It stays registered. With an active user plane here, it would get none any more.
    core.smf.wait_for("update 1 DEACTIVATED").await;
    core.wait_for((1, 1, 0)).await;
    assert_eq!(core.smf.sessions(), 1);
}

#[tokio::test]
async fn a_ue_that_does_not_respond_loses_its_slot_to_the_next_in_the_queue() {
    let core = Core::start_with(|config| {
        config.concurrency.registration = Limit::Fixed(1);
        config.concurrency.slot_timeout_ms = 50;
    })
    .await;
    let _silent = silent(&core).await;
    let gnb = core.gnb().await;
    let ues: Vec<Ue> = (2..12).map(|n| gnb.new_ue(ue(n)).unwrap()).collect();
    let registered = futures_util::future::join_all(ues.iter().map(Ue::register)).await;
    assert!(registered.iter().all(Result::is_ok), "{registered:?}");
    let idle = serde_json::json!({"limit": 1, "running": 0, "waiting": 0});
    assert_eq!(status(&core, "registration"), idle, "every slot is given back");
}

#[tokio::test]
async fn a_ue_that_disconnects_while_queued_is_removed_from_the_queue() {
    let core = Core::start_with(|config| {
        config.concurrency.registration = Limit::Fixed(1);
        config.concurrency.slot_timeout_ms = 60_000;
    })
    .await;
    let _silent = silent(&core).await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(2)).unwrap();
    let waits = async {
        until(|| status(&core, "registration")["waiting"] == 1).await;
        gnb.abort();
    };
    let (registered, ()) = tokio::join!(ue_1.register(), waits);
    registered.expect_err("its gNB has disconnected");
    core.wait_for((1, 0, 1)).await;
    assert_eq!(status(&core, "registration")["waiting"], 0);
}

#[tokio::test]
async fn sessions_are_queued_too() {
    let core = Core::start_with(|config| {
        config.concurrency.pdu_session_establishment = Limit::Fixed(1);
        config.concurrency.service_request = Limit::Auto;
    })
    .await;
    let gnb = core.gnb().await;
    let ues: Vec<Ue> = (1..9).map(|n| gnb.new_ue(ue(n)).unwrap()).collect();
    for ue_1 in &ues {
        ue_1.register().await.unwrap();
    }
    let sessions = ues.iter().map(|ue_1| ue_1.establish_pdu_session(PduSessionRequest::default()));
    let sessions = futures_util::future::join_all(sessions).await;
    assert!(sessions.iter().all(Result::is_ok), "{sessions:?}");
    assert_eq!(status(&core, "pdu_session_establishment")["running"], 0);
    for ue_1 in &ues {
        ue_1.release_to_idle().await.unwrap();
        ue_1.service_request().await.unwrap();
    }
    assert_eq!(status(&core, "service_request")["running"], 0);
}

/// PDU SESSION RESOURCE NOTIFY of session 1 that the gNB has released, for the UE of the next
/// INITIAL CONTEXT SETUP REQUEST.
async fn released_by_gnb(from_amf: &mut broadcast::Receiver<Bytes>) -> Vec<u8> {
    let pdu = loop {
        let message = from_amf.recv().await.unwrap();
        let pdu = NGAP_PDU::decode(&message).unwrap();
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            break pdu.into_owned();
        }
    };
    let cause = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
    let transfer = NotifyReleased { cause }.encode().unwrap();
    let item = PDUSessionResourceReleasedItemNot::new(PDUSessionID(1), transfer.into(), None);
    let notify = build_ngap!(
        InitiatingMessage,
        PDUSessionResourceNotify,
        PDUSessionResourceNotify,
        AMF_UE_NGAP_ID(pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0),
        RAN_UE_NGAP_ID(pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0),
        PDUSessionResourceReleasedListNot(PDUSessionResourceReleasedListNot(vec![item])),
    );
    notify.unwrap().encode().unwrap()
}

#[tokio::test]
async fn messages_of_a_queued_ue_are_not_lost() {
    let core = Core::start_with(|config| {
        config.concurrency.pdu_session_establishment = Limit::Fixed(1);
    })
    .await;
    let gnb = core.gnb().await;
    let mut from_amf = gnb.subscribe();
    let ue_1 = core.with_session(&gnb, ue(1)).await;
    let notify = released_by_gnb(&mut from_amf).await;
    let handle = core.amf.find("imsi-001010000000001").unwrap();
    let at_amf = core.amf.gnbs.all()[0].clone();
    let gate = core.amf.concurrency.of(Procedure::PduSessionEstablishment);
    let is_queued = || status(&core, "pdu_session_establishment")["waiting"] == 1;
    let establish = || ue_1.establish_pdu_session(PduSessionRequest::default());

    // The second request arrives while the first waits, and a message of the gNB after it.
    let slot = gate.enter(0).await.unwrap();
    let before = at_amf.received();
    let arrived = async {
        until(is_queued).await;
        until(|| at_amf.received() == before + 2).await;
        gnb.send_raw_ngap(1, notify).await.unwrap();
        until(|| at_amf.received() == before + 3).await;
        until(|| handle.sender.capacity() == handle.sender.max_capacity()).await;
        core.smf.notes();
        drop(slot);
    };
    let (second, third, ()) = tokio::join!(establish(), establish(), arrived);
    assert_eq!((second.unwrap().psi, third.unwrap().psi), (2, 3));
    let mut notes = core.smf.wait_for("update 1 PDU_RES_NTY_REL").await;
    notes.retain(|note| note.starts_with("create"));
    let in_order = notes.iter().map(|note| note.split(' ').nth(1).unwrap());
    assert!(in_order.eq(["2", "3"]), "{notes:?}");

    // What ends the wait does so while no slot is free.
    let _slot = gate.enter(0).await.unwrap();
    let leave_queue = async |by: &str| {
        let queued = async {
            let _ = establish().await;
            std::future::pending::<()>().await
        };
        let left = async {
            until(is_queued).await;
            match by {
                "registration" => drop(ue_1.register().await.expect(by)),
                "deregistration" => ue_1.deregister().await.expect(by),
                _ => ue_1.release_to_idle().await.expect(by),
            }
        };
        tokio::select! { () = queued => {}, () = left => {} }
        let empty = serde_json::json!({"limit": 1, "running": 1, "waiting": 0});
        assert_eq!(status(&core, "pdu_session_establishment"), empty, "{by}");
    };
    leave_queue("registration").await;
    leave_queue("deregistration").await;
    ue_1.register().await.unwrap();
    leave_queue("release").await;
}

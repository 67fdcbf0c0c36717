//! More procedures than may be at work at the same time.
use super::core::{Core, ue};
use super::n2::{downlink, initial, next, setup};
use super::timers::{by_suci, capable, registration};
use crate::Limit;
use bytes::Bytes;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::{PduSessionRequest, Ue};
use tokio::sync::mpsc;

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
        while status(&core, "registration")["waiting"] != 1 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
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

//! Session and service continuity modes (TS 23.502, 4.3.5.1 and 4.3.5.2).
use crate::session::{both_are_there, skipped};
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_amf::TaiConfig;
use martlet_nas::SscModeValue;
use martlet_ran::gnb::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest};
use martlet_ran::{Gnb, Ue};
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, OwnUpf, TestCore, eventually, in_namespace, internet, reaches};
use std::time::Duration;

fn two_places(config: &mut Config) {
    OwnUpf::beside(config);
    config.smf.upfs[0].tacs = vec![1];
    config.smf.upfs[1].tacs = vec![2];
    config.amf.tais.push(TaiConfig { tac: 2, ..config.amf.tais[0].clone() });
    config.smf.ssc3_s = 1;
}

/// A phone with a session of a mode at the first place, which then goes to the second.
async fn moves(core: &TestCore, from: &Gnb, to: &Gnb, n: u64, mode: SscModeValue) -> Result<Ue> {
    core.subscribe(n, |subscriber| {
        let dnn = SubscribedDnn { ssc_modes: vec![1, 2, 3], ..SubscribedDnn::new("internet") };
        subscriber.slices[0].dnns = vec![dnn];
    })?;
    let phone = from.new_ue(core.phone(n))?;
    phone.register().await?;
    let session = phone
        .establish_pdu_session(PduSessionRequest { ssc_mode: Some(mode), ..internet() })
        .await?;
    ensure!(session.ssc_mode == mode as u8, "{session:?}");
    phone.xn_handover_to(to).await?;
    Ok(phone)
}

#[test]
fn ssc_mode_decides_whether_the_upf_is_relocated() {
    in_namespace(|| async {
        if skipped() {
            return Ok(());
        }
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Http, two_places).await?;
        both_are_there(&core).await?;
        let here = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let there = Gnb::connect(config).await?;

        let staying = moves(&core, &here, &there, 1, SscModeValue::Ssc1).await?;
        // Mode 2: the session ends, and the next one is with the UPF of the place.
        let breaking = moves(&core, &here, &there, 2, SscModeValue::Ssc2).await?;
        core.until("the session of mode 2 has ended", |counts| counts.sessions == 1).await?;
        let session = breaking.establish_pdu_session(internet()).await?;
        upf.until_sessions(1).await?;
        reaches(&breaking, session.psi, GATEWAY).await?;
        // Mode 3: the next one first.
        let making = moves(&core, &here, &there, 3, SscModeValue::Ssc3).await?;
        let mut events = making.subscribe().await?;
        let told = async {
            loop {
                if let UeEvent::Nas(Event::SessionModified { psi: 1, .. }) = events.recv().await? {
                    return Ok::<_, anyhow::Error>(());
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(5), told).await.context("the phone is told")??;
        let next = making
            .establish_pdu_session(PduSessionRequest { replaces: Some(1), ..internet() })
            .await?;
        ensure!(making.status().await?.sessions.len() == 2, "both are there for a while");
        reaches(&making, next.psi, GATEWAY).await?;
        core.until("the old session has ended", |counts| counts.sessions == 3).await?;
        let left: Vec<u8> =
            making.status().await?.sessions.iter().map(|session| session.psi).collect();
        ensure!(left == [next.psi], "{left:?}");
        // Mode 1 stays where it is.
        ensure!(
            staying.status().await?.sessions.len() == 1 && upf.status()["sessionCount"] == 2,
            "{}",
            upf.status()
        );
        core.bodies.check(&["nsmf-pdusession PostSmContexts"]).await?;
        for phone in [&staying, &breaking, &making] {
            phone.deregister().await?;
        }
        upf.until_sessions(0).await?;
        core.until_nothing_is_left().await
    });
}

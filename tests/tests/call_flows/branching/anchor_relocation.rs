//! Session and service continuity modes (TS 23.502, 4.3.5.1 and 4.3.5.2).
use crate::session::with_second_upf;
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_amf::TaiConfig;
use martlet_nas::SscModeValue;
use martlet_ran::gnb::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest, ServicePurpose};
use martlet_ran::{Gnb, Ue};
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};
use std::time::Duration;

fn two_areas(config: &mut Config) {
    config.smf.upfs[0].tacs = vec![1];
    config.smf.upfs[1].tacs = vec![2];
    config.amf.tais.push(TaiConfig { tac: 2, ..config.amf.tais[0].clone() });
    // The gNBs share no tracking area.
    config.amf.n2.xn_neighbours = martlet_amf::XnNeighbours::Any;
    config.smf.ssc3_s = 1;
}

/// Establishes a session with an SSC mode in the first tracking area and moves the UE to the
/// second.
async fn session_after_move(
    core: &TestCore,
    from: &Gnb,
    to: &Gnb,
    n: u64,
    mode: SscModeValue,
) -> Result<Ue> {
    core.subscribe(n, |subscriber| {
        let dnn = SubscribedDnn { ssc_modes: vec![1, 2, 3], ..SubscribedDnn::new("internet") };
        subscriber.slices[0].dnns = vec![dnn];
    })?;
    let ue = from.new_ue(core.ue_config(n))?;
    ue.register().await?;
    let session =
        ue.establish_pdu_session(PduSessionRequest { ssc_mode: Some(mode), ..internet() }).await?;
    ensure!(session.ssc_mode == mode as u8, "{session:?}");
    ue.xn_handover_to(to).await?;
    Ok(ue)
}

#[test]
fn ssc_mode_decides_whether_the_upf_is_relocated() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Http, two_areas).await?;
        let Some((upf, core)) = second else { return Ok(()) };
        let here = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let there = Gnb::connect(config).await?;

        let staying = session_after_move(&core, &here, &there, 1, SscModeValue::Ssc1).await?;
        // Mode 2: the session is released, and the next one uses the UPF of the second area.
        let breaking = session_after_move(&core, &here, &there, 2, SscModeValue::Ssc2).await?;
        core.until("the session of mode 2 is released", |counts| counts.sessions == 1).await?;
        let session = breaking.establish_pdu_session(internet()).await?;
        upf.until_sessions(1).await?;
        reaches(&breaking, session.psi, GATEWAY).await?;
        // Mode 3: the new session is established first.
        let making = session_after_move(&core, &here, &there, 3, SscModeValue::Ssc3).await?;
        let mut events = making.subscribe().await?;
        let notified = async {
            loop {
                if let UeEvent::Nas(Event::SessionModified { psi: 1, .. }) = events.recv().await? {
                    return Ok::<_, anyhow::Error>(());
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), notified)
            .await
            .context("the UE receives no modification")??;
        let next = making
            .establish_pdu_session(PduSessionRequest { replaces: Some(1), ..internet() })
            .await?;
        ensure!(making.status().await?.sessions.len() == 2, "the old session is already released");
        reaches(&making, next.psi, GATEWAY).await?;
        core.until("the old session is released", |counts| counts.sessions == 3).await?;
        let left: Vec<u8> =
            making.status().await?.sessions.iter().map(|session| session.psi).collect();
        ensure!(left == [next.psi], "{left:?}");
        // Mode 1: the session keeps its UPF.
        ensure!(
            staying.status().await?.sessions.len() == 1 && upf.status()["sessionCount"] == 2,
            "{}",
            upf.status()
        );
        core.sbi_record.check(&["nsmf-pdusession PostSmContexts"]).await?;
        for ue in [&staying, &breaking, &making] {
            ue.deregister().await?;
        }
        upf.until_sessions(0).await?;
        core.until_all_released().await
    });
}

/// SSC mode 3, for a UE that becomes idle in the second area: it gets the command when it is
/// connected again, and once more if it did not receive it.
#[test]
fn an_idle_ue_is_asked_for_the_new_session_when_it_is_connected() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Http, |config| {
            two_areas(config);
            (config.smf.ssc3_s, config.smf.t3591_ms) = (60, 700);
        })
        .await?;
        let Some((_upf, core)) = second else { return Ok(()) };
        let here = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let there = Gnb::connect(config).await?;
        core.subscribe(1, |subscriber| {
            let dnn = SubscribedDnn { ssc_modes: vec![1, 2, 3], ..SubscribedDnn::new("internet") };
            subscriber.slices[0].dnns = vec![dnn];
        })?;
        let mut config = core.ue_config(1);
        config.modifications_lost = 1;
        let ue = here.new_ue(config)?;
        ue.register().await?;
        let mode = Some(SscModeValue::Ssc3);
        ue.establish_pdu_session(PduSessionRequest { ssc_mode: mode, ..internet() }).await?;
        let mut events = ue.subscribe().await?;
        let transfers = || core.sbi_record.calls("namf-comm N1N2MessageTransfer");
        let before = transfers();
        ue.xn_handover_to(&there).await?;
        ue.release_to_idle().await?;
        let attempted = || (transfers() > before).then_some(());
        eventually("the SMF begins the relocation", attempted, String::new).await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        let notified = async {
            loop {
                if let UeEvent::Nas(Event::SessionModified { psi: 1, .. }) = events.recv().await? {
                    return Ok::<_, anyhow::Error>(());
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(15), notified)
            .await
            .context("the UE receives no modification")??;
        ensure!(ue.status().await?.sessions.len() == 1, "the old session is already released");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

//! Several UPFs: by the place of the phone, one for another that is lost, and two on the way of one
//! session (TS 23.501, 5.6.4, 5.6.9 and 6.3.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_amf::TaiConfig;
use martlet_nas::SscModeValue;
use martlet_ran::gnb::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest, SessionCause};
use martlet_ran::{Gnb, Ue};
use martlet_smf::BranchingConfig;
use martlet_store::SubscribedDnn;
use martlet_tests::{
    GATEWAY, OwnUpf, TestCore, eventually, in_namespace, internet, ping, programs_carry_packets,
    reaches, sequence_of,
};
use std::net::Ipv4Addr;
use std::time::Duration;

fn skipped() -> bool {
    if programs_carry_packets() {
        eprintln!("SKIPPED: there is one loopback interface for programs, and two UPFs");
    }
    programs_carry_packets()
}

/// Waits until the SMF is associated with both.
async fn both_are_there(core: &TestCore) -> Result<()> {
    let up = |n: usize| core.status("smf")["upfs"][n]["associated"] == true;
    eventually(
        "both UPFs are associated",
        || (up(0) && up(1)).then_some(()),
        || core.status("smf").to_string(),
    )
    .await
}

async fn until_sessions(upf: &OwnUpf, wanted: u64) -> Result<()> {
    let there = || (upf.status()["sessionCount"] == wanted).then_some(());
    eventually("the UPF has its sessions", there, || upf.status().to_string()).await
}

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
fn a_phone_that_moves_keeps_its_upf_or_gets_the_one_of_its_place_by_its_ssc_mode() {
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
        until_sessions(&upf, 1).await?;
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
        until_sessions(&upf, 0).await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn sessions_of_a_upf_that_is_lost_go_on_at_another() {
    in_namespace(|| async {
        if skipped() {
            return Ok(());
        }
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            OwnUpf::beside(config);
            config.smf.upfs.reverse();
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
        })
        .await?;
        both_are_there(&core).await?;
        let gnb = core.gnb(1).await?;
        let (active, from) = core.phone_with_session(&gnb, 1).await?;
        let (idle, to) = core.phone_with_session(&gnb, 2).await?;
        reaches(&active, 1, GATEWAY).await?;
        idle.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        until_sessions(&upf, 2).await?;
        upf.stop().await?;
        let moved = || (core.status("upf")["sessionCount"] == 2).then_some(());
        eventually("the other UPF has the sessions", moved, || core.status("upf").to_string())
            .await?;
        // With their addresses; the idle one is paged for what comes. Until the gNB knows the new
        // tunnel packets are lost.
        crosses_at_last(&active, from, &idle, to, 3).await?;
        crosses_at_last(&idle, to, &active, from, 4).await?;
        active.deregister().await?;
        idle.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_branching_point_sends_some_packets_to_its_own_network_and_others_to_the_anchor() {
    in_namespace(|| async {
        if skipped() {
            return Ok(());
        }
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Http, |config| {
            OwnUpf::beside(config);
            config.smf.branching = vec![classifier(OwnUpf::n4())];
        })
        .await?;
        both_are_there(&core).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let (two, to) = core.phone_with_session(&gnb, 2).await?;
        until_sessions(&upf, 2).await?;
        ensure!(core.status("upf")["sessionCount"] == 2, "{}", core.status("upf"));
        // What is at the branching point's network, and nothing else, leaves there.
        reaches(&one, 1, GATEWAY).await?;
        crosses(&one, from, &two, to, 7).await?;
        crosses(&two, to, &one, from, 8).await?;
        // The branching point waits for an idle phone.
        two.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        crosses(&one, from, &two, to, 9).await?;
        reaches(&two, 1, GATEWAY).await?;
        one.deregister().await?;
        two.deregister().await?;
        until_sessions(&upf, 0).await?;
        core.until_nothing_is_left().await
    });
}

/// A classifier at a UPF, for phones of the first place, with the way to its own network.
fn classifier(via: std::net::SocketAddr) -> BranchingConfig {
    BranchingConfig {
        dnn: "internet".into(),
        tacs: vec![1],
        via,
        local: vec![format!("permit out ip from {GATEWAY} to assigned")],
    }
}

/// A core with an uplink classifier for phones of the first place, and none for those of the
/// second.
fn classified_here(config: &mut Config, via: std::net::SocketAddr) {
    config.smf.branching = vec![classifier(via)];
    config.amf.tais.push(TaiConfig { tac: 2, ..config.amf.tais[0].clone() });
    (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
}

async fn gnb_of_the_second_place(core: &TestCore) -> Result<Gnb> {
    let mut config = core.gnb_config(2);
    config.tac = 2;
    Ok(Gnb::connect(config).await?)
}

#[test]
fn a_session_whose_classifier_is_lost_goes_on_and_others_notice_nothing() {
    in_namespace(|| async {
        if skipped() {
            return Ok(());
        }
        let upf = OwnUpf::start().await?;
        let core = TestCore::start(Sbi::Http, |config| {
            OwnUpf::beside(config);
            classified_here(config, OwnUpf::n4());
        })
        .await?;
        both_are_there(&core).await?;
        let (here, there) = (core.gnb(1).await?, gnb_of_the_second_place(&core).await?);
        let (one, from) = core.phone_with_session(&here, 1).await?;
        let (two, to) = core.phone_with_session(&there, 2).await?;
        let (three, beside) = core.phone_with_session(&there, 3).await?;
        let (four, still) = core.phone_with_session(&there, 4).await?;
        until_sessions(&upf, 1).await?;
        reaches(&one, 1, GATEWAY).await?;
        // It is started anew: the session is made anew there, with its way to the network beside.
        let undisturbed =
            crate::handover::n2_and_xn::gaps((&three, beside), (&four, still), 2500, async {
                let upf = upf.restart().await?;
                until_sessions(&upf, 1).await?;
                reaches(&one, 1, GATEWAY).await.context("after a restart")?;
                crosses_at_last(&two, to, &one, from, 7).await?;
                // It is gone: the anchor alone goes on, with the phone's address.
                upf.stop().await?;
                crosses_at_last(&one, from, &two, to, 8).await.context("without it")
            });
        undisturbed.await.context("sessions beside")?;
        ensure!(one.status().await?.sessions[0].ipv4 == Some(from), "its address");
        one.deregister().await?;
        two.deregister().await?;
        three.deregister().await?;
        four.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_session_whose_anchor_is_lost_behind_a_classifier_is_asked_for_anew() {
    in_namespace(|| async {
        if skipped() {
            return Ok(());
        }
        let upf = OwnUpf::start().await?;
        // The core's own UPF is the classifier, and the other one the anchor.
        let core = TestCore::start(Sbi::Local, |config| {
            OwnUpf::beside(config);
            let own = config.smf.upfs[0].n4;
            classified_here(config, own);
        })
        .await?;
        both_are_there(&core).await?;
        let here = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&here, 1).await?;
        until_sessions(&upf, 1).await?;
        ensure!(core.status("upf")["sessionCount"] == 1, "{}", core.status("upf"));
        let mut events = one.subscribe().await?;
        upf.stop().await?;
        let released = async {
            loop {
                if let UeEvent::Nas(Event::SessionReleased { psi: 1, cause }) =
                    events.recv().await?
                {
                    return Ok::<_, anyhow::Error>(cause);
                }
            }
        };
        let cause = tokio::time::timeout(Duration::from_secs(10), released)
            .await
            .context("it is told")??;
        ensure!(cause == SessionCause::Sm(39), "reactivation requested: {cause:?}");
        core.until("its session has ended", |counts| counts.sessions == 0).await?;
        // With an anchor it gets another.
        let upf = OwnUpf::start().await?;
        both_are_there(&core).await?;
        let session = one.establish_pdu_session(internet()).await?;
        until_sessions(&upf, 1).await?;
        ensure!(session.ipv4.is_some(), "{session:?}");
        one.deregister().await?;
        core.until_nothing_is_left().await
    });
}

async fn crosses(
    from: &Ue,
    source: Ipv4Addr,
    to: &Ue,
    destination: Ipv4Addr,
    sequence: u16,
) -> Result<()> {
    from.send_ip(1, ping(source, destination, sequence)).await?;
    let (_, packet) = to.recv_ip().await?;
    ensure!(sequence_of(&packet) == Some(sequence), "{packet:02x?}");
    Ok(())
}

async fn crosses_at_last(
    from: &Ue,
    source: Ipv4Addr,
    to: &Ue,
    destination: Ipv4Addr,
    sequence: u16,
) -> Result<()> {
    for _ in 0..40 {
        from.send_ip(1, ping(source, destination, sequence)).await?;
        while let Ok(received) =
            tokio::time::timeout(Duration::from_millis(250), to.recv_ip()).await
        {
            if sequence_of(&received?.1) == Some(sequence) {
                return Ok(());
            }
        }
    }
    anyhow::bail!("no packet came from {source} to {destination}")
}

//! Uplink classifier and branching point (TS 23.502, 4.3.5.4).
use crate::session::{until_both_upfs_are_associated, with_second_upf};
use crate::user_plane::upf_failover::until_packet_passes;
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_amf::TaiConfig;
use martlet_ran::gnb::UeEvent;
use martlet_ran::ue::{Event, SessionCause};
use martlet_ran::{Gnb, Ue};
use martlet_smf::BranchingConfig;
use martlet_tests::{
    GATEWAY, SeparateUpf, TestCore, in_namespace, internet, ping, reaches, sequence_of,
};
use std::net::Ipv4Addr;
use std::time::Duration;

#[test]
fn uplink_classifier_selects_the_anchor_by_filter() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Http, |config| {
            config.smf.branching = vec![classifier(SeparateUpf::n4())];
        });
        let Some((upf, core)) = second.await? else { return Ok(()) };
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
        upf.until_sessions(2).await?;
        ensure!(core.status("upf")["sessionCount"] == 2, "{}", core.status("upf"));
        // Only packets to the local data network leave at the branching point.
        reaches(&one, 1, GATEWAY).await?;
        crosses(&one, from, &two, to, 7).await?;
        crosses(&two, to, &one, from, 8).await?;
        // Downlink packets of an idle UE are buffered at the branching point.
        two.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        crosses(&one, from, &two, to, 9).await?;
        reaches(&two, 1, GATEWAY).await?;
        one.deregister().await?;
        two.deregister().await?;
        upf.until_sessions(0).await?;
        core.until_all_released().await
    });
}

/// An uplink classifier for the first tracking area, with a local data network.
fn classifier(via: std::net::SocketAddr) -> BranchingConfig {
    BranchingConfig {
        dnn: "internet".into(),
        tacs: vec![1],
        via,
        local: vec![format!("permit out ip from {GATEWAY} to assigned")],
    }
}

/// A core with an uplink classifier for the first tracking area and none for the second.
fn classified_here(config: &mut Config, via: std::net::SocketAddr) {
    config.smf.branching = vec![classifier(via)];
    config.amf.tais.push(TaiConfig { tac: 2, ..config.amf.tais[0].clone() });
    // The gNBs share no tracking area.
    config.amf.n2.xn_neighbours = martlet_amf::XnNeighbours::Any;
    (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
}

async fn second_gnb(core: &TestCore) -> Result<Gnb> {
    let mut config = core.gnb_config(2);
    config.tac = 2;
    Ok(Gnb::connect(config).await?)
}

#[test]
fn session_survives_the_loss_of_its_uplink_classifier() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Http, |config| {
            classified_here(config, SeparateUpf::n4());
        });
        let Some((upf, core)) = second.await? else { return Ok(()) };
        let (here, there) = (core.gnb(1).await?, second_gnb(&core).await?);
        let (one, from) = core.ue_with_session(&here, 1).await?;
        let (two, to) = core.ue_with_session(&there, 2).await?;
        let (three, beside) = core.ue_with_session(&there, 3).await?;
        let (four, still) = core.ue_with_session(&there, 4).await?;
        upf.until_sessions(1).await?;
        reaches(&one, 1, GATEWAY).await?;
        // After its restart the session is restored, with the path to the local network.
        let other_sessions = crate::handover::packet_loss::gaps_during(
            (&three, beside),
            (&four, still),
            2500,
            async {
                let upf = upf.restart().await?;
                upf.until_sessions(1).await?;
                reaches(&one, 1, GATEWAY).await.context("after a restart")?;
                until_packet_passes(&two, to, &one, from, 7).await?;
                // After its loss the anchor serves the session alone, with the UE's address.
                upf.stop().await?;
                until_packet_passes(&one, from, &two, to, 8).await.context("without the classifier")
            },
        );
        other_sessions.await.context("other sessions")?;
        ensure!(one.status().await?.sessions[0].ipv4 == Some(from), "the address changed");
        one.deregister().await?;
        two.deregister().await?;
        three.deregister().await?;
        four.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn loss_of_the_anchor_behind_a_classifier_reestablishes_the_session() {
    in_namespace(|| async {
        // The core's UPF is the classifier, the other one the anchor.
        let second = with_second_upf(Sbi::Local, |config| {
            let own = config.smf.upfs[0].n4;
            classified_here(config, own);
        });
        let Some((upf, core)) = second.await? else { return Ok(()) };
        let here = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&here, 1).await?;
        upf.until_sessions(1).await?;
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
            .context("the UE receives no release")??;
        ensure!(
            cause == SessionCause::Sm(39),
            "expected cause #39, reactivation requested: {cause:?}"
        );
        core.until("its session is released", |counts| counts.sessions == 0).await?;
        // With an anchor a new session is established.
        let upf = SeparateUpf::start().await?;
        until_both_upfs_are_associated(&core).await?;
        let session = one.establish_pdu_session(internet()).await?;
        upf.until_sessions(1).await?;
        ensure!(session.ipv4.is_some(), "{session:?}");
        one.deregister().await?;
        core.until_all_released().await
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

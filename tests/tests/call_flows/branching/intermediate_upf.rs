//! Insertion, change and removal of an intermediate UPF when a UE leaves the service area of its
//! anchor (TS 23.502, 4.9.1.2.3, 4.9.1.2.4 and 4.9.1.3).
use crate::handover::packet_loss::expect_no_loss_during;
use crate::user_plane::n4_session_establishment::smf_allocates_fteids;
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript, RegistrationType, Ue};
use martlet_smf::{ChargingMode, UpfConfig};
use martlet_tests::{
    SeparateUpf, TestCore, eventually, in_namespace, ping, sequence_of, xdp_datapath,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// N4 address of the third UPF.
const THIRD: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 10)), 8805);

/// Four tracking areas: the core's UPF serves the first, two others the second and the third, and
/// none the fourth.
fn four_areas(config: &mut Config) {
    // The gNBs share no tracking area.
    config.amf.n2.xn_neighbours = martlet_amf::XnNeighbours::Any;
    SeparateUpf::add_to_core(config);
    knows_gnbs(&mut config.upf);
    config.smf.upfs.push(UpfConfig::at(THIRD));
    for (upf, tac) in config.smf.upfs.iter_mut().zip(1..) {
        (upf.tacs, upf.service_area) = (vec![tac], vec![tac]);
    }
    let first = config.amf.tais[0].clone();
    config.amf.tais.extend((2..=4).map(|tac| martlet_amf::TaiConfig { tac, ..first.clone() }));
}

/// The UPF knows the networks of gNBs: it takes a UE's packets from a gNB that no session has named
/// yet, before the path switch. A UPF that the path leaves does not learn the target gNB, so the
/// check by session would drop its packets.
fn knows_gnbs(config: &mut martlet_upf::UpfConfig) {
    config.n3.source_check = martlet_upf::config::SourceCheck::Peer;
    config.n3.allow = vec!["127.0.0.0/8".parse().expect("a network")];
}

/// Configures the third UPF, without N6.
fn third(config: &mut martlet_upf::UpfConfig) {
    knows_gnbs(config);
    config.n4.address = THIRD;
    config.n3.address.set_ip(THIRD.ip());
    config.n6.mode = martlet_upf::config::N6Mode::None;
}

struct Areas {
    core: TestCore,
    gnbs: Vec<Gnb>,
    second: SeparateUpf,
    third: SeparateUpf,
}

impl Areas {
    async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<Areas> {
        let second = SeparateUpf::start_with(knows_gnbs).await?;
        let third = SeparateUpf::start_with(third).await?;
        let core = TestCore::start(sbi, |config| {
            four_areas(config);
            change(config);
        })
        .await?;
        let up = |n: usize| core.status("smf")["upfs"][n]["associated"] == true;
        let all = || (0..3).all(up).then_some(());
        eventually("all UPFs are associated", all, || core.status("smf").to_string()).await?;
        let mut gnbs = Vec::new();
        for number in 1..=4 {
            let mut config = core.gnb_config(number);
            config.tac = number.into();
            gnbs.push(Gnb::connect(config).await?);
        }
        Ok(Areas { core, gnbs, second, third })
    }

    /// Waits until the three UPFs have these numbers of sessions.
    async fn until_sessions(&self, wanted: [u64; 3]) -> Result<()> {
        let count = |status: serde_json::Value| status["sessionCount"].as_u64().unwrap_or_default();
        let now = || {
            [
                count(self.core.status("upf")),
                count(self.second.status()),
                count(self.third.status()),
            ]
        };
        eventually(
            "session counts of the UPFs",
            || (now() == wanted).then_some(()),
            || format!("{:?}", now()),
        )
        .await
    }
}

async fn update_registration(ue: &Ue) -> Result<()> {
    ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
    Ok(())
}

#[test]
fn intermediate_upf_loses_no_packet_and_counts_each_once() {
    in_namespace(|| async {
        if xdp_datapath() {
            martlet_tests::skip("XDP programs of three UPFs cannot share the loopback interface");
            return Ok(());
        }
        let areas = Areas::start(Sbi::Http, |config| {
            config.chf.enabled = true;
            config.smf.charging.mode = ChargingMode::Online;
        })
        .await?;
        let core = &areas.core;
        let (ue, to) = core.ue_with_session(&areas.gnbs[0], 1).await?;
        core.query(&format!("charging/{}/100000000", ue.supi())).await?;
        let (peer_ue, from) = core.ue_with_session(&areas.gnbs[0], 2).await?;
        areas.until_sessions([2, 0, 0]).await?;
        let ends = ((&peer_ue, from), (&ue, to));
        let mut carried = 0;
        // The UPF is inserted, changed, changed back and removed, with N2 and with Xn.
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1]), (1, [2, 1, 0]), (0, [2, 0, 0])] {
            let handover = async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                let outcome = ue.handover_to(&areas.gnbs[n]).await?;
                ensure!(outcome.sessions == [1], "{outcome:?}");
                update_registration(&ue).await
            };
            expect_no_loss_during(ends.0, ends.1, 250, handover)
                .await
                .with_context(|| format!("N2 to area {}", n + 1))?;
            areas.until_sessions(at).await?;
            carried += 250;
        }
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1]), (0, [2, 0, 0])] {
            let handover = async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                ue.xn_handover_to(&areas.gnbs[n]).await?;
                update_registration(&ue).await
            };
            expect_no_loss_during(ends.0, ends.1, 250, handover)
                .await
                .with_context(|| format!("Xn to area {}", n + 1))?;
            areas.until_sessions(at).await?;
            carried += 250;
        }
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await?;
        areas.until_sessions([0, 0, 0]).await?;
        let bytes = carried * ping(from, to, 1).len() as u64;
        let shown = core.query(&format!("charging/{}", ue.supi())).await?;
        let account = &shown["accounts"][ue.supi()];
        ensure!(
            account["uplink"] == bytes && account["downlink"] == bytes,
            "expected {bytes} in each direction: {shown}"
        );
        core.sbi_record.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

#[test]
fn intermediate_upf_with_fteids_of_the_smf() {
    in_namespace(|| async {
        if xdp_datapath() {
            martlet_tests::skip("XDP programs of three UPFs cannot share the loopback interface");
            return Ok(());
        }
        let areas = Areas::start(Sbi::Local, smf_allocates_fteids).await?;
        let core = &areas.core;
        let (ue, to) = core.ue_with_session(&areas.gnbs[0], 1).await?;
        let (peer_ue, from) = core.ue_with_session(&areas.gnbs[0], 2).await?;
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1]), (0, [2, 0, 0])] {
            ue.handover_to(&areas.gnbs[n]).await?;
            update_registration(&ue).await?;
            until_packets_pass((&peer_ue, from), (&ue, to)).await?;
            areas.until_sessions(at).await?;
        }
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await?;
        areas.until_sessions([0, 0, 0]).await
    });
}

/// Waits until packets pass in both directions: a gNB may still use the old tunnel.
async fn until_packets_pass(one: (&Ue, Ipv4Addr), other: (&Ue, Ipv4Addr)) -> Result<()> {
    for ((from, source), (to, destination)) in [(one, other), (other, one)] {
        let sent = async {
            for sequence in 1.. {
                from.send_ip(1, ping(source, destination, sequence)).await?;
                let received = tokio::time::timeout(Duration::from_millis(100), to.recv_ip()).await;
                if received.is_ok_and(|received| {
                    received.is_ok_and(|(_, packet)| sequence_of(&packet).is_some())
                }) {
                    break;
                }
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(60), sent)
            .await
            .with_context(|| format!("{source} to {destination}"))??;
    }
    Ok(())
}

#[test]
fn intermediate_upf_follows_an_idle_ue_and_a_failed_handover() {
    in_namespace(|| async {
        if xdp_datapath() {
            martlet_tests::skip("XDP programs of three UPFs cannot share the loopback interface");
            return Ok(());
        }
        let mut areas = Areas::start(Sbi::Local, |config| {
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
        })
        .await?;
        let gnbs = std::mem::take(&mut areas.gnbs);
        let core = &areas.core;
        let (ue, to) = core.ue_with_session(&gnbs[0], 1).await?;
        let (peer_ue, from) = core.ue_with_session(&gnbs[0], 2).await?;
        let ends = ((&peer_ue, from), (&ue, to));
        // A cancelled or rejected handover leaves no intermediate UPF. No UPF serves the last area.
        for script in [HandoverScript::CancelledAfterCommand, HandoverScript::TargetRejects] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(ue.handover(&gnbs[1], plan).await.is_err(), "{script:?}");
            areas.until_sessions([2, 0, 0]).await?;
        }
        ensure!(ue.handover_to(&gnbs[3]).await.is_err(), "no UPF serves the area");
        until_packets_pass(ends.0, ends.1).await?;
        // The idle UE moves to other areas and is paged there.
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1])] {
            ue.release_to_idle().await?;
            ue.move_to(&gnbs[n]).await?;
            update_registration(&ue).await?;
            until_packets_pass(ends.0, ends.1).await.with_context(|| format!("area {}", n + 1))?;
            areas.until_sessions(at).await?;
        }
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        until_packets_pass(ends.0, ends.1).await.context("paged")?;
        // A session established in the second area has its anchor there; in the third area its
        // packets pass the third UPF.
        ue.deregister().await?;
        areas.until_sessions([1, 0, 0]).await?;
        let (ue, to) = core.ue_with_session(&gnbs[1], 3).await?;
        let (other, from) = core.ue_with_session(&gnbs[1], 4).await?;
        areas.until_sessions([1, 2, 0]).await?;
        ue.handover_to(&gnbs[2]).await?;
        update_registration(&ue).await?;
        areas.until_sessions([1, 2, 1]).await?;
        let ends = ((&other, from), (&ue, to));
        until_packets_pass(ends.0, ends.1).await?;
        // After a restart of the intermediate UPF the session is restored there.
        areas.third = areas.third.restart_as(third).await?;
        until_packets_pass(ends.0, ends.1).await.context("after a restart")?;
        areas.until_sessions([1, 2, 1]).await?;
        other.deregister().await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
    });
}

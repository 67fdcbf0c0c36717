//! A phone that leaves the place that its session's UPF reaches keeps its address: another UPF
//! stands between its gNB and the anchor, for as long as it takes (TS 23.502, 4.9.1.2.3, 4.9.1.2.4
//! and 4.9.1.3).
use crate::handover::packet_loss::none_is_lost;
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript, RegistrationType, Ue};
use martlet_smf::{ChargingMode, UpfConfig};
use martlet_tests::{
    OwnUpf, TestCore, eventually, in_namespace, ping, programs_carry_packets, sequence_of,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The third UPF.
const THIRD: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 10)), 8805);

/// Four places: the core's own UPF reaches the first, others the second and the third, and none the
/// fourth.
fn four_places(config: &mut Config) {
    OwnUpf::beside(config);
    config.smf.upfs.push(UpfConfig::at(THIRD));
    for (upf, tac) in config.smf.upfs.iter_mut().zip(1..) {
        (upf.tacs, upf.service_area) = (vec![tac], vec![tac]);
    }
    let first = config.amf.tais[0].clone();
    config.amf.tais.extend((2..=4).map(|tac| martlet_amf::TaiConfig { tac, ..first.clone() }));
}

/// The third UPF: other phones' packets alone.
fn third(config: &mut martlet_upf::UpfConfig) {
    config.n4.address = THIRD;
    config.n3.address.set_ip(THIRD.ip());
    config.n6.mode = martlet_upf::config::N6Mode::None;
}

struct Places {
    core: TestCore,
    gnbs: Vec<Gnb>,
    second: OwnUpf,
    third: OwnUpf,
}

impl Places {
    async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<Places> {
        let second = OwnUpf::start().await?;
        let third = OwnUpf::start_with(third).await?;
        let core = TestCore::start(sbi, |config| {
            four_places(config);
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
        Ok(Places { core, gnbs, second, third })
    }

    /// Sessions at each of the three UPFs.
    async fn have(&self, wanted: [u64; 3]) -> Result<()> {
        let count = |status: serde_json::Value| status["sessionCount"].as_u64().unwrap_or_default();
        let now = || {
            [
                count(self.core.status("upf")),
                count(self.second.status()),
                count(self.third.status()),
            ]
        };
        eventually(
            "sessions at the UPFs",
            || (now() == wanted).then_some(()),
            || format!("{:?}", now()),
        )
        .await
    }
}

async fn registers(phone: &Ue) -> Result<()> {
    phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
    Ok(())
}

#[test]
fn intermediate_upf_loses_no_packet_and_counts_each_once() {
    in_namespace(|| async {
        if programs_carry_packets() {
            eprintln!("SKIPPED: there is one loopback interface for programs, and three UPFs");
            return Ok(());
        }
        let places = Places::start(Sbi::Http, |config| {
            config.chf.enabled = true;
            config.smf.charging.mode = ChargingMode::Online;
        })
        .await?;
        let core = &places.core;
        let (phone, to) = core.phone_with_session(&places.gnbs[0], 1).await?;
        core.ask(&format!("charging/{}/100000000", phone.supi())).await?;
        let (friend, from) = core.phone_with_session(&places.gnbs[0], 2).await?;
        places.have([2, 0, 0]).await?;
        let ends = ((&friend, from), (&phone, to));
        let mut carried = 0;
        // Inserted, changed, changed back, removed; and by Xn as by N2.
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1]), (1, [2, 1, 0]), (0, [2, 0, 0])] {
            let handover = async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                let outcome = phone.handover_to(&places.gnbs[n]).await?;
                ensure!(outcome.sessions == [1], "{outcome:?}");
                registers(&phone).await
            };
            none_is_lost(ends.0, ends.1, 250, handover)
                .await
                .with_context(|| format!("N2 to place {}", n + 1))?;
            places.have(at).await?;
            carried += 250;
        }
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1]), (0, [2, 0, 0])] {
            let handover = async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                phone.xn_handover_to(&places.gnbs[n]).await?;
                registers(&phone).await
            };
            none_is_lost(ends.0, ends.1, 250, handover)
                .await
                .with_context(|| format!("Xn to place {}", n + 1))?;
            places.have(at).await?;
            carried += 250;
        }
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await?;
        places.have([0, 0, 0]).await?;
        let octets = carried * ping(from, to, 1).len() as u64;
        let shown = core.ask(&format!("charging/{}", phone.supi())).await?;
        let account = &shown["accounts"][phone.supi()];
        ensure!(
            account["uplink"] == octets && account["downlink"] == octets,
            "{octets} each way: {shown}"
        );
        core.bodies.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

/// Packets go both ways, at last: a gNB may have to learn of another tunnel first.
async fn crosses(one: (&Ue, Ipv4Addr), other: (&Ue, Ipv4Addr)) -> Result<()> {
    for ((from, source), (to, destination)) in [(one, other), (other, one)] {
        let sent = async {
            for sequence in 1.. {
                from.send_ip(1, ping(source, destination, sequence)).await?;
                let came = tokio::time::timeout(Duration::from_millis(100), to.recv_ip()).await;
                if came
                    .is_ok_and(|came| came.is_ok_and(|(_, packet)| sequence_of(&packet).is_some()))
                {
                    break;
                }
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(8), sent)
            .await
            .with_context(|| format!("{source} to {destination}"))??;
    }
    Ok(())
}

#[test]
fn intermediate_upf_follows_an_idle_ue_and_a_failed_handover() {
    in_namespace(|| async {
        if programs_carry_packets() {
            eprintln!("SKIPPED: there is one loopback interface for programs, and three UPFs");
            return Ok(());
        }
        let mut places = Places::start(Sbi::Local, |config| {
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
        })
        .await?;
        let gnbs = std::mem::take(&mut places.gnbs);
        let core = &places.core;
        let (phone, to) = core.phone_with_session(&gnbs[0], 1).await?;
        let (friend, from) = core.phone_with_session(&gnbs[0], 2).await?;
        let ends = ((&friend, from), (&phone, to));
        // Given up, or refused by the target: what was prepared is gone. And no UPF reaches the
        // last place.
        for script in [HandoverScript::CancelledAfterCommand, HandoverScript::TargetRejects] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(phone.handover(&gnbs[1], plan).await.is_err(), "{script:?}");
            places.have([2, 0, 0]).await?;
        }
        ensure!(phone.handover_to(&gnbs[3]).await.is_err(), "no UPF reaches it");
        crosses(ends.0, ends.1).await?;
        // Idle it comes to another place, and to the next, and is called there.
        for (n, at) in [(1, [2, 1, 0]), (2, [2, 0, 1])] {
            phone.release_to_idle().await?;
            phone.move_to(&gnbs[n]).await?;
            registers(&phone).await?;
            crosses(ends.0, ends.1).await.with_context(|| format!("place {}", n + 1))?;
            places.have(at).await?;
        }
        phone.release_to_idle().await?;
        core.until("it is idle", |counts| counts.connected == 1).await?;
        crosses(ends.0, ends.1).await.context("paged")?;
        // One that begins at the second place has its anchor there, and goes through the third's
        // UPF when it is there.
        phone.deregister().await?;
        places.have([1, 0, 0]).await?;
        let (phone, to) = core.phone_with_session(&gnbs[1], 3).await?;
        let (other, from) = core.phone_with_session(&gnbs[1], 4).await?;
        places.have([1, 2, 0]).await?;
        phone.handover_to(&gnbs[2]).await?;
        registers(&phone).await?;
        places.have([1, 2, 1]).await?;
        let ends = ((&other, from), (&phone, to));
        crosses(ends.0, ends.1).await?;
        // The UPF between is started anew: it gets the session anew.
        places.third = places.third.restart_as(third).await?;
        crosses(ends.0, ends.1).await.context("after a restart")?;
        places.have([1, 2, 1]).await?;
        other.deregister().await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

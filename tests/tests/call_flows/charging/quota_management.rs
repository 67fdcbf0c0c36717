//! Quotas of online charging: granted, renewed and used up (TS 32.255, 5.2; TS 32.290, 5.3).
use super::{SUPI, account, online, pings};
use crate::session::with_second_upf;
use crate::user_plane::upf_failover::until_packet_passes;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Ue;
use martlet_ran::gnb::UeError;
use martlet_ran::ue::SessionCause;
use martlet_tests::{
    GATEWAY, Impairments, LossyLink, SeparateUpf, TestCore, eventually, in_namespace, internet,
    ping, reaches,
};
use std::net::Ipv4Addr;
use std::time::Duration;

#[test]
fn session_ends_when_its_quota_is_used_up() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, online).await?;
        let size = ping(Ipv4Addr::UNSPECIFIED, GATEWAY, 0).len() as u64;
        core.query(&format!("charging/{SUPI}/{}", 10 * size)).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let (other, _) = core.ue_with_session(&gnb, 2).await?;
        // The quota covers five packets and their replies. The last reply and the release of the
        // session reach the gNB in any order.
        pings(&ue, address, 4).await?;
        ue.send_ip(1, ping(address, GATEWAY, 4)).await?;
        core.until("the session is released", |counts| counts.sessions == 1).await?;
        ensure!(
            account(&core, SUPI).await? == (5 * size, 5 * size),
            "{}",
            core.query("charging").await?
        );
        let refused = ue.establish_pdu_session(internet()).await;
        ensure!(matches!(refused, Err(UeError::Session(SessionCause::Sm(8)))), "{refused:?}");
        reaches(&other, 1, GATEWAY).await?;
        // More units allow a new session. Further units are announced by the CHF during the
        // session, and the SMF requests them.
        core.query(&format!("charging/{SUPI}/{}", 4 * size)).await?;
        let session = ue.establish_pdu_session(internet()).await?;
        let address = session.ipv4.context("no IPv4 address")?;
        pings(&ue, address, 1).await?;
        core.query(&format!("charging/{SUPI}/{}", 100 * size)).await?;
        let asked = || (core.sbi_record.calls("nsmf-callback ChargingNotify") > 0).then_some(());
        eventually("the CHF notifies the SMF", asked, String::new).await?;
        // Until N4 has the new quota, packets beyond the old one are dropped and sent again.
        for _ in 0..20 {
            reaches(&ue, 1, GATEWAY).await?;
        }
        ue.deregister().await?;
        other.deregister().await?;
        core.until_all_released().await
    });
}

/// A CHF that was restarted has the notification URIs of the sessions that it restores.
#[cfg(debug_assertions)]
#[test]
fn a_restarted_chf_requests_reauthorization() {
    in_namespace(|| async {
        let _alone = crate::function_restart::ALONE.lock().await;
        let core = TestCore::start(Sbi::Local, online).await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        crate::function_restart::restart(&core, "chf").await?;
        core.query(&format!("charging/{SUPI}/2000000")).await?;
        let asked = || (core.sbi_record.calls("nsmf-callback ChargingNotify") > 0).then_some(());
        eventually("the CHF notifies the SMF", asked, String::new).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// A reauthorization during an interruption of N4 is repeated, although the association stays.
#[test]
fn reauthorization_that_the_upf_does_not_answer_is_repeated() {
    in_namespace(|| async {
        let (near, far) = (Ipv4Addr::new(127, 0, 0, 42), Ipv4Addr::new(127, 0, 0, 43));
        let _upf = SeparateUpf::start_with(|upf| {
            upf.n4.allow = vec![format!("{far}/32").parse().expect("a network")];
        })
        .await?;
        let link = LossyLink::between(near.into(), far.into(), SeparateUpf::n4(), 1)?;
        let core = TestCore::start(Sbi::Http, |config| {
            online(config);
            SeparateUpf::replace_core_upf(config);
            config.smf.upfs[0].n4 = (near, 8805).into();
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let updates = || core.sbi_record.calls("nchf-convergedcharging Update");
        let before = updates();
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        core.query(&format!("charging/{SUPI}/2000000")).await?;
        let notified = || (core.sbi_record.calls("nsmf-callback ChargingNotify") > 0).then_some(());
        eventually("the CHF notifies the SMF", notified, String::new).await?;
        // Both transmissions of the query time out.
        tokio::time::sleep(Duration::from_millis(500)).await;
        ensure!(updates() == before, "the UPF has answered");
        link.impair(Impairments::default());
        let repeated = || (updates() > before).then_some(());
        eventually("the SMF requests quota", repeated, String::new).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// A session that moves to another UPF has the rest of its quota there, and no more.
#[test]
fn a_session_that_moves_keeps_the_rest_of_its_quota() {
    in_namespace(|| async {
        let second = with_second_upf(Sbi::Local, |config| {
            online(config);
            config.smf.upfs.reverse();
        });
        let Some((upf, core)) = second.await? else { return Ok(()) };
        let size = ping(Ipv4Addr::UNSPECIFIED, GATEWAY, 0).len() as u64;
        core.query(&format!("charging/{SUPI}/{}", 10 * size)).await?;
        let gnb = core.gnb(1).await?;
        let (peer, to) = core.ue_with_session(&gnb, 2).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        // Four packets and their replies leave two packets of the quota.
        pings(&ue, address, 4).await?;
        upf.drain(true)?;
        upf.until_sessions(0).await?;
        until_packet_passes(&ue, address, &peer, to, 10).await?;
        // With the first one fewer than the whole quota.
        for n in 11..16 {
            if ue.send_ip(1, ping(address, to, n)).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        core.until("the session is released", |counts| counts.sessions == 1).await?;
        let (uplink, downlink) = account(&core, SUPI).await?;
        ensure!(downlink == 4 * size && uplink >= 6 * size, "{uplink} and {downlink} bytes");
        ue.deregister().await?;
        peer.deregister().await?;
        core.until_all_released().await
    });
}

/// A flow from and to an address, with its own rating group.
fn rated(name: &str, from: Ipv4Addr, rating_group: u32) -> martlet_pcf::FlowConfig {
    martlet_pcf::FlowConfig {
        name: name.into(),
        five_qi: 7,
        filters: vec![format!("permit out ip from {from} to assigned")],
        precedence: 20 + rating_group as u8,
        rating_group: Some(rating_group),
        ..Default::default()
    }
}

/// Sends packets from one UE to another, one after the other. Returns the number received.
async fn send_between(from: (&Ue, Ipv4Addr), to: (&Ue, Ipv4Addr), count: u16) -> Result<u64> {
    for n in 0..count {
        from.0.send_ip(1, ping(from.1, to.1, n)).await?;
        let received = tokio::time::timeout(Duration::from_secs(3), to.0.recv_ip());
        if received.await.is_err() {
            return Ok(n.into());
        }
    }
    Ok(count.into())
}

/// Each rating group has its own usage and quota (TS 32.255, 5.2.1), also for flows added later. A
/// group whose quota is used up ends alone.
#[test]
fn rating_groups_are_counted_and_granted_separately() {
    in_namespace(|| async {
        // Addresses are allocated in order: the peer has the first one.
        let peer_address = Ipv4Addr::new(10, 45, 0, 2);
        let core = TestCore::start(Sbi::Http, |config| {
            online(config);
            (config.chf.grant, config.chf.threshold_percent) = (4000, 50);
            config.pcf.flows = vec![rated("peer", peer_address, 7)];
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (peer_ue, address) = core.ue_with_session(&gnb, 2).await?;
        ensure!(address == peer_address, "{address}");
        let (ue, own) = core.ue_with_session(&gnb, 1).await?;
        // The simulated UE sends all packets in its default flow, in the rating group of the
        // session.
        let one = pings(&ue, own, 10).await?;
        ensure!(send_between((&ue, own), (&peer_ue, peer_address), 5).await? == 5);
        ensure!(send_between((&peer_ue, peer_address), (&ue, own), 60).await? == 60);
        // A rating group is added during the session.
        let mut policy = core.config().pcf.clone();
        policy.flows.push(rated("gateway", GATEWAY, 9));
        core.reload("pcf", policy)?;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while ue.status().await?.sessions[0].flows.len() < 3 {
            ensure!(tokio::time::Instant::now() < deadline, "{:?}", ue.status().await?.sessions);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        pings(&ue, own, 3).await?;
        ue.deregister().await?;
        core.until("its session is released", |counts| counts.sessions == 1).await?;
        let shown = core.query(&format!("charging/{SUPI}")).await?;
        let groups = &shown["records"][0]["groups"];
        for (group, uplink, downlink) in [("1", 18, 10), ("7", 0, 60), ("9", 0, 3)] {
            let of = |direction: &str| groups[group][direction].as_u64();
            ensure!(
                of("uplink") == Some(uplink * one) && of("downlink") == Some(downlink * one),
                "{group}: {shown}"
            );
        }
        ensure!(account(&core, SUPI).await? == (18 * one, 73 * one), "{shown}");
        // The group of the session has the first units, the other group the rest. When that is used
        // up, the session continues without the flow.
        let third = "imsi-001010000000003";
        core.query(&format!("charging/{third}/{}", 4000 + 4000 + 10 * one)).await?;
        let (ue, own) = core.ue_with_session(&gnb, 3).await?;
        let carried = send_between((&peer_ue, peer_address), (&ue, own), 200).await?;
        ensure!(carried >= 10 && carried * one <= 4000 + 10 * one, "{carried} of {one} bytes");
        ensure!(
            send_between((&peer_ue, peer_address), (&ue, own), 1).await? == 0,
            "its quota is used up"
        );
        ensure!(
            send_between((&ue, own), (&peer_ue, peer_address), 5).await? == 5,
            "the quota of the session is not used up"
        );
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record
            .check(&["nchf-convergedcharging Update", "npcf-smpolicycontrol CreateSMPolicy"])
            .await
    });
}

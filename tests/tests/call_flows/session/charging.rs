//! Charging of sessions: what phones use is counted to the octet, and what they may not use they do
//! not (TS 32.255, 5.2).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::Ue;
use martlet_ran::gnb::UeError;
use martlet_ran::ue::SessionCause;
use martlet_smf::{ChargingMode, OnFailure};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, ping, reaches};
use std::net::Ipv4Addr;

const PHONE: &str = "imsi-001010000000001";

fn online(config: &mut Config) {
    config.chf.enabled = true;
    config.smf.charging.mode = ChargingMode::Online;
}

/// Octets that a phone has used by its account, uplink and downlink.
async fn account(core: &TestCore, supi: &str) -> Result<(u64, u64)> {
    let shown = core.ask(&format!("charging/{supi}")).await?;
    let of = |name: &str| shown["accounts"][supi][name].as_u64();
    Ok((of("uplink").context("an account")?, of("downlink").context("an account")?))
}

/// Sends echo requests, and waits for the answer of each; octets of one.
async fn pings(phone: &Ue, from: Ipv4Addr, count: u16) -> Result<u64> {
    for n in 0..count {
        phone.send_ip(1, ping(from, GATEWAY, n)).await?;
        phone.recv_ip().await?;
    }
    Ok(ping(from, GATEWAY, 0).len() as u64)
}

#[test]
fn usage_is_counted_exactly_and_recorded() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            online(config);
            // Half of a grant is some twenty packets: time enough for the next one.
            (config.chf.grant, config.chf.threshold_percent) = (4000, 50);
        })
        .await?;
        core.ask(&format!("charging/{PHONE}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (phone, address) = core.phone_with_session(&gnb, 1).await?;
        // Many grants, one after the other: each runs out, and the next is there before it does.
        let one = pings(&phone, address, 60).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        ensure!(
            account(&core, PHONE).await? == (60 * one, 60 * one),
            "{}",
            core.ask("charging").await?
        );
        let shown = core.ask(&format!("charging/{PHONE}")).await?;
        let record = &shown["records"][0];
        ensure!(record["uplink"] == 60 * one && record["downlink"] == 60 * one, "{shown}");
        // How often depends on how many packets come before an answer: 6 kB are more than one grant
        // in any case.
        ensure!(
            record["reports"].as_u64() > Some(1),
            "the quota was renewed while it was used: {shown}"
        );
        ensure!(
            record["address"] == address.to_string()
                && record["ended"] != ""
                && record["dnn"] == "internet",
            "{shown}"
        );
        ensure!(shown["accounts"][PHONE]["left"] == 1_000_000 - 120 * one, "{shown}");
        core.bodies
            .check(&[
                "nchf-convergedcharging Create",
                "nchf-convergedcharging Update",
                "nchf-convergedcharging Release",
            ])
            .await
    });
}

#[test]
fn session_ends_when_its_quota_is_used_up() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, online).await?;
        let size = ping(Ipv4Addr::UNSPECIFIED, GATEWAY, 0).len() as u64;
        core.ask(&format!("charging/{PHONE}/{}", 10 * size)).await?;
        let gnb = core.gnb(1).await?;
        let (phone, address) = core.phone_with_session(&gnb, 1).await?;
        let (other, _) = core.phone_with_session(&gnb, 2).await?;
        // Five there and back are what there is; what is sent beyond is not carried. The last
        // answer and the end of the session, which it brings about, are on their way to the
        // gNB at a time: either may come first.
        pings(&phone, address, 4).await?;
        phone.send_ip(1, ping(address, GATEWAY, 4)).await?;
        core.until("the session is gone", |counts| counts.sessions == 1).await?;
        ensure!(
            account(&core, PHONE).await? == (5 * size, 5 * size),
            "{}",
            core.ask("charging").await?
        );
        let refused = phone.establish_pdu_session(internet()).await;
        ensure!(matches!(refused, Err(UeError::Session(SessionCause::Sm(8)))), "{refused:?}");
        reaches(&other, 1, GATEWAY).await?;
        // More units: a new session. While it lasts, the CHF says that there are more still, and
        // the SMF asks anew.
        core.ask(&format!("charging/{PHONE}/{}", 4 * size)).await?;
        let session = phone.establish_pdu_session(internet()).await?;
        let address = session.ipv4.context("an address")?;
        pings(&phone, address, 1).await?;
        core.ask(&format!("charging/{PHONE}/{}", 100 * size)).await?;
        let asked = || (core.bodies.calls("nsmf-callback ChargingNotify") > 0).then_some(());
        eventually("the SMF is told", asked, String::new).await?;
        // Until N4 has the new units, what is beyond the old ones is not carried, and sent again.
        for _ in 0..20 {
            reaches(&phone, 1, GATEWAY).await?;
        }
        phone.deregister().await?;
        other.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn sessions_continue_without_a_chf_when_the_policy_allows_it() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.smf.charging.mode = ChargingMode::Online)
                .await?;
        let gnb = core.gnb(1).await?;
        core.use_session_and_leave_as(&gnb, 1).await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn sessions_are_rejected_without_a_chf_when_the_policy_requires_it() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.smf.charging.mode = ChargingMode::Offline;
            config.smf.charging.on_failure = OnFailure::Refuse;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        let refused = phone.establish_pdu_session(internet()).await;
        ensure!(refused.is_err_and(|error| error.cause() == Some(38)), "there is no CHF");
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 33.515, 4.2.2.1.4, TC_CHARGING_ID_UNIQUENESS_SMF: no two sessions have the same charging
/// identifier, not even one after the other.
#[test]
fn ts_33_515_4_2_2_1_4_charging_identifiers_are_unique() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, online).await?;
        let gnb = core.gnb(1).await?;
        let (mut phones, mut sessions) = (Vec::new(), 0);
        for n in 1..=3 {
            core.ask(&format!("charging/imsi-{:015}/1000000000000", 1_010_000_000_000_u64 + n))
                .await?;
            let phone = gnb.new_ue(core.phone(n))?;
            phone.register().await?;
            phones.push(phone);
        }
        for _ in 0..2 {
            for phone in &phones {
                let (one, other) = (
                    phone.establish_pdu_session(internet()),
                    phone.establish_pdu_session(internet()),
                );
                let (one, other) = (one.await?.psi, other.await?.psi);
                reaches(phone, one, GATEWAY).await?;
                phone.release_pdu_session(one).await?;
                phone.release_pdu_session(other).await?;
                sessions += 2;
            }
        }
        let mut ids = std::collections::BTreeSet::new();
        for n in 1..=3 {
            let shown =
                core.ask(&format!("charging/imsi-{:015}", 1_010_000_000_000_u64 + n)).await?;
            let records = shown["records"].as_array().context("records")?;
            ids.extend(
                records
                    .iter()
                    .filter_map(|record| record["charging_id"].as_str().map(str::to_owned)),
            );
        }
        ensure!(
            ids.len() == sessions && !ids.contains(""),
            "{sessions} sessions, and the identifiers {ids:?}"
        );
        for phone in phones {
            phone.deregister().await?;
        }
        core.until_nothing_is_left().await
    });
}

/// A flow of what comes from an address, and goes there, with a rating group of its own.
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

/// Packets from one phone to another, one after the other; how many of them came.
async fn crossing(from: (&Ue, Ipv4Addr), to: (&Ue, Ipv4Addr), count: u16) -> Result<u64> {
    for n in 0..count {
        from.0.send_ip(1, ping(from.1, to.1, n)).await?;
        let came = tokio::time::timeout(std::time::Duration::from_millis(300), to.0.recv_ip());
        if came.await.is_err() {
            return Ok(n.into());
        }
    }
    Ok(count.into())
}

/// TS 32.255, 5.2.1: each rating group has usage and units of its own, from the start and with
/// flows that come later; one that has none left ends by itself.
#[test]
fn rating_groups_are_counted_and_granted_separately() {
    in_namespace(|| async {
        // Addresses are given in order: the friend has the first.
        let friends = Ipv4Addr::new(10, 45, 0, 2);
        let core = TestCore::start(Sbi::Http, |config| {
            online(config);
            (config.chf.grant, config.chf.threshold_percent) = (4000, 50);
            config.pcf.flows = vec![rated("friends", friends, 7)];
        })
        .await?;
        core.ask(&format!("charging/{PHONE}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (friend, address) = core.phone_with_session(&gnb, 2).await?;
        ensure!(address == friends, "{address}");
        let (phone, own) = core.phone_with_session(&gnb, 1).await?;
        // The simulated phone sends all in its default flow, which is the session's own group.
        let one = pings(&phone, own, 10).await?;
        ensure!(crossing((&phone, own), (&friend, friends), 5).await? == 5);
        ensure!(crossing((&friend, friends), (&phone, own), 60).await? == 60);
        // Another group comes while the session lasts.
        let mut policy = core.config().pcf.clone();
        policy.flows.push(rated("gateway", GATEWAY, 9));
        core.reload("pcf", policy)?;
        let give_up = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
        while phone.status().await?.sessions[0].flows.len() < 3 {
            ensure!(tokio::time::Instant::now() < give_up, "{:?}", phone.status().await?.sessions);
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        pings(&phone, own, 3).await?;
        phone.deregister().await?;
        core.until("its session is gone", |counts| counts.sessions == 1).await?;
        let shown = core.ask(&format!("charging/{PHONE}")).await?;
        let groups = &shown["records"][0]["groups"];
        for (group, uplink, downlink) in [("1", 18, 10), ("7", 0, 60), ("9", 0, 3)] {
            let of = |way: &str| groups[group][way].as_u64();
            ensure!(
                of("uplink") == Some(uplink * one) && of("downlink") == Some(downlink * one),
                "{group}: {shown}"
            );
        }
        ensure!(account(&core, PHONE).await? == (18 * one, 73 * one), "{shown}");
        // The session's own group has the first units, another one what is left: when that is used
        // up the session goes on without it.
        let third = "imsi-001010000000003";
        core.ask(&format!("charging/{third}/{}", 4000 + 4000 + 10 * one)).await?;
        let (phone, own) = core.phone_with_session(&gnb, 3).await?;
        let carried = crossing((&friend, friends), (&phone, own), 200).await?;
        ensure!(carried >= 10 && carried * one <= 4000 + 10 * one, "{carried} of {one} octets");
        ensure!(
            crossing((&friend, friends), (&phone, own), 1).await? == 0,
            "its units are used up"
        );
        ensure!(
            crossing((&phone, own), (&friend, friends), 5).await? == 5,
            "the session's own are not"
        );
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await?;
        core.bodies
            .check(&["nchf-convergedcharging Update", "npcf-smpolicycontrol CreateSMPolicy"])
            .await
    });
}

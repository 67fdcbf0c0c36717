//! gNBs that fail or disconnect (TS 23.527, 5.3).
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, TestCore, Wall, in_namespace, internet, ping, reaches, sequence_of};

/// Phones that are out of reach are forgotten after two seconds.
fn forgetful(config: &mut Config) {
    config.amf.timers.t3512_s = 1;
    config.amf.timers.mobile_reachable_s = 0;
    config.amf.timers.implicit_deregistration_s = 1;
    config.amf.timers.deregistered_s = 0;
}

/// Phones of these numbers, each with a session.
async fn phones(
    core: &TestCore,
    gnb: &Gnb,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Vec<Ue>> {
    let mut phones = Vec::new();
    for n in numbers {
        phones.push(core.phone_with_session(gnb, n).await?.0);
    }
    Ok(phones)
}

#[test]
fn ues_of_an_aborted_gnb_become_idle_and_are_deregistered() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, forgetful).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let lost = phones(&core, &gnb, 1..=3).await?;
        let kept = phones(&core, &other, 4..=4).await?;
        gnb.vanish();
        core.until("three phones are idle", |c| {
            (c.gnbs, c.registered, c.connected, c.user_planes) == (1, 4, 1, 4)
        })
        .await?;
        reaches(&kept[0], 1, GATEWAY).await?;
        // Nobody hears of them any more.
        core.until("three phones are forgotten", |c| {
            (c.contexts, c.sessions, c.addresses, c.user_planes) == (1, 1, 1, 1)
        })
        .await?;
        reaches(&kept[0], 1, GATEWAY).await?;
        kept[0].deregister().await?;
        core.until_nothing_is_left().await?;
        drop(lost);
        core.bodies
            .check(&["nsmf-pdusession UpdateSmContext", "nudm-uecm Update3GppRegistration"])
            .await
    });
}

#[test]
fn gnb_is_removed_when_its_heartbeats_fail() {
    if !martlet_tests::has("nft") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.n2.heartbeat_ms = 200).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, to) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&other, 2).await?;
        let address = core.gnb_config(1).n2_local.expect("the gNB has an address");
        let _wall = Wall::around_sctp_of(address)?;
        core.until("the gNB is lost", |c| (c.gnbs, c.registered, c.connected) == (1, 2, 1)).await?;
        // Its phone notices that the gNB has gone, too, and selects another cell, where it is
        // paged.
        gnb.lost().await;
        phone.wait_idle().await?;
        phone.move_to(&other).await?;
        friend.send_ip(1, ping(from, to, 3)).await?;
        let (_, packet) = phone.recv_ip().await?;
        ensure!(sequence_of(&packet) == Some(3), "{packet:02x?}");
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn gnb_reconnects_after_a_shutdown_and_an_abort() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        for in_good_order in [true, false, true, false] {
            reaches(&phone, 1, GATEWAY).await?;
            core.until("the phone is connected", |c| (c.gnbs, c.connected) == (1, 1)).await?;
            match in_good_order {
                true => gnb.shutdown().await,
                false => gnb.vanish(),
            }
            core.until("the gNB is gone", |c| (c.gnbs, c.registered, c.connected) == (0, 1, 0))
                .await?;
            gnb.lost().await;
            phone.wait_idle().await?;
            gnb = gnb.connect_again().await?;
            phone.move_to(&gnb).await?;
        }
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn gnb_failure_during_registration_leaves_no_context() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, forgetful).await?;
        // The gNB goes at ever later moments of their procedures.
        for (n, moment) in [0, 2, 5, 9, 14, 20, 27].into_iter().enumerate() {
            let gnb = core.gnb(n as u8 + 1).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for phone in 1..=8 {
                let phone = gnb.new_ue(core.phone(phone))?;
                tasks.spawn(async move {
                    phone.register().await?;
                    phone.establish_pdu_session(internet()).await
                });
            }
            tokio::time::sleep(std::time::Duration::from_millis(moment)).await;
            gnb.vanish();
            while tasks.join_next().await.is_some() {}
        }
        core.until_nothing_is_left().await?;
        core.until("the AMF keeps no context", |c| (c.gnbs, c.contexts) == (0, 0)).await?;
        // And all of them may come again.
        let gnb = core.gnb(20).await?;
        for n in 1..=8 {
            core.use_session_and_leave_as(&gnb, n).await?;
        }
        core.until_nothing_is_left().await
    });
}

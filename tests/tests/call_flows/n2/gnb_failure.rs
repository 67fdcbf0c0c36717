//! gNBs that fail or disconnect (TS 23.527, 5.3).
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{
    GATEWAY, PacketFilter, TestCore, in_namespace, internet, ping, reaches, sequence_of,
};
use std::time::Duration;

/// A packet that is not received is sent again after this time.
const RETRANSMISSION: Duration = Duration::from_secs(1);

/// Short timers: unreachable UEs are deregistered after three seconds, of which T3512 takes two.
fn with_short_timers(config: &mut Config) {
    config.amf.timers.t3512_s = 1;
    config.amf.timers.mobile_reachable_s = 0;
    config.amf.timers.implicit_deregistration_s = 1;
    config.amf.timers.deregistered_s = 0;
}

/// Registers these UEs, each with a session.
async fn ues(
    core: &TestCore,
    gnb: &Gnb,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Vec<Ue>> {
    let mut ues = Vec::new();
    for n in numbers {
        ues.push(core.ue_with_session(gnb, n).await?.0);
    }
    Ok(ues)
}

#[test]
fn ues_of_an_aborted_gnb_become_idle_and_are_deregistered() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, with_short_timers).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let lost = ues(&core, &gnb, 1..=3).await?;
        let unaffected = ues(&core, &other, 4..=4).await?;
        gnb.abort();
        core.until("three UEs are in CM-IDLE", |c| {
            (c.gnbs, c.registered, c.connected, c.user_planes) == (1, 4, 1, 4)
        })
        .await?;
        reaches(&unaffected[0], 1, GATEWAY).await?;
        // The implicit deregistration timer removes them.
        core.until("three UEs are deregistered", |c| {
            (c.contexts, c.sessions, c.addresses, c.user_planes) == (1, 1, 1, 1)
        })
        .await?;
        reaches(&unaffected[0], 1, GATEWAY).await?;
        unaffected[0].deregister().await?;
        core.until_all_released().await?;
        drop(lost);
        core.sbi_record
            .check(&["nsmf-pdusession UpdateSmContext", "nudm-uecm Update3GppRegistration"])
            .await
    });
}

#[test]
fn gnb_is_removed_when_its_heartbeats_fail() {
    if !martlet_tests::is_installed("nft") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.n2.heartbeat_ms = 200).await?;
        let mut config = core.gnb_config(1);
        config.sctp_options.heartbeat = Duration::from_millis(200);
        let address = config.n2_local.expect("the gNB has an address");
        let (gnb, other) = (Gnb::connect(config).await?, core.gnb(2).await?);
        let (ue, to) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&other, 2).await?;
        let _filter = PacketFilter::drop_sctp_of(address)?;
        core.until("the gNB is removed", |c| (c.gnbs, c.registered, c.connected) == (1, 2, 1))
            .await?;
        // Its UE also detects the failure, selects another cell and is paged there.
        gnb.lost().await;
        ue.wait_idle().await?;
        ue.move_to(&other).await?;
        // The UPF may still send a first packet to the lost gNB: the AMF has released the UE, but
        // the SMF has yet to deactivate the session.
        let (_, packet) = loop {
            peer_ue.send_ip(1, ping(from, to, 3)).await?;
            if let Ok(packet) = tokio::time::timeout(RETRANSMISSION, ue.recv_ip()).await {
                break packet?;
            }
        };
        ensure!(sequence_of(&packet) == Some(3), "{packet:02x?}");
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn gnb_reconnects_after_a_shutdown_and_an_abort() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        for graceful in [true, false, true, false] {
            reaches(&ue, 1, GATEWAY).await?;
            core.until("the UE is connected", |c| (c.gnbs, c.connected) == (1, 1)).await?;
            match graceful {
                true => gnb.shutdown().await,
                false => gnb.abort(),
            }
            core.until("the gNB is removed", |c| (c.gnbs, c.registered, c.connected) == (0, 1, 0))
                .await?;
            gnb.lost().await;
            ue.wait_idle().await?;
            gnb = gnb.connect_again().await?;
            ue.move_to(&gnb).await?;
        }
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn gnb_failure_during_registration_leaves_no_context() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, with_short_timers).await?;
        // The gNB fails at later and later moments of the procedures.
        for (n, moment) in [0, 2, 5, 9, 14, 20, 27].into_iter().enumerate() {
            let gnb = core.gnb(n as u8 + 1).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for ue in 1..=8 {
                let ue = gnb.new_ue(core.ue_config(ue))?;
                tasks.spawn(async move {
                    ue.register().await?;
                    ue.establish_pdu_session(internet()).await
                });
            }
            tokio::time::sleep(Duration::from_millis(moment)).await;
            gnb.abort();
            while tasks.join_next().await.is_some() {}
        }
        core.until_all_released().await?;
        core.until("no context is left at the AMF", |c| (c.gnbs, c.contexts) == (0, 0)).await?;
        // All of them can register again.
        let gnb = core.gnb(20).await?;
        for n in 1..=8 {
            core.register_use_session_and_deregister(&gnb, n).await?;
        }
        core.until_all_released().await
    });
}

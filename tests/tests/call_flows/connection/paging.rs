//! Network-triggered service request: buffering and paging (TS 23.502, 4.2.3.3).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_ran::{Ue, UeConfig};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches, sequence_of};
use std::net::Ipv4Addr;
use std::time::Duration;

/// A phone that does only what it is told.
fn manual(mut config: UeConfig) -> UeConfig {
    config.idle = IdleBehaviour::Manual;
    config
}

/// The next packets are these pings, in this order.
pub async fn receives(phone: &Ue, sequences: std::ops::RangeInclusive<u16>) -> Result<()> {
    for sequence in sequences {
        let (_, packet) = phone.recv_ip().await?;
        ensure!(
            sequence_of(&packet) == Some(sequence),
            "packet {sequence} is due, and {packet:02x?} came"
        );
    }
    Ok(())
}

/// Sends pings from one phone to another.
async fn send(
    phone: &Ue,
    from: Ipv4Addr,
    to: Ipv4Addr,
    sequences: std::ops::RangeInclusive<u16>,
) -> Result<()> {
    for sequence in sequences {
        phone.send_ip(1, ping(from, to, sequence)).await?;
    }
    Ok(())
}

#[test]
fn downlink_data_pages_an_idle_ue_and_arrives_in_order() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let (two, to) = core.phone_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        // The second phone answers paging by itself, as phones do.
        send(&one, from, to, 1..=50).await?;
        receives(&two, 1..=50).await?;
        ensure!(core.counts().buffered == 0, "{:?}", core.counts());
        core.bodies.check(&["namf-comm N1N2MessageTransfer"]).await
    });
}

#[test]
fn idle_ue_is_paged_in_its_new_cell() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let (two, to) = core.phone_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        two.move_to(&other).await?;
        send(&one, from, to, 1..=5).await?;
        receives(&two, 1..=5).await?;
        ensure!(other.ue_counts().0 == 1 && gnb.ue_counts().0 == 1, "each phone has a gNB");
        Ok(())
    });
}

#[test]
fn buffered_packets_are_dropped_when_paging_fails() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.amf.timers.t3513_ms = 150;
            config.amf.timers.paging_attempts = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.phone(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        for round in 1..=2 {
            send(&one, from, to, 1..=3).await?;
            two.wait_for_paging().await?;
            core.until("three packets wait", |counts| counts.buffered == 3).await?;
            // T3513 expires twice; the SMF hears of it, and has the UPF drop what waits.
            core.until("what waited is dropped", |counts| counts.buffered == 0).await?;
            let dropped = core.status("upf")["drops"]["buffer_dropped"].as_u64();
            ensure!(dropped == Some(3 * round), "{dropped:?} packets are counted as dropped");
            let told = core.bodies.calls("nsmf-callback N1N2TransferFailureNotification");
            ensure!(told as u64 == round, "the SMF was told {told} times");
            // The next packet pages the phone anew.
        }
        two.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&two, 1, GATEWAY).await?;
        send(&one, from, to, 7..=9).await?;
        receives(&two, 7..=9).await?;
        core.bodies.check(&["nsmf-callback N1N2TransferFailureNotification"]).await
    });
}

#[test]
fn full_buffer_drops_and_counts_further_packets() {
    in_namespace(|| async {
        let few = |config: &mut martlet::config::Config| {
            config.upf.kernel.buffer_packets_per_session = 3;
            config.upf.xdp.buffer_packets_per_session = 3;
        };
        let core = TestCore::start(Sbi::Local, few).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.phone(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        send(&one, from, to, 1..=8).await?;
        two.wait_for_paging().await?;
        let full =
            || core.status("upf")["drops"]["buffer_full"].as_u64().filter(|count| *count == 5);
        martlet_tests::eventually("five packets too many", full, || core.status("upf").to_string())
            .await?;
        two.service_request().await?;
        receives(&two, 1..=3).await?;
        send(&one, from, to, 9..=9).await?;
        receives(&two, 9..=9).await
    });
}

#[test]
fn idle_ue_without_downlink_data_is_not_paged() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(manual(core.phone(1)))?;
        core.register_with_session(&phone).await?;
        phone.release_to_idle().await?;
        let paged = phone.wait_for_paging_within(Duration::from_millis(300)).await;
        ensure!(paged.is_err(), "nothing came for it");
        Ok(())
    });
}

#[test]
fn gtpu_error_indication_sets_the_tunnel_up_again() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let (two, to) = core.phone_with_session(&gnb, 2).await?;
        reaches(&two, 1, GATEWAY).await?;
        let tunnels = || -> Vec<String> {
            let status = core.status("upf");
            let sessions = status["sessions"].as_array().into_iter().flatten();
            let of_two = sessions.filter(|session| session["ue"][0] == to.to_string());
            of_two
                .map(|session| session["remote"][0].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let before = tunnels();
        let teid = before[0].trim_start_matches("0x").split('@').next().unwrap_or_default();
        let teid = u32::from_str_radix(teid, 16)?;
        // As the gNB's GTP-U entity would say it (TS 29.281, 7.3.1).
        let address = core.gnb_config(1).n3.expect("the gNB has an address");
        let socket = tokio::net::UdpSocket::bind((address, 0)).await?;
        socket
            .send_to(&martlet_gtpu::error_indication(teid, address), core.config().upf.n3.address)
            .await?;
        let buffers = || {
            let status = core.status("upf");
            status["sessions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|session| session["buffers"] == true)
                .then_some(())
        };
        martlet_tests::eventually("downlink waits", buffers, || core.status("upf").to_string())
            .await?;
        // What comes now waits until the gNB has set the session up once more.
        send(&one, from, to, 1..=3).await?;
        receives(&two, 1..=3).await?;
        ensure!(tunnels() != before, "there is another tunnel: {:?}", tunnels());
        reaches(&two, 1, GATEWAY).await?;
        core.bodies.check(&["namf-comm N1N2MessageTransfer"]).await
    });
}

//! Network-triggered service request: buffering and paging (TS 23.502, 4.2.3.3).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_ran::{Ue, UeConfig};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches, sequence_of};
use std::net::Ipv4Addr;
use std::time::Duration;

/// A UE that does not answer paging by itself.
fn manual(mut config: UeConfig) -> UeConfig {
    config.idle = IdleBehaviour::Manual;
    config
}

/// Expects echo requests with these sequence numbers, in order.
pub async fn receives(ue: &Ue, sequences: std::ops::RangeInclusive<u16>) -> Result<()> {
    for sequence in sequences {
        let (_, packet) = ue.recv_ip().await?;
        ensure!(
            sequence_of(&packet) == Some(sequence),
            "expected packet {sequence}, received {packet:02x?}"
        );
    }
    Ok(())
}

/// Sends echo requests from one UE to another.
async fn send(
    ue: &Ue,
    from: Ipv4Addr,
    to: Ipv4Addr,
    sequences: std::ops::RangeInclusive<u16>,
) -> Result<()> {
    for sequence in sequences {
        ue.send_ip(1, ping(from, to, sequence)).await?;
    }
    Ok(())
}

#[test]
fn downlink_data_pages_an_idle_ue_and_arrives_in_order() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        // The second UE answers paging automatically.
        send(&one, from, to, 1..=50).await?;
        receives(&two, 1..=50).await?;
        ensure!(core.counts().buffered == 0, "{:?}", core.counts());
        core.sbi_record.check(&["namf-comm N1N2MessageTransfer"]).await
    });
}

#[test]
fn idle_ue_is_paged_in_its_new_cell() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        two.move_to(&other).await?;
        send(&one, from, to, 1..=5).await?;
        receives(&two, 1..=5).await?;
        ensure!(other.ue_counts().0 == 1 && gnb.ue_counts().0 == 1, "each gNB has one UE");
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
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.ue_config(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        for round in 1..=2 {
            send(&one, from, to, 1..=3).await?;
            two.wait_for_paging().await?;
            core.until("three packets are buffered", |counts| counts.buffered == 3).await?;
            // T3513 expires twice; the SMF is notified and makes the UPF drop its buffer.
            core.until("the buffer is dropped", |counts| counts.buffered == 0).await?;
            let dropped = core.status("upf")["drops"]["buffer_dropped"].as_u64();
            ensure!(dropped == Some(3 * round), "{dropped:?} packets counted as dropped");
            let notified = core.sbi_record.calls("nsmf-callback N1N2TransferFailureNotification");
            ensure!(notified as u64 == round, "the SMF was notified {notified} times");
            // The next packet pages the UE again.
        }
        two.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&two, 1, GATEWAY).await?;
        send(&one, from, to, 7..=9).await?;
        receives(&two, 7..=9).await?;
        core.sbi_record.check(&["nsmf-callback N1N2TransferFailureNotification"]).await
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
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.ue_config(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        send(&one, from, to, 1..=8).await?;
        two.wait_for_paging().await?;
        let full =
            || core.status("upf")["drops"]["buffer_full"].as_u64().filter(|count| *count == 5);
        martlet_tests::eventually("five packets do not fit", full, || {
            core.status("upf").to_string()
        })
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
        let ue = gnb.new_ue(manual(core.ue_config(1)))?;
        core.register_with_session(&ue).await?;
        ue.release_to_idle().await?;
        let paged = ue.wait_for_paging_within(Duration::from_millis(300)).await;
        ensure!(paged.is_err(), "the UE was paged without data");
        Ok(())
    });
}

#[test]
fn gtpu_error_indication_sets_the_tunnel_up_again() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
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
        // An Error Indication of the gNB (TS 29.281, 7.3.1).
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
        martlet_tests::eventually("downlink is buffered", buffers, || {
            core.status("upf").to_string()
        })
        .await?;
        // Packets are buffered until the gNB has set the session up again.
        send(&one, from, to, 1..=3).await?;
        receives(&two, 1..=3).await?;
        ensure!(tunnels() != before, "the tunnel is unchanged: {:?}", tunnels());
        reaches(&two, 1, GATEWAY).await?;
        core.sbi_record.check(&["namf-comm N1N2MessageTransfer"]).await
    });
}

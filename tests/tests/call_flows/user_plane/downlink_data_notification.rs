//! Downlink data of an idle UE at UPF and SMF: buffers that overflow or are dropped (TS 23.502,
//! 4.2.3.3, steps 1 to 5).
use crate::connection::paging::{manual, receives, send};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::ServicePurpose;
use martlet_tests::{
    GATEWAY, Impairments, LogLines, LossyLink, PacketFilter, SeparateUpf, TestCore, eventually,
    in_namespace, is_installed, reaches,
};
use std::net::Ipv4Addr;
use std::time::Duration;

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

/// The paging of a UE fails during an interruption of N4. Afterwards the UPF drops its buffer, and
/// the next packet pages the UE again.
#[test]
fn buffered_packets_are_dropped_although_the_upf_did_not_answer_at_first() {
    const FAILED: &str = "nsmf-callback N1N2TransferFailureNotification";
    if !is_installed("nft") {
        return;
    }
    in_namespace(|| async {
        let log = LogLines::record();
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start_on(Sbi::Http, |config| {
            SeparateUpf::replace_core_upf(config);
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
            (config.amf.timers.t3513_ms, config.amf.timers.paging_attempts) = (150, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.ue_config(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        let buffered = || -> u64 {
            let sessions = upf.status()["sessions"].as_array().cloned().unwrap_or_default();
            sessions.iter().filter_map(|session| session["bufferedPackets"].as_u64()).sum()
        };
        core.sbi_gate.close(FAILED, 0);
        send(&one, from, to, 1..=3).await?;
        two.wait_for_paging().await?;
        let notified = || (core.sbi_gate.held(FAILED) == 1).then_some(());
        eventually("the paging fails", notified, String::new).await?;
        ensure!(buffered() == 3, "{}", upf.status());
        let transfers = || core.sbi_record.calls("namf-comm N1N2MessageTransfer");
        let before = transfers();
        let lost = PacketFilter::drop_udp_port(SeparateUpf::n4().port())?;
        core.sbi_gate.open();
        let lines = || log.with_message("buffered packets not dropped yet");
        let failed = || (!lines().is_empty()).then_some(());
        eventually("the UPF does not answer", failed, String::new).await?;
        ensure!(buffered() == 3, "the UPF has received the request");
        drop(lost);
        let dropped = || (buffered() == 0).then_some(());
        eventually("the buffer is dropped", dropped, || upf.status().to_string()).await?;
        send(&one, from, to, 4..=4).await?;
        let paged = || (transfers() > before).then_some(());
        eventually("the next packet is reported", paged, || upf.status().to_string()).await
    });
}

/// An AN release and a service request, each during an interruption of N4. Afterwards the UPF
/// buffers, and forwards.
#[test]
fn downlink_is_changed_although_the_upf_did_not_answer_at_first() {
    in_namespace(|| async {
        let (near, far) = (Ipv4Addr::new(127, 0, 0, 44), Ipv4Addr::new(127, 0, 0, 45));
        let upf = SeparateUpf::start_with(|upf| {
            upf.n4.allow = vec![format!("{far}/32").parse().expect("a network")];
        })
        .await?;
        let link = LossyLink::between(near.into(), far.into(), SeparateUpf::n4(), 1)?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.upfs[0].n4 = (near, 8805).into();
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(manual(core.ue_config(1)))?;
        core.register_with_session(&ue).await?;
        reaches(&ue, 1, GATEWAY).await?;
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        ue.release_to_idle().await?;
        // Both transmissions time out.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let buffers = || (upf.status()["sessions"][0]["buffers"] == true).then_some(());
        ensure!(buffers().is_none(), "the UPF has received the request");
        link.impair(Impairments::default());
        eventually("downlink is buffered", buffers, || upf.status().to_string()).await?;
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        ensure!(buffers().is_some(), "the UPF has received the request");
        link.impair(Impairments::default());
        reaches(&ue, 1, GATEWAY).await
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
        eventually("five packets do not fit", full, || core.status("upf").to_string()).await?;
        two.service_request().await?;
        receives(&two, 1..=3).await?;
        send(&one, from, to, 9..=9).await?;
        receives(&two, 9..=9).await
    });
}

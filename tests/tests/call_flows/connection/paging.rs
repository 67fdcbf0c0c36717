//! Network-triggered service request: buffering and paging (TS 23.502, 4.2.3.3).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::IdleBehaviour;
use martlet_ran::{Gnb, Ue, UeConfig};
use martlet_tests::{TestCore, in_namespace, ping, sequence_of};
use std::net::Ipv4Addr;
use std::time::Duration;

/// A UE that does not answer paging by itself.
pub fn manual(mut config: UeConfig) -> UeConfig {
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
pub async fn send(
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

/// UERANSIM 3.3 pages with the AMF pointer 0 whatever the AMF sends.
#[test]
fn a_gnb_that_reads_the_amf_pointer_as_0_pages_ues_of_the_default_configuration_only() {
    for pointer in [None, Some(1)] {
        in_namespace(move || async move {
            let core = TestCore::start(Sbi::Local, |config| {
                if let Some(pointer) = pointer {
                    config.amf.timers.t3513_ms = 150;
                    config.amf.timers.paging_attempts = 2;
                    config.amf.guamis[0].pointer = pointer;
                }
            })
            .await?;
            let mut config = core.gnb_config(1);
            config.deviations.zero_amf_pointer = true;
            let gnb = Gnb::connect(config).await?;
            let (one, from) = core.ue_with_session(&gnb, 1).await?;
            let (two, to) = core.ue_with_session(&gnb, 2).await?;
            two.release_to_idle().await?;
            send(&one, from, to, 1..=3).await?;
            if pointer.is_none() {
                return receives(&two, 1..=3).await;
            }
            let dropped = || {
                let status = core.status("upf");
                (status["drops"]["buffer_dropped"] == 3).then_some(())
            };
            martlet_tests::eventually("paging fails", dropped, || core.status("upf").to_string())
                .await?;
            let paged = two.wait_for_paging_within(Duration::from_millis(100)).await;
            ensure!(paged.is_err(), "the UE was paged");
            Ok(())
        });
    }
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

//! Idle phones: AN release, service request, paging (TS 23.502, 4.2.3 and 4.2.6).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace, ping, sequence_of};

#[test]
fn downlink_data_page_an_idle_phone_and_arrive_in_order() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.phone_with_session(&gnb, 1).await?;
        let (two, to) = core.phone_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        // The second phone answers paging by itself, as phones do.
        for sequence in 1..=5 {
            one.send_ip(1, ping(from, to, sequence)).await?;
        }
        for sequence in 1..=5u16 {
            let (_, packet) = two.recv_ip().await?;
            ensure!(sequence_of(&packet) == Some(sequence), "packet {sequence} is due, and {packet:02x?} came");
        }
        core.bodies.check(&["namf-comm N1N2MessageTransfer"])
    });
}

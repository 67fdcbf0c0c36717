//! Positioning over QUIC through gNB and UPF.
use super::*;
use martlet_lcs_channel::{Options, connect};
use martlet_lcsupp::{BindingIdentity, Message};

const OVER_QUIC: &[Kind] = &[Kind::Quinn];
const WHATEVER: &[Kind] = &[Kind::Quinn, Kind::Rustls];

/// Channels that were established.
fn channels(kind: Kind) -> f64 {
    metric("martlet_lmf_channels_total", &[("channel", kind.name())])
}

impl Testbed {
    async fn with_channel(channel: &str) -> Result<Testbed> {
        let channel = channel.to_string();
        Testbed::start(Sbi::Local, move |config| config.lmf.user_plane.channel = channel).await
    }

    async fn positioning_ue_over(
        &self,
        n: u64,
        at: GeoPoint,
        channels: &[Kind],
    ) -> Result<(Ue, Positioning)> {
        let able = |config: &mut PositioningConfig| config.channels = channels.to_vec();
        self.positioning_ue_with(n, at, true, true, self.trust()?, able).await
    }
}

#[test]
fn ue_is_located_over_quic() {
    in_namespace(|| async {
        let testbed = Testbed::with_channel("quinn").await?;
        let there = place(120.0, 140.0);
        let (_ue, positioning) = testbed.positioning_ue_over(1, there, OVER_QUIC).await?;
        // Other tests in this process add to the metrics, too.
        let quic = channels(Kind::Quinn);
        let (found, method, within) = testbed.locate(1).await?;
        ensure!(positioning.state() == UeState::Established, "{:?}", positioning.state());
        ensure!(
            method == "NR_ECID" && found.distance(&there) < within.min(20.0),
            "{method}, {found:?}"
        );
        ensure!(
            channels(Kind::Quinn) > quic && positioning.channel_kind() == Some(Kind::Quinn),
            "the channel is not QUIC"
        );
        // The answer names the channel.
        let result = testbed.core.query("locate/imsi-001010000000001").await?;
        let over = &result["userPlane"];
        ensure!(
            over["channel"] == "quinn"
                && over["transport"] == "QUIC over UDP"
                && over["why"].is_string(),
            "{result}"
        );
        // Later requests use the same connection and no NAS.
        let transfers = testbed.core.sbi_record.calls("namf-comm N1N2MessageTransfer");
        let mut times = Vec::new();
        for _ in 0..50 {
            let start = std::time::Instant::now();
            testbed.locate(1).await?;
            times.push(start.elapsed());
        }
        times.sort();
        println!(
            "E-CID over QUIC, two LPP procedures each: median {:?}, at most {:?}",
            times[25], times[49]
        );
        ensure!(
            testbed.core.sbi_record.calls("namf-comm N1N2MessageTransfer") == transfers,
            "NAS was used again"
        );

        positioning.release().await;
        ensure!(
            positioning.wait_for(UeState::Idle, LIMIT).await,
            "the connection was not released"
        );
        testbed.locate(1).await?;
        ensure!(positioning.state() == UeState::Established && channels(Kind::Quinn) >= quic + 2.0);
        testbed.core.sbi_record.check(OPERATIONS).await
    });
}

#[test]
fn quic_and_tls_ues_are_served_beside_unauthenticated_peers() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let places = [place(50.0, 60.0), place(300.0, 20.0), place(150.0, 300.0)];
        let mut ues = Vec::new();
        for ((n, there), over) in (1..).zip(places).zip([WHATEVER, &[Kind::Rustls], OVER_QUIC]) {
            ues.push(testbed.positioning_ue_over(n, there, over).await?);
            testbed.locate(n).await?;
        }
        // A UE with both uses QUIC.
        let over: Vec<_> = ues.iter().map(|(_, positioning)| positioning.channel_kind()).collect();
        ensure!(over == [Some(Kind::Quinn), Some(Kind::Rustls), Some(Kind::Quinn)], "{over:?}");

        let unknown =
            Message::BindingRequest(BindingIdentity::new(vec![7; 16]).context("no identity")?)
                .encode()?;
        let refused = || metric("martlet_lmf_rejected_total", &[("reason", "unknown_binding")]);
        let (before, trust) = (refused(), testbed.trust()?);
        let answer = tokio::task::spawn_blocking(move || -> Result<Vec<u8>> {
            let lmf_address = std::net::SocketAddr::from((lmf(), 9127));
            let unused_port = std::net::UdpSocket::bind("0.0.0.0:0")?;
            for length in [1, 20, 1200] {
                unused_port.send_to(&vec![0xc3; length], lmf_address)?;
            }
            let other = Identity::self_signed(&[&lmf().to_string()])?.trust(&lmf().to_string());
            ensure!(
                connect(Kind::Quinn, lmf_address, &other, &Options::default()).is_err(),
                "an untrusted certificate was accepted"
            );
            let mut channel = connect(Kind::Quinn, lmf_address, &trust, &Options::default())?;
            channel.send(&unknown)?;
            let mut answer = Vec::new();
            while channel.receive(&mut answer).unwrap_or(false) {}
            Ok(answer)
        });
        ensure!(
            answer.await?? == [0x45] && refused() > before,
            "the unknown binding identity is not rejected"
        );
        for (n, there) in (1..).zip(&places) {
            let (found, _, within) = testbed.locate(n).await?;
            ensure!(
                found.distance(there) < within,
                "UE {n}: {} m, {within}",
                found.distance(there)
            );
        }
        ensure!(ues.iter().all(|(_, positioning)| positioning.state() == UeState::Established));
        Ok(())
    });
}

#[test]
fn ue_falls_back_to_tls_when_the_lmf_has_no_quic() {
    in_namespace(|| async {
        let testbed = Testbed::with_channel("rustls").await?;
        let (_ue, positioning) =
            testbed.positioning_ue_over(1, place(50.0, 60.0), WHATEVER).await?;
        let start = std::time::Instant::now();
        testbed.locate(1).await?;
        // The closed port is reported by ICMP, so the UE does not wait for its timeout of 5 s.
        ensure!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        ensure!(
            positioning.state() == UeState::Established
                && positioning.channel_kind() == Some(Kind::Rustls)
        );
        Ok(())
    });
}

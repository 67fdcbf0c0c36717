//! Positioning over a user plane connection between UE and LMF (TS 23.273, 6.18; TS 24.572).
use super::*;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_lcs_channel::Identity;
use martlet_lcs_protocol::UeState;
use martlet_lcsupp::upp_cm::UppCm;
use martlet_ran::UeEvent;
use martlet_ran::ue::{Event, PositioningKind};
use martlet_tests::in_namespace;
use std::time::Duration;

#[test]
fn ue_is_located_over_the_user_plane_in_one_process() {
    in_namespace(|| over_the_user_plane(Sbi::Local));
}

#[test]
fn ue_is_located_over_the_user_plane_with_http() {
    in_namespace(|| over_the_user_plane(Sbi::Http));
}

/// Prints the latencies with `--nocapture`.
#[test]
fn median_latency_of_a_position_is_below_100_ms() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let (_ue, _positioning) = testbed.ue(1, place(120.0, 140.0), true, true).await?;
        testbed.locate(1).await?;
        let mut times = Vec::new();
        for _ in 0..100 {
            let start = std::time::Instant::now();
            testbed.locate(1).await?;
            times.push(start.elapsed());
        }
        times.sort();
        let (median, max) = (times[times.len() / 2], times[times.len() - 1]);
        println!(
            "E-CID over the user plane, two LPP procedures each: median {median:?}, maximum \
             {max:?}"
        );
        ensure!(median < Duration::from_millis(100), "{median:?}");
        Ok(())
    });
}

#[test]
fn ue_requests_the_user_plane_connection() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let (_ue, positioning) = testbed.ue(1, place(10.0, 20.0), true, true).await?;
        positioning.request().await;
        ensure!(
            positioning.wait_for(UeState::Established, LIMIT).await,
            "{:?}",
            positioning.state()
        );
        testbed.core.sbi_record.check_members()?;
        testbed.core.sbi_record.check(&["nlmf-loc UpConfig"]).await
    });
}

#[test]
fn request_for_a_user_plane_connection_above_the_limit_is_rejected() {
    in_namespace(|| async {
        let testbed =
            Testbed::start(Sbi::Local, |config| config.lmf.user_plane.max_connections = 1).await?;
        let (_first, first) = testbed.ue(1, place(10.0, 20.0), true, true).await?;
        first.request().await;
        ensure!(first.wait_for(UeState::Established, LIMIT).await, "{:?}", first.state());
        let (second, positioning) = testbed.ue(2, place(10.0, 20.0), true, true).await?;
        let mut events = second.subscribe().await?;
        positioning.request().await;
        let answer = async {
            loop {
                if let UeEvent::Nas(Event::Positioning { kind, message, .. }) =
                    events.recv().await?
                    && kind == PositioningKind::UppCmi
                {
                    return anyhow::Ok(UppCm::decode(&message)?);
                }
            }
        };
        // Without it, the UE would repeat its request every 10 s.
        let answer = tokio::time::timeout(LIMIT, answer).await.context("no answer")??;
        let UppCm::EstablishmentReject(Some(back_off)) = answer else {
            anyhow::bail!("{answer:?} is no reject with a back-off timer");
        };
        ensure!(back_off.duration() == Some(Duration::from_secs(60)), "{back_off:?}");
        ensure!(positioning.wait_for(UeState::Idle, LIMIT).await, "{:?}", positioning.state());
        // It is located over NAS.
        testbed.locate(2).await?;
        Ok(())
    });
}

#[test]
fn several_ues_are_located_independently() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let places =
            [place(50.0, 60.0), place(300.0, 20.0), place(-100.0, 200.0), place(150.0, 300.0)];
        let mut ues = Vec::new();
        for (n, there) in places.iter().enumerate() {
            ues.push(testbed.ue(n as u64 + 1, *there, true, true).await?);
        }
        for (n, there) in places.iter().enumerate() {
            let (found, _, within) = testbed.locate(n as u64 + 1).await?;
            ensure!(
                found.distance(there) < within,
                "UE {}: {} m, {within}",
                n + 1,
                found.distance(there)
            );
        }
        ensure!(ues.iter().all(|(_, positioning)| positioning.state() == UeState::Established));
        Ok(())
    });
}

#[test]
fn ue_that_does_not_trust_the_lmf_is_located_over_nas() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let other = Identity::self_signed(&[&lmf().to_string()])?.trust(&lmf().to_string());
        let (_ue, positioning) =
            testbed.positioning_ue_that_trusts(1, there, true, true, other).await?;
        // The UE reports this over NAS, over which it is then located.
        let before = served("control plane");
        let (found, _, within) = testbed.locate(1).await?;
        ensure!(found.distance(&there) < within && served("control plane") > before);
        ensure!(positioning.state() == UeState::Idle);
        Ok(())
    });
}

#[test]
fn ue_that_does_not_connect_in_time_is_located_over_nas() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |config| {
            // The LMF waits longer for the UE than functions wait for other answers.
            (config.sbi.timeout_ms, config.lmf.connect_timeout_ms) = (2000, 3000);
        })
        .await?;
        let there = place(120.0, 140.0);
        // This socket is not read, so the UE gets no answer.
        let silent = std::net::UdpSocket::bind("0.0.0.0:0")?;
        let port = silent.local_addr()?.port();
        let astray = |config: &mut PositioningConfig| {
            (config.port, config.channels) = (port, vec![Kind::Quinn]);
        };
        let (_ue, positioning) =
            testbed.positioning_ue_with(1, there, true, true, testbed.trust()?, astray).await?;
        let before = served("control plane");
        let (found, _, within) = testbed.locate(1).await?;
        ensure!(found.distance(&there) < within && served("control plane") > before);
        ensure!(positioning.state() != UeState::Established, "the UE has connected");
        Ok(())
    });
}

//! Invalid messages of a connected UE, and UEs that cannot be located: each has its cause or its
//! channel is closed, a metric counts it, and other UEs are still located.
use super::*;
use martlet_lcsupp::{BindingIdentity, Message, PayloadType, Transport};
use martlet_tests::MetricDelta;

fn refused(why: &'static str) -> MetricDelta<'static> {
    MetricDelta::of("martlet_lmf_rejected_total", &[("reason", why)])
}

async fn grown(growth: &MetricDelta<'_>, what: &str) -> Result<()> {
    for _ in 0..1500 {
        if growth.get() >= 1.0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("{what} was not counted")
}

fn transport<'a>(payload: &'a [u8], session: &'a [u8]) -> Transport<'a> {
    Transport { payload_type: PayloadType::Lpp, payload, session }
}

#[test]
fn invalid_messages_of_a_connected_ue_disturb_no_other() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let (there, elsewhere) = (place(120.0, 140.0), place(50.0, 60.0));
        let (_good, good) = testbed.ue(1, there, true, true).await?;
        let (_bad, bad) = testbed.ue(2, elsewhere, true, true).await?;
        testbed.locate(1).await?;
        testbed.locate(2).await?;
        let lmf_has_both =
            || good.state() == UeState::Established && bad.state() == UeState::Established;
        ensure!(lmf_has_both());

        // An unknown session, and LPP with wrong lengths: ignored; the connection is kept.
        let session = Message::Uplink(transport(&[0, 1, 1], b"unknown")).encode()?;
        let lengths = Message::Uplink(transport(&[0, 9, 1], b"1")).encode()?;
        for (why, bytes) in [("unknown_session", session.clone()), ("lpp_payload", lengths)] {
            let counted = refused(why);
            bad.send_raw(bytes).await;
            grown(&counted, why).await?;
            ensure!(lmf_has_both(), "{why}: {:?}, {:?}", good.state(), bad.state());
        }
        let (found, ..) = testbed.locate(2).await?;
        ensure!(found.distance(&elsewhere) < 20.0);

        // Messages after which the stream cannot be parsed, or that a UE may not send: the channel
        // is closed, and the UE may connect again.
        let downlink = Message::Downlink(transport(&[0, 1, 1], b"1")).encode()?;
        let binding = BindingIdentity::new(vec![7; 16]).context("no identity")?;
        let others = Message::BindingRequest(binding).encode()?;
        let mut unknown_payload = session;
        unknown_payload[1] = 9;
        let wrong = [
            ("lcs_upp_malformed", vec![0x77; 40]),
            ("lcs_upp_malformed", unknown_payload),
            ("lcs_upp_unexpected", downlink),
            ("lcs_upp_unexpected", others),
            ("lcs_upp_unexpected", vec![0x45]),
        ];
        for (why, bytes) in wrong {
            let counted = refused(why);
            bad.send_raw(bytes.clone()).await;
            grown(&counted, why).await?;
            ensure!(
                bad.wait_for(UeState::Idle, LIMIT).await,
                "{why}, {bytes:02x?}: its channel is not closed"
            );
            ensure!(
                good.state() == UeState::Established,
                "{why}: the channel of the other UE is closed"
            );
            let (found, ..) = testbed.locate(1).await?;
            ensure!(found.distance(&there) < 20.0, "{why}");
            testbed.locate(2).await?;
            ensure!(lmf_has_both(), "{why}, {bytes:02x?}: the UE does not connect again");
        }
        Ok(())
    });
}

#[test]
fn failed_position_calculation_is_reported_and_counted() {
    in_namespace(|| async {
        let mut testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let (_good, _connected) = testbed.ue(1, there, true, true).await?;
        // The LMF does not know the cell of the other gNB either.
        let other = testbed.core.gnb(2).await?;
        let _first_gnb = std::mem::replace(&mut testbed.gnb, other);
        // One UE over the user plane and one over NAS measure cells that the LMF does not know.
        for (n, lcs_upp, carrier) in [(2, true, "user plane"), (3, false, "control plane")] {
            let (_ue, positioning) = testbed
                .positioning_ue_with(n, there, true, lcs_upp, testbed.trust()?, among_unknown_cells)
                .await?;
            let labels = [("carrier", carrier), ("result", "POSITIONING_FAILED")];
            let counted = MetricDelta::of("martlet_lmf_requests_total", &labels);
            let error = testbed.locate(n).await.unwrap_err().to_string();
            ensure!(
                error.contains("POSITIONING_FAILED")
                    || error.contains("a cell whose position is configured"),
                "{error}"
            );
            ensure!(counted.get() == 1.0, "{carrier}: {} were counted", counted.get());
            ensure!(
                (positioning.state() == UeState::Established) == lcs_upp,
                "its connection was closed"
            );
            let (found, ..) = testbed.locate(1).await?;
            ensure!(found.distance(&there) < 20.0);
        }
        Ok(())
    });
}

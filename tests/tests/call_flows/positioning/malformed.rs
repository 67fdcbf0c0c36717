//! A phone that is let in and says what it may not, and one that cannot be found: each gets the
//! cause or a close, a metric counts it, and the phone beside it is found all the same.
use super::*;
use martlet_lcsupp::{BindingIdentity, Message, PayloadType, Transport};
use martlet_tests::Growth;

fn refused(why: &'static str) -> Growth<'static> {
    Growth::of("martlet_lmf_refused_total", &[("why", why)])
}

async fn grown(growth: &Growth<'_>, what: &str) -> Result<()> {
    for _ in 0..250 {
        if growth.so_far() >= 1.0 {
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
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let (there, elsewhere) = (place(120.0, 140.0), place(50.0, 60.0));
        let (_good, good) = bed.phone(1, there, true, true).await?;
        let (_bad, bad) = bed.phone(2, elsewhere, true, true).await?;
        bed.locate(1).await?;
        bed.locate(2).await?;
        let lmf_has_both =
            || good.state() == UeState::Established && bad.state() == UeState::Established;
        ensure!(lmf_has_both());

        // A session that nobody opened for it, and LPP whose lengths do not fit: passed over, and
        // the connection goes on.
        let session = Message::Uplink(transport(&[0, 1, 1], b"nobody")).encode()?;
        let lengths = Message::Uplink(transport(&[0, 9, 1], b"1")).encode()?;
        for (why, octets) in [("session", session.clone()), ("lpp payload", lengths)] {
            let counted = refused(why);
            bad.say(octets).await;
            grown(&counted, why).await?;
            ensure!(lmf_has_both(), "{why}: {:?}, {:?}", good.state(), bad.state());
        }
        let (found, ..) = bed.locate(2).await?;
        ensure!(found.distance(&elsewhere) < 20.0);

        // What nobody can read on after, or is not for it to say: the channel is closed, cleanly,
        // and the phone may come again.
        let downlink = Message::Downlink(transport(&[0, 1, 1], b"1")).encode()?;
        let binding = BindingIdentity::new(vec![7; 16]).context("an identity")?;
        let others = Message::BindingRequest(binding).encode()?;
        let mut unknown_payload = session;
        unknown_payload[1] = 9;
        let wrong = [
            ("stream", vec![0x77; 40]),
            ("stream", unknown_payload),
            ("out of place", downlink),
            ("out of place", others),
            ("out of place", vec![0x45]),
        ];
        for (why, octets) in wrong {
            let counted = refused(why);
            bad.say(octets.clone()).await;
            grown(&counted, why).await?;
            ensure!(
                bad.wait_for(UeState::Idle, LIMIT).await,
                "{why}, {octets:02x?}: its channel stays"
            );
            ensure!(good.state() == UeState::Established, "{why}: the other one's does not");
            let (found, ..) = bed.locate(1).await?;
            ensure!(found.distance(&there) < 20.0, "{why}");
            bed.locate(2).await?;
            ensure!(lmf_has_both(), "{why}, {octets:02x?}: it does not come again");
        }
        Ok(())
    });
}

#[test]
fn failed_position_calculation_is_reported_and_counted() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let (_good, _connected) = bed.phone(1, there, true, true).await?;
        // One over the user plane and one over NAS, that hear cells of which the LMF knows nothing.
        for (n, lcs_upp, carrier) in [(2, true, "user plane"), (3, false, "control plane")] {
            let plmn = martlet_security::Plmn::new("001", "01").context("a network")?;
            let mut others = cells();
            others.iter_mut().for_each(|cell| {
                (cell.identity, cell.pci) = (cell.identity + (1 << 20), cell.pci + 500)
            });
            let lost = |config: &mut PositioningConfig| {
                config.surroundings = Surroundings::at(there, plmn, others, PathLoss::default());
            };
            let (_ue, positioning) =
                bed.phone_that(n, there, true, lcs_upp, bed.trust()?, lost).await?;
            let labels = [("carrier", carrier), ("result", "POSITIONING_FAILED")];
            let counted = Growth::of("martlet_lmf_requests_total", &labels);
            let error = bed.locate(n).await.unwrap_err().to_string();
            ensure!(
                error.contains("POSITIONING_FAILED")
                    || error.contains("no cell whose place is known"),
                "{error}"
            );
            ensure!(counted.so_far() == 1.0, "{carrier}: {} were counted", counted.so_far());
            ensure!(
                (positioning.state() == UeState::Established) == lcs_upp,
                "its connection is none the worse"
            );
            let (found, ..) = bed.locate(1).await?;
            ensure!(found.distance(&there) < 20.0);
        }
        Ok(())
    });
}

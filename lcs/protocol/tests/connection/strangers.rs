//! What is said to the LMF by who may not, or does not fit: it disturbs nobody else.

use super::*;

/// Brings up another channel that says this, and gives what the LMF refuses it with and says on it.
fn stranger(bed: &mut Bed, octets: &[u8]) -> (Option<Wrong>, Vec<u8>, bool) {
    let channel = ChannelId(66);
    bed.lmf.channel_opened(bed.now, channel);
    bed.lmf.received(channel, octets);
    let (mut wrong, mut said, mut closed) = (None, Vec::new(), false);
    while let Some(action) = bed.lmf.action() {
        match action {
            LmfAction::Refused(it, why) if it == channel => wrong = Some(why),
            LmfAction::Send(it, octets) if it == channel => said.extend(octets),
            LmfAction::Close(it) if it == channel => closed = true,
            other => panic!("{other:?}"),
        }
    }
    bed.lmf.channel_closed(channel);
    (wrong, said, closed)
}

#[test]
fn no_channel_gets_in_under_the_identity_of_another() {
    let mut bed = bed();
    bed.establish();
    let request = |last| Message::BindingRequest(identity(last)).encode().unwrap();
    assert_eq!(stranger(&mut bed, &request(1)), (Some(Wrong::BoundTwice), vec![0x45], true));
    assert_eq!(stranger(&mut bed, &request(2)), (Some(Wrong::UnknownBinding), vec![0x45], true));
    let uplink = Message::Uplink(Transport {
        payload_type: PayloadType::Lpp,
        payload: &[0, 1, 1],
        session: b"s",
    });
    let (wrong, said, closed) = stranger(&mut bed, &uplink.encode().unwrap());
    assert_eq!(
        (wrong, said.len(), closed),
        (Some(Wrong::OutOfPlace("UL LCS-UP TRANSPORT")), 0, true)
    );
    let (wrong, _, closed) = stranger(&mut bed, &[0x99]);
    assert!(matches!(wrong, Some(Wrong::Stream(_))) && closed);
    // The connection that was there goes on.
    bed.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9], b"s").unwrap();
    bed.run();
    assert_eq!(bed.ue_events, [UeEvent::Downlink(payload(&[0, 1, 9], b"s"))]);
    // After a release its identity is stale.
    bed.lmf.release(bed.now, &UE, None);
    bed.run();
    assert_eq!(stranger(&mut bed, &request(1)), (Some(Wrong::UnknownBinding), vec![0x45], true));
}

#[test]
fn channels_that_say_nothing_are_closed_and_there_are_only_so_many() {
    let mut bed = bed();
    for number in 0..256 {
        bed.lmf.channel_opened(bed.now, ChannelId(100 + number));
    }
    assert_eq!(bed.lmf.action(), None);
    bed.lmf.channel_opened(bed.now, ChannelId(99));
    assert_eq!(bed.lmf.action(), Some(LmfAction::Refused(ChannelId(99), Wrong::Full)));
    bed.run();
    bed.wait();
    assert_eq!(bed.refused.iter().filter(|&&wrong| wrong == Wrong::Silent).count(), 256);
    assert_eq!(bed.lmf.deadline(), None);
}

#[test]
fn what_does_not_fit_is_refused_and_disturbs_nothing_else() {
    let mut bed = bed();
    bed.establish();
    // An LPP payload whose length does not fit, a session of nobody: the messages are dropped.
    bed.ue.send(PayloadType::Lpp, &[0, 9, 1], b"s").unwrap();
    bed.ue.send(PayloadType::Lpp, &[0, 1, 1], b"other").unwrap();
    bed.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    bed.run();
    let good = LmfEvent::Uplink(payload(&[0, 1, 2], b"s"));
    let [LmfEvent::Refused(Wrong::Lpp(_)), LmfEvent::Refused(Wrong::Session), last] =
        &bed.lmf_events[..]
    else {
        panic!("{:?}", bed.lmf_events)
    };
    assert_eq!(*last, good);
    // Closed sessions are sessions of nobody.
    bed.lmf.close_session(&UE, b"s");
    bed.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    bed.run();
    assert_eq!(bed.lmf_events.last(), Some(&LmfEvent::Refused(Wrong::Session)));
    // A message of the wrong direction, or that is none, ends the connection.
    for octets in [&[0x44][..], &[0x42, 1, 0, 3, 0, 1, 1, 0], &[0x77], &[0x41, 9]] {
        let mut bed = self::bed();
        bed.establish();
        bed.lmf.received(CHANNEL, octets);
        bed.run();
        assert_eq!(bed.lmf_events.last(), Some(&LmfEvent::Lost(Loss::Stream)), "{octets:?}");
        assert_eq!((bed.ue.state(), bed.open), (UeState::Idle, false));
    }
    for octets in [&[0x44][..], &[0x41, 1, 0, 3, 0, 1, 1, 0], &[0x77]] {
        let mut bed = self::bed();
        bed.establish();
        bed.ue.received(octets);
        bed.run();
        assert_eq!((bed.ue.state(), bed.lmf.established()), (UeState::Idle, 0), "{octets:?}");
    }
}

#[test]
fn negotiation_that_does_not_fit_is_said_and_passed_over() {
    let mut bed = bed();
    bed.establish();
    for octets in [&[0xc3, 1][..], &[0xca], &[0xc7], &[0xc1], &[0x00], &[]] {
        bed.lmf.negotiation(bed.now, &UE, octets);
    }
    bed.run();
    assert_eq!(bed.lmf_events.len(), 6);
    assert!(
        bed.lmf_events.iter().all(|event| matches!(event, LmfEvent::Refused(_))),
        "{:?}",
        bed.lmf_events
    );
    // A command that does not decode is answered, so that it is not repeated.
    let mut ue = UeSide::new(Timers::default());
    ue.negotiation(bed.now, b"", &[0xc1, 0]);
    assert!(matches!(ue.action(), Some(UeAction::Event(UeEvent::Refused(Wrong::Negotiation(_))))));
    assert_eq!(ue.action(), Some(UeAction::Nas(vec![0xc3, 0x6f])));
}

/// What an LMF does: events with their UEs, what it says on channels, and which it closes.
fn did(lmf: &mut LmfSide<u32>) -> (Vec<(u32, LmfEvent)>, Vec<ChannelId>) {
    let (mut events, mut closed) = (Vec::new(), Vec::new());
    while let Some(action) = lmf.action() {
        match action {
            LmfAction::Event(ue, event) => events.push((ue, event)),
            LmfAction::Close(channel) => closed.push(channel),
            LmfAction::Nas(..) | LmfAction::Send(..) => {}
            other => panic!("{other:?}"),
        }
    }
    (events, closed)
}

#[test]
fn no_ue_acts_for_another() {
    const OTHER: u32 = 8;
    let now = Instant::now();
    let address = LmfAddress::Ipv4("127.0.0.1".parse().unwrap());
    let mut lmf = LmfSide::new(Timers::default(), LmfLimits::default(), address);
    for (ue, channel, session) in [(UE, ChannelId(1), b"a"), (OTHER, ChannelId(2), b"b")] {
        lmf.establish(now, ue, identity(ue as u8)).unwrap();
        lmf.channel_opened(now, channel);
        lmf.received(channel, &Message::BindingRequest(identity(ue as u8)).encode().unwrap());
        lmf.negotiation(now, &ue, &[0xc2]);
        lmf.open_session(&ue, session).unwrap();
    }
    did(&mut lmf);
    assert_eq!(lmf.established(), 2);

    // In the other's session, over its own channel.
    let uplink = |session| {
        let transport = Transport { payload_type: PayloadType::Lpp, payload: &[0, 1, 1], session };
        Message::Uplink(transport).encode().unwrap()
    };
    lmf.received(ChannelId(2), &uplink(b"a"));
    assert_eq!(did(&mut lmf), (vec![(OTHER, LmfEvent::Refused(Wrong::Session))], vec![]));
    lmf.received(ChannelId(2), &uplink(b"b"));
    assert_eq!(did(&mut lmf), (vec![(OTHER, LmfEvent::Uplink(payload(&[0, 1, 1], b"b")))], vec![]));

    // With the other's identity, over its own channel and over a new one.
    let taken = Message::BindingRequest(identity(UE as u8)).encode().unwrap();
    lmf.received(ChannelId(2), &taken);
    let (events, closed) = did(&mut lmf);
    assert!(events.iter().all(|(ue, _)| *ue == OTHER) && closed == [ChannelId(2)], "{events:?}");
    assert_eq!((lmf.is_established(&UE), lmf.is_established(&OTHER)), (true, false));
    lmf.channel_opened(now, ChannelId(3));
    lmf.received(ChannelId(3), &taken);
    let mut refused = Vec::new();
    while let Some(action) = lmf.action() {
        refused.extend(
            matches!(action, LmfAction::Refused(ChannelId(3), Wrong::BoundTwice)).then_some(()),
        );
    }
    assert_eq!((refused.len(), lmf.ue_of(ChannelId(1))), (1, Some(&UE)));

    // Over NAS it speaks of itself alone: each message that ends or changes a connection leaves the
    // other's as it is.
    for octets in [&[0xc3, 1][..], &[0xc4], &[0xc7], &[0xc8], &[0xca], &[0xcb, 5], &[0xc2]] {
        lmf.negotiation(now, &OTHER, octets);
        let (events, closed) = did(&mut lmf);
        assert!(
            events.iter().all(|(ue, _)| *ue == OTHER) && closed.is_empty(),
            "{octets:02x?}: {events:?}"
        );
        assert!(lmf.is_established(&UE), "{octets:02x?}");
    }
    lmf.received(ChannelId(1), &uplink(b"a"));
    assert_eq!(did(&mut lmf).0, [(UE, LmfEvent::Uplink(payload(&[0, 1, 1], b"a")))]);
}

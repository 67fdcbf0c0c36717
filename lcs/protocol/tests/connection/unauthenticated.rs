//! Messages to the LMF from unauthenticated peers, and unexpected ones: other UEs are not affected.

use super::*;

/// Opens another channel and sends `bytes` on it. Returns the rejection, the response, and whether
/// the channel was closed.
fn unbound_channel(setup: &mut Setup, bytes: &[u8]) -> (Option<Rejection>, Vec<u8>, bool) {
    let channel = ChannelId(66);
    setup.lmf.channel_opened(setup.now, channel);
    setup.lmf.received(channel, bytes);
    let (mut rejection, mut sent, mut closed) = (None, Vec::new(), false);
    while let Some(action) = setup.lmf.next_action() {
        match action {
            LmfAction::ChannelRejected(it, why) if it == channel => rejection = Some(why),
            LmfAction::Send(it, bytes) if it == channel => sent.extend(bytes),
            LmfAction::Close(it) if it == channel => closed = true,
            other => panic!("{other:?}"),
        }
    }
    setup.lmf.channel_closed(channel);
    (rejection, sent, closed)
}

#[test]
fn a_channel_cannot_bind_with_the_identity_of_another() {
    let mut setup = setup();
    setup.establish();
    let request = |last| Message::BindingRequest(identity(last)).encode().unwrap();
    assert_eq!(
        unbound_channel(&mut setup, &request(1)),
        (Some(Rejection::AlreadyBound), vec![0x45], true)
    );
    assert_eq!(
        unbound_channel(&mut setup, &request(2)),
        (Some(Rejection::UnknownBinding), vec![0x45], true)
    );
    let uplink = Message::Uplink(Transport {
        payload_type: PayloadType::Lpp,
        payload: &[0, 1, 1],
        session: b"s",
    });
    let (rejection, sent, closed) = unbound_channel(&mut setup, &uplink.encode().unwrap());
    assert_eq!(
        (rejection, sent.len(), closed),
        (Some(Rejection::UnexpectedLcsUpp("UL LCS-UP TRANSPORT")), 0, true)
    );
    let (rejection, _, closed) = unbound_channel(&mut setup, &[0x99]);
    assert!(matches!(rejection, Some(Rejection::MalformedLcsUpp(_))) && closed);
    // The existing connection continues.
    setup.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9], b"s").unwrap();
    setup.run();
    assert_eq!(setup.ue_events, [UeEvent::Downlink(payload(&[0, 1, 9], b"s"))]);
    // After a release the binding identity is stale.
    setup.lmf.release(setup.now, &UE, None);
    setup.run();
    assert_eq!(
        unbound_channel(&mut setup, &request(1)),
        (Some(Rejection::UnknownBinding), vec![0x45], true)
    );
}

#[test]
fn silent_channels_are_closed_and_limited() {
    let mut setup = setup();
    for number in 0..256 {
        setup.lmf.channel_opened(setup.now, ChannelId(100 + number));
    }
    assert_eq!(setup.lmf.next_action(), None);
    // The oldest one gives way, so that silent channels do not keep out UEs.
    setup.lmf.channel_opened(setup.now, ChannelId(999));
    assert_eq!(
        setup.lmf.next_action(),
        Some(LmfAction::ChannelRejected(ChannelId(100), Rejection::LimitReached))
    );
    assert_eq!(setup.lmf.next_action(), Some(LmfAction::Close(ChannelId(100))));
    setup.run();
    setup.wait();
    assert_eq!(
        setup.refused.iter().filter(|&&rejection| rejection == Rejection::BindingTimeout).count(),
        256
    );
    assert_eq!(setup.lmf.deadline(), None);
}

#[test]
fn unexpected_messages_are_rejected_and_affect_nothing_else() {
    let mut setup = setup();
    setup.establish();
    // An LPP payload with a wrong length, and an unknown session: the messages are dropped.
    setup.ue.send(PayloadType::Lpp, &[0, 9, 1], b"s").unwrap();
    setup.ue.send(PayloadType::Lpp, &[0, 1, 1], b"other").unwrap();
    setup.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    setup.run();
    let good = LmfEvent::Uplink(payload(&[0, 1, 2], b"s"));
    let [
        LmfEvent::MessageRejected(Rejection::MalformedLpp(_)),
        LmfEvent::MessageRejected(Rejection::UnknownSession),
        last,
    ] = &setup.lmf_events[..]
    else {
        panic!("{:?}", setup.lmf_events)
    };
    assert_eq!(*last, good);
    // A closed session is unknown.
    setup.lmf.close_session(&UE, b"s");
    setup.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    setup.run();
    assert_eq!(
        setup.lmf_events.last(),
        Some(&LmfEvent::MessageRejected(Rejection::UnknownSession))
    );
    // A downlink message type, or an unknown one, ends the connection.
    for bytes in [&[0x44][..], &[0x42, 1, 0, 3, 0, 1, 1, 0], &[0x77], &[0x41, 9]] {
        let mut setup = self::setup();
        setup.establish();
        setup.lmf.received(CHANNEL, bytes);
        setup.run();
        assert_eq!(
            setup.lmf_events.last(),
            Some(&LmfEvent::Disconnected(DisconnectReason::MalformedMessage)),
            "{bytes:?}"
        );
        assert_eq!((setup.ue.state(), setup.open), (UeState::Idle, false));
    }
    for bytes in [&[0x44][..], &[0x41, 1, 0, 3, 0, 1, 1, 0], &[0x77]] {
        let mut setup = self::setup();
        setup.establish();
        setup.ue.received(bytes);
        setup.run();
        assert_eq!((setup.ue.state(), setup.lmf.established()), (UeState::Idle, 0), "{bytes:?}");
    }
}

#[test]
fn unexpected_upp_cm_messages_are_rejected() {
    let mut setup = setup();
    setup.establish();
    for bytes in [&[0xc3, 1][..], &[0xca], &[0xc7], &[0xc1], &[0x00], &[]] {
        setup.lmf.upp_cm(setup.now, &UE, bytes);
    }
    setup.run();
    assert_eq!(setup.lmf_events.len(), 6);
    assert!(
        setup.lmf_events.iter().all(|event| matches!(event, LmfEvent::MessageRejected(_))),
        "{:?}",
        setup.lmf_events
    );
    // A command that does not decode gets a response, so that it is not retransmitted.
    let mut ue = UeSide::new(Timers::default());
    ue.upp_cm(setup.now, b"", &[0xc1, 0]);
    assert!(matches!(
        ue.next_action(),
        Some(UeAction::Event(UeEvent::MessageRejected(Rejection::MalformedUppCm(_))))
    ));
    assert_eq!(ue.next_action(), Some(UeAction::Nas(vec![0xc3, 0x6f])));
}

/// The LMF's events with their UEs, and the channels that it closes.
fn did(lmf: &mut LmfSide<u32>) -> (Vec<(u32, LmfEvent)>, Vec<ChannelId>) {
    let (mut events, mut closed) = (Vec::new(), Vec::new());
    while let Some(action) = lmf.next_action() {
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
fn a_ue_cannot_act_for_another() {
    const OTHER: u32 = 8;
    let now = Instant::now();
    let address = LmfAddress::Ipv4("127.0.0.1".parse().unwrap());
    let mut lmf = LmfSide::new(Timers::default(), LmfLimits::default(), address);
    for (ue, channel, session) in [(UE, ChannelId(1), b"a"), (OTHER, ChannelId(2), b"b")] {
        lmf.establish(now, ue, identity(ue as u8)).unwrap();
        lmf.channel_opened(now, channel);
        lmf.received(channel, &Message::BindingRequest(identity(ue as u8)).encode().unwrap());
        lmf.upp_cm(now, &ue, &[0xc2]);
        lmf.open_session(&ue, session).unwrap();
    }
    did(&mut lmf);
    assert_eq!(lmf.established(), 2);

    // In the other UE's session, over its own channel.
    let uplink = |session| {
        let transport = Transport { payload_type: PayloadType::Lpp, payload: &[0, 1, 1], session };
        Message::Uplink(transport).encode().unwrap()
    };
    lmf.received(ChannelId(2), &uplink(b"a"));
    assert_eq!(
        did(&mut lmf),
        (vec![(OTHER, LmfEvent::MessageRejected(Rejection::UnknownSession))], vec![])
    );
    lmf.received(ChannelId(2), &uplink(b"b"));
    assert_eq!(did(&mut lmf), (vec![(OTHER, LmfEvent::Uplink(payload(&[0, 1, 1], b"b")))], vec![]));

    // With the other UE's identity, over its own channel and over a new one.
    let taken = Message::BindingRequest(identity(UE as u8)).encode().unwrap();
    lmf.received(ChannelId(2), &taken);
    let (events, closed) = did(&mut lmf);
    assert!(events.iter().all(|(ue, _)| *ue == OTHER) && closed == [ChannelId(2)], "{events:?}");
    assert_eq!((lmf.is_established(&UE), lmf.is_established(&OTHER)), (true, false));
    lmf.channel_opened(now, ChannelId(3));
    lmf.received(ChannelId(3), &taken);
    let mut refused = Vec::new();
    while let Some(action) = lmf.next_action() {
        refused.extend(
            matches!(action, LmfAction::ChannelRejected(ChannelId(3), Rejection::AlreadyBound))
                .then_some(()),
        );
    }
    assert_eq!((refused.len(), lmf.ue_of(ChannelId(1))), (1, Some(&UE)));

    // Over NAS it acts for itself only: messages that end or modify a connection do not affect the
    // other's.
    for bytes in [&[0xc3, 1][..], &[0xc4], &[0xc7], &[0xc8], &[0xca], &[0xcb, 5], &[0xc2]] {
        lmf.upp_cm(now, &OTHER, bytes);
        let (events, closed) = did(&mut lmf);
        assert!(
            events.iter().all(|(ue, _)| *ue == OTHER) && closed.is_empty(),
            "{bytes:02x?}: {events:?}"
        );
        assert!(lmf.is_established(&UE), "{bytes:02x?}");
    }
    lmf.received(ChannelId(1), &uplink(b"a"));
    assert_eq!(did(&mut lmf).0, [(UE, LmfEvent::Uplink(payload(&[0, 1, 1], b"a")))]);
}

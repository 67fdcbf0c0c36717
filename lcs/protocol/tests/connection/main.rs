//! UE side and LMF side, connected by simulated NAS that loses messages and a channel that splits
//! its bytes anywhere.

mod unauthenticated;

use martlet_lcs_protocol::*;
use martlet_lcsupp::upp_cm::{Cause, LmfAddress};
use martlet_lcsupp::{BindingIdentity, Message, PayloadType, Transport};
use std::time::{Duration, Instant};

const UE: u32 = 7;
const CHANNEL: ChannelId = ChannelId(1);

struct Setup {
    now: Instant,
    ue: UeSide,
    lmf: LmfSide<u32>,
    /// Offsets at which the bytes of the channel are split, counted from the start of each burst.
    cuts: Vec<usize>,
    open: bool,
    ue_events: Vec<UeEvent>,
    lmf_events: Vec<LmfEvent>,
    refused: Vec<Rejection>,
    /// NAS messages to lose, from the LMF and from the UE, and all messages sent.
    lose_to_ue: usize,
    lose_to_lmf: usize,
    nas: Vec<u8>,
    connect: bool,
}

fn identity(last: u8) -> BindingIdentity {
    BindingIdentity::new([0, 0, 0, 0, last]).unwrap()
}

fn setup() -> Setup {
    let address = LmfAddress::Ipv4("127.0.0.1".parse().unwrap());
    Setup {
        now: Instant::now(),
        ue: UeSide::new(Timers::default()),
        lmf: LmfSide::new(Timers::default(), LmfLimits::default(), address),
        cuts: Vec::new(),
        open: false,
        ue_events: Vec::new(),
        lmf_events: Vec::new(),
        refused: Vec::new(),
        lose_to_ue: 0,
        lose_to_lmf: 0,
        nas: Vec::new(),
        connect: true,
    }
}

impl Setup {
    fn pieces(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for &cut in self.cuts.iter().filter(|&&cut| cut < bytes.len()) {
            pieces.push(bytes[from..cut].to_vec());
            from = cut;
        }
        pieces.push(bytes[from..].to_vec());
        pieces
    }

    /// Performs the actions of both sides until there are none left.
    fn run(&mut self) {
        loop {
            let (mut uplink, mut downlink, mut idle) = (Vec::new(), Vec::new(), true);
            while let Some(action) = self.ue.next_action() {
                idle = false;
                match action {
                    UeAction::Nas(bytes) => {
                        self.nas.push(bytes[0]);
                        if self.lose_to_lmf > 0 {
                            self.lose_to_lmf -= 1;
                        } else {
                            self.lmf.upp_cm(self.now, &UE, &bytes);
                        }
                    }
                    UeAction::Connect(_) if self.connect => {
                        self.open = true;
                        self.lmf.channel_opened(self.now, CHANNEL);
                        self.ue.connected(self.now);
                    }
                    UeAction::Connect(_) => {}
                    UeAction::Send(bytes) => uplink.extend(bytes),
                    UeAction::Close => {
                        self.open = false;
                        self.lmf.channel_closed(CHANNEL);
                    }
                    UeAction::Event(event) => self.ue_events.push(event),
                }
            }
            if self.open {
                self.pieces(&uplink).iter().for_each(|piece| self.lmf.received(CHANNEL, piece));
            }
            while let Some(action) = self.lmf.next_action() {
                idle = false;
                match action {
                    LmfAction::Nas(UE, bytes) => {
                        self.nas.push(bytes[0]);
                        if self.lose_to_ue > 0 {
                            self.lose_to_ue -= 1;
                        } else {
                            self.ue.upp_cm(self.now, b"lmf-1", &bytes);
                        }
                    }
                    LmfAction::Nas(other, _) => panic!("NAS to {other}"),
                    LmfAction::Send(CHANNEL, bytes) => downlink.extend(bytes),
                    LmfAction::Send(..) => {}
                    LmfAction::Close(CHANNEL) => {
                        self.pieces(&downlink).iter().for_each(|piece| self.ue.received(piece));
                        downlink.clear();
                        if std::mem::take(&mut self.open) {
                            self.ue.closed();
                        }
                    }
                    LmfAction::Close(_) => {}
                    LmfAction::Event(_, event) => self.lmf_events.push(event),
                    LmfAction::ChannelRejected(_, rejection) => self.refused.push(rejection),
                }
            }
            self.pieces(&downlink)
                .iter()
                .filter(|piece| !piece.is_empty())
                .for_each(|piece| self.ue.received(piece));
            if idle {
                return;
            }
        }
    }

    fn establish(&mut self) {
        assert_eq!(self.lmf.establish(self.now, UE, identity(1)), Ok(true));
        self.lmf.open_session(&UE, b"s").unwrap();
        self.run();
        assert_eq!(self.ue.state(), UeState::Established);
        assert_eq!(
            (&self.ue_events[..], &self.lmf_events[..]),
            (&[UeEvent::Established][..], &[LmfEvent::Established][..])
        );
        self.ue_events.clear();
        self.lmf_events.clear();
    }

    /// Advances the time to the next deadline.
    fn wait(&mut self) -> Duration {
        let next = [self.ue.deadline(), self.lmf.deadline()]
            .into_iter()
            .flatten()
            .min()
            .expect("a deadline");
        let waited = next - self.now;
        self.now = next;
        self.ue.handle_timeout(next);
        self.lmf.handle_timeout(next);
        self.run();
        waited
    }
}

fn payload(bytes: &[u8], session: &[u8]) -> Payload {
    Payload { payload_type: PayloadType::Lpp, bytes: bytes.into(), session: session.into() }
}

#[test]
fn a_connection_carries_payloads_in_both_directions_and_is_released() {
    let mut setup = setup();
    setup.establish();
    assert_eq!(setup.nas, [0xc1, 0xc2]);
    setup.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9], b"s").unwrap();
    setup.ue.send(PayloadType::Lpp, &[0, 1, 8], b"s").unwrap();
    setup.run();
    assert_eq!(setup.ue_events, [UeEvent::Downlink(payload(&[0, 1, 9], b"s"))]);
    assert_eq!(setup.lmf_events, [LmfEvent::Uplink(payload(&[0, 1, 8], b"s"))]);
    assert_eq!(
        setup.lmf.establish(setup.now, UE, identity(2)),
        Ok(false),
        "one connection for a UE"
    );
    assert!(setup.lmf.release(setup.now, &UE, Some(Duration::from_secs(60))));
    setup.run();
    assert_eq!(setup.nas, [0xc1, 0xc2, 0xc6, 0xc7]);
    assert_eq!((setup.ue.state(), setup.lmf.established(), setup.open), (UeState::Idle, 0, false));
    assert_eq!(setup.lmf_events.last(), Some(&LmfEvent::Disconnected(DisconnectReason::Released)));
    // The UE may not request a connection again for a minute.
    assert!(!setup.ue.request(setup.now));
    setup.now += Duration::from_secs(61);
    assert!(setup.ue.request(setup.now));
    setup.run();
    assert_eq!(setup.lmf_events.last(), Some(&LmfEvent::Requested));
}

#[test]
fn messages_are_the_same_however_the_bytes_are_split() {
    let transports = |setup: &mut Setup| {
        setup.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9, 0, 2, 8, 7], b"s").unwrap();
        setup.lmf.send(&UE, PayloadType::Lcs, &[5], b"s").unwrap();
        setup.ue.send(PayloadType::Lpp, &[0, 3, 1, 2, 3], b"s").unwrap();
        setup.ue.send(PayloadType::Lcs, &[6, 6], b"s").unwrap();
        setup.run();
        (std::mem::take(&mut setup.ue_events), std::mem::take(&mut setup.lmf_events))
    };
    let mut whole = setup();
    whole.establish();
    let expected = transports(&mut whole);
    assert_eq!((expected.0.len(), expected.1.len()), (2, 2));
    for first in 1..24 {
        for second in first..24 {
            let mut setup = setup();
            setup.cuts = vec![first, second];
            setup.establish();
            assert_eq!(transports(&mut setup), expected, "cut at {first} and {second}");
        }
    }
    let mut setup = setup();
    setup.cuts = (1..100).collect();
    setup.establish();
    assert_eq!(transports(&mut setup), expected, "byte by byte");
}

#[test]
fn payloads_before_the_end_of_the_establishment_are_buffered() {
    let mut setup = setup();
    // The ESTABLISHMENT COMPLETE is lost, and sent again when the command is retransmitted.
    setup.lose_to_lmf = 1;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.lmf.open_session(&UE, b"s").unwrap();
    setup.run();
    assert_eq!((setup.ue.state(), setup.lmf.established()), (UeState::Established, 0));
    setup.ue.send(PayloadType::Lpp, &[0, 1, 1], b"s").unwrap();
    setup.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    setup.run();
    assert_eq!(setup.lmf_events, []);
    assert_eq!(setup.wait(), Duration::from_secs(10));
    let buffered = |byte| LmfEvent::Uplink(payload(&[0, 1, byte], b"s"));
    assert_eq!(setup.lmf_events, [LmfEvent::Established, buffered(1), buffered(2)]);
    assert_eq!(setup.nas, [0xc1, 0xc2, 0xc1, 0xc2]);
}

#[test]
fn buffered_payloads_are_limited() {
    let mut setup = setup();
    setup.lose_to_lmf = 1;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.lmf.open_session(&UE, b"s").unwrap();
    setup.run();
    for _ in 0..6 {
        setup.ue.send(PayloadType::Lcs, &[1; 65_535], b"s").unwrap();
    }
    setup.run();
    assert_eq!(
        setup.lmf_events,
        [
            LmfEvent::MessageRejected(Rejection::LimitReached),
            LmfEvent::MessageRejected(Rejection::LimitReached)
        ]
    );
}

#[test]
fn attack_a_ue_sends_many_small_payloads_before_it_completes_the_establishment() {
    let mut setup = setup();
    setup.lose_to_lmf = 1;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.lmf.open_session(&UE, b"s").unwrap();
    setup.run();
    for _ in 0..2000 {
        setup.ue.send(PayloadType::Lcs, &[1], b"s").unwrap();
    }
    setup.run();
    let rejected = LmfEvent::MessageRejected(Rejection::LimitReached);
    assert_eq!(setup.lmf_events, vec![rejected; 2000 - 1024]);
}

#[test]
fn payloads_during_a_release_are_rejected() {
    let mut setup = setup();
    setup.establish();
    // The RELEASE COMMAND is lost.
    setup.lose_to_ue = 1;
    assert!(setup.lmf.release(setup.now, &UE, None));
    setup.run();
    setup.ue.send(PayloadType::Lpp, &[0, 1, 1], b"s").unwrap();
    setup.run();
    assert_eq!(setup.lmf_events, [LmfEvent::MessageRejected(Rejection::UnknownSession)]);
    assert_eq!(setup.lmf.open_session(&UE, b"t"), Err(LmfError::NoConnection));
}

#[test]
fn an_establishment_without_answer_is_aborted_at_the_fifth_expiry() {
    let mut setup = setup();
    setup.lose_to_ue = 9;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.run();
    let waits: Vec<u64> = (0..5).map(|_| setup.wait().as_secs()).collect();
    assert_eq!((waits, &setup.nas[..]), (vec![10; 5], &[0xc1; 5][..]));
    assert_eq!(setup.lmf_events, [LmfEvent::Disconnected(DisconnectReason::NoAnswer)]);
    assert_eq!(setup.lmf.deadline(), None);
    // The binding identity is released.
    setup.lmf.channel_opened(setup.now, ChannelId(2));
    setup.lmf.received(ChannelId(2), &Message::BindingRequest(identity(1)).encode().unwrap());
    setup.run();
    assert_eq!(setup.refused, [Rejection::UnknownBinding]);
}

#[test]
fn modification_and_release_are_retransmitted_and_aborted() {
    let mut setup = setup();
    setup.establish();
    setup.lose_to_ue = 99;
    assert!(setup.lmf.modify(setup.now, &UE, None));
    assert!(!setup.lmf.modify(setup.now, &UE, None), "one at a time");
    setup.run();
    assert_eq!((0..5).map(|_| setup.wait().as_secs()).collect::<Vec<_>>(), [16; 5]);
    assert_eq!(setup.lmf_events, [LmfEvent::NotModified(None)]);
    assert_eq!(setup.lmf.established(), 1);
    assert!(setup.lmf.release(setup.now, &UE, None));
    setup.run();
    assert_eq!((0..5).map(|_| setup.wait().as_secs()).collect::<Vec<_>>(), [16; 5]);
    assert_eq!(setup.lmf_events.last(), Some(&LmfEvent::Disconnected(DisconnectReason::Released)));
    assert_eq!(
        (setup.ue.state(), setup.ue_events.last()),
        (UeState::Idle, Some(&UeEvent::Released))
    );
}

#[test]
fn a_modification_is_accepted_only_from_a_known_source_lmf() {
    let mut setup = setup();
    setup.establish();
    assert!(setup.lmf.modify(setup.now, &UE, Some(b"lmf-1".to_vec())));
    setup.run();
    assert_eq!(
        (setup.lmf_events.last(), setup.nas.last()),
        (Some(&LmfEvent::Modified), Some(&0xca))
    );
    // From an LMF that the UE does not know, on behalf of a third one.
    setup.ue.upp_cm(setup.now, b"lmf-2", &[0xc9, 0x22, 1, b'x']);
    assert_eq!(setup.ue.next_action(), Some(UeAction::Nas(vec![0xcb, 5])));
    let mut idle = UeSide::new(Timers::default());
    idle.upp_cm(setup.now, b"lmf-1", &[0xc9]);
    assert_eq!(idle.next_action(), Some(UeAction::Nas(vec![0xcb, 5])));
}

#[test]
fn each_cause_of_the_ue_reaches_the_lmf() {
    for cause in Cause::ALL {
        let mut setup = setup();
        setup.connect = false;
        setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
        setup.run();
        setup.ue.connect_failed(cause);
        setup.run();
        assert_eq!(setup.lmf_events, [LmfEvent::Disconnected(DisconnectReason::Cause(cause))]);
        assert_eq!(
            (setup.ue_events, setup.ue.state()),
            (vec![UeEvent::Failed(cause)], UeState::Idle)
        );
    }
}

#[test]
fn a_broken_channel_is_reported_with_its_cause() {
    let mut connecting = setup();
    connecting.connect = false;
    connecting.lmf.establish(connecting.now, UE, identity(1)).unwrap();
    connecting.run();
    connecting.ue.closed();
    connecting.run();
    assert_eq!(
        connecting.lmf_events,
        [LmfEvent::Disconnected(DisconnectReason::Cause(Cause::TlsFailure))]
    );

    // The LMF does not respond to the binding.
    let mut setup = setup();
    setup.connect = false;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.run();
    setup.ue.connected(setup.now);
    setup.run();
    setup.wait();
    assert!(
        setup.ue_events.contains(&UeEvent::Failed(Cause::BindingFailure)),
        "{:?}",
        setup.ue_events
    );
    assert_eq!(
        setup.lmf_events,
        [LmfEvent::Disconnected(DisconnectReason::Cause(Cause::BindingFailure))]
    );

    let mut established = self::setup();
    established.establish();
    established.lmf.channel_closed(CHANNEL);
    established.ue.closed();
    established.run();
    assert_eq!(established.lmf_events, [LmfEvent::Disconnected(DisconnectReason::ChannelClosed)]);
    assert_eq!(established.ue_events, [UeEvent::Released]);
}

#[test]
fn a_request_of_the_ue_is_accepted_rejected_or_unanswered() {
    let mut setup = setup();
    assert!(setup.ue.request(setup.now));
    setup.run();
    assert_eq!(setup.lmf_events, [LmfEvent::Requested]);
    setup.lmf_events.clear();
    setup.establish();

    let mut refused = self::setup();
    refused.ue.request(refused.now);
    refused.run();
    refused.lmf.reject(UE, Some(Duration::from_secs(30)));
    refused.run();
    assert_eq!(refused.ue_events, [UeEvent::EstablishmentRejected(Some(Duration::from_secs(30)))]);
    assert!(!refused.ue.request(refused.now));

    let mut silent = self::setup();
    silent.lose_to_lmf = 99;
    silent.ue.request(silent.now);
    silent.run();
    (0..5).for_each(|_| {
        silent.wait();
    });
    assert_eq!((silent.ue_events, silent.nas), (vec![UeEvent::NoAnswer], vec![0xc4; 5]));
}

#[test]
fn a_ue_can_request_the_release() {
    let mut setup = setup();
    setup.establish();
    assert!(setup.ue.release(setup.now, Some(Cause::UserPlaneNotAvailable)));
    setup.run();
    assert_eq!(setup.nas, [0xc1, 0xc2, 0xc8, 0xc6, 0xc7]);
    assert_eq!((setup.ue.state(), setup.lmf.established()), (UeState::Idle, 0));
    assert_eq!(setup.ue_events, [UeEvent::Released]);
    // A UE that lost its state and requests a connection again gets one.
    let mut setup = self::setup();
    setup.establish();
    setup.ue = UeSide::new(Timers::default());
    setup.ue.request(setup.now);
    setup.run();
    assert_eq!(
        setup.lmf_events,
        [LmfEvent::Disconnected(DisconnectReason::ChannelClosed), LmfEvent::Requested]
    );
}

#[test]
fn the_timer_of_a_binding_does_not_end_its_successor() {
    let mut setup = setup();
    setup.connect = false;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.run();
    // The channel is established, but the answer to the binding is lost.
    setup.ue.connected(setup.now);
    setup.run();
    assert_eq!(setup.ue.state(), UeState::Binding);
    // The LMF starts again 9 s later, and the new channel takes longer than the second left.
    setup.now += Duration::from_secs(9);
    setup.lmf.remove(&UE);
    setup.lmf.establish(setup.now, UE, identity(9)).unwrap();
    setup.run();
    assert_eq!((setup.ue.state(), setup.ue.deadline()), (UeState::Connecting, None));
    setup.now += Duration::from_secs(2);
    setup.ue.handle_timeout(setup.now);
    setup.run();
    assert_eq!((setup.ue.state(), &setup.ue_events[..]), (UeState::Connecting, &[][..]));
    setup.open = true;
    setup.lmf.channel_opened(setup.now, CHANNEL);
    setup.ue.connected(setup.now);
    setup.run();
    assert_eq!((setup.ue.state(), setup.lmf.established()), (UeState::Established, 1));
}

#[test]
fn an_undelivered_message_ends_its_own_connection_only() {
    let mut setup = setup();
    setup.lose_to_ue = 9;
    setup.lmf.establish(setup.now, UE, identity(1)).unwrap();
    setup.run();
    assert_eq!(setup.lmf.binding_of(&UE), Some(&identity(1)));
    setup.lmf.remove(&UE);
    setup.lmf.establish(setup.now, UE, identity(2)).unwrap();
    setup.run();
    setup.lmf.undelivered(&UE, &identity(1));
    setup.run();
    assert_eq!((setup.lmf.binding_of(&UE), setup.lmf_events.len()), (Some(&identity(2)), 0));
    setup.lmf.undelivered(&UE, &identity(2));
    setup.run();
    assert_eq!(setup.lmf_events, [LmfEvent::Disconnected(DisconnectReason::NoAnswer)]);
    assert_eq!(setup.lmf.binding_of(&UE), None);

    // The UE has received a retransmission, for example.
    let mut established = self::setup();
    established.establish();
    established.lmf.undelivered(&UE, &identity(1));
    established.run();
    assert_eq!((established.lmf.established(), established.lmf_events.len()), (1, 0));
}

#[test]
fn an_establishment_command_replaces_the_connection() {
    let mut setup = setup();
    setup.establish();
    setup.lmf.remove(&UE);
    setup.lmf_events.clear();
    setup.run();
    setup.lmf.establish(setup.now, UE, identity(9)).unwrap();
    setup.run();
    assert_eq!((setup.ue.state(), setup.lmf.established()), (UeState::Established, 1));
}

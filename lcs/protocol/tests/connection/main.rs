//! A UE and an LMF, with everything between them played here: NAS that may be lost, and a channel
//! that cuts its octets anywhere.

mod strangers;

use martlet_lcs_protocol::*;
use martlet_lcsupp::upp_cm::{Cause, LmfAddress};
use martlet_lcsupp::{BindingIdentity, Message, PayloadType, Transport};
use std::time::{Duration, Instant};

const UE: u32 = 7;
const CHANNEL: ChannelId = ChannelId(1);

struct Bed {
    now: Instant,
    ue: UeSide,
    lmf: LmfSide<u32>,
    /// Where octets of the channel are cut, counted in octets from the start of each burst.
    cuts: Vec<usize>,
    open: bool,
    ue_events: Vec<UeEvent>,
    lmf_events: Vec<LmfEvent>,
    refused: Vec<Wrong>,
    /// NAS messages that get lost, from the LMF and from the UE, and all that were sent.
    lose_to_ue: usize,
    lose_to_lmf: usize,
    nas: Vec<u8>,
    connect: bool,
}

fn identity(last: u8) -> BindingIdentity {
    BindingIdentity::new([0, 0, 0, 0, last]).unwrap()
}

fn bed() -> Bed {
    let address = LmfAddress::Ipv4("127.0.0.1".parse().unwrap());
    Bed {
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

impl Bed {
    fn pieces(&self, octets: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for &cut in self.cuts.iter().filter(|&&cut| cut < octets.len()) {
            pieces.push(octets[from..cut].to_vec());
            from = cut;
        }
        pieces.push(octets[from..].to_vec());
        pieces
    }

    /// Let both sides do what they ask for until neither does.
    fn run(&mut self) {
        loop {
            let (mut uplink, mut downlink, mut idle) = (Vec::new(), Vec::new(), true);
            while let Some(action) = self.ue.action() {
                idle = false;
                match action {
                    UeAction::Nas(octets) => {
                        self.nas.push(octets[0]);
                        if self.lose_to_lmf > 0 {
                            self.lose_to_lmf -= 1;
                        } else {
                            self.lmf.negotiation(self.now, &UE, &octets);
                        }
                    }
                    UeAction::Connect(_) if self.connect => {
                        self.open = true;
                        self.lmf.channel_opened(self.now, CHANNEL);
                        self.ue.connected(self.now);
                    }
                    UeAction::Connect(_) => {}
                    UeAction::Send(octets) => uplink.extend(octets),
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
            while let Some(action) = self.lmf.action() {
                idle = false;
                match action {
                    LmfAction::Nas(UE, octets) => {
                        self.nas.push(octets[0]);
                        if self.lose_to_ue > 0 {
                            self.lose_to_ue -= 1;
                        } else {
                            self.ue.negotiation(self.now, b"lmf-1", &octets);
                        }
                    }
                    LmfAction::Nas(other, _) => panic!("NAS to {other}"),
                    LmfAction::Send(CHANNEL, octets) => downlink.extend(octets),
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
                    LmfAction::Refused(_, wrong) => self.refused.push(wrong),
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

    /// Let time pass until the next deadline.
    fn wait(&mut self) -> Duration {
        let next = [self.ue.deadline(), self.lmf.deadline()]
            .into_iter()
            .flatten()
            .min()
            .expect("a deadline");
        let waited = next - self.now;
        self.now = next;
        self.ue.timeout(next);
        self.lmf.timeout(next);
        self.run();
        waited
    }
}

fn payload(octets: &[u8], session: &[u8]) -> Payload {
    Payload { payload_type: PayloadType::Lpp, octets: octets.into(), session: session.into() }
}

#[test]
fn a_connection_carries_payloads_both_ways_and_is_released() {
    let mut bed = bed();
    bed.establish();
    assert_eq!(bed.nas, [0xc1, 0xc2]);
    bed.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9], b"s").unwrap();
    bed.ue.send(PayloadType::Lpp, &[0, 1, 8], b"s").unwrap();
    bed.run();
    assert_eq!(bed.ue_events, [UeEvent::Downlink(payload(&[0, 1, 9], b"s"))]);
    assert_eq!(bed.lmf_events, [LmfEvent::Uplink(payload(&[0, 1, 8], b"s"))]);
    assert_eq!(bed.lmf.establish(bed.now, UE, identity(2)), Ok(false), "one connection for a UE");
    assert!(bed.lmf.release(bed.now, &UE, Some(Duration::from_secs(60))));
    bed.run();
    assert_eq!(bed.nas, [0xc1, 0xc2, 0xc6, 0xc7]);
    assert_eq!((bed.ue.state(), bed.lmf.established(), bed.open), (UeState::Idle, 0, false));
    assert_eq!(bed.lmf_events.last(), Some(&LmfEvent::Lost(Loss::Released)));
    // It may not ask again for a minute.
    assert!(!bed.ue.request(bed.now));
    bed.now += Duration::from_secs(61);
    assert!(bed.ue.request(bed.now));
    bed.run();
    assert_eq!(bed.lmf_events.last(), Some(&LmfEvent::Requested));
}

#[test]
fn messages_are_the_same_however_the_octets_are_cut() {
    let transports = |bed: &mut Bed| {
        bed.lmf.send(&UE, PayloadType::Lpp, &[0, 1, 9, 0, 2, 8, 7], b"s").unwrap();
        bed.lmf.send(&UE, PayloadType::Lcs, &[5], b"s").unwrap();
        bed.ue.send(PayloadType::Lpp, &[0, 3, 1, 2, 3], b"s").unwrap();
        bed.ue.send(PayloadType::Lcs, &[6, 6], b"s").unwrap();
        bed.run();
        (std::mem::take(&mut bed.ue_events), std::mem::take(&mut bed.lmf_events))
    };
    let mut whole = bed();
    whole.establish();
    let expected = transports(&mut whole);
    assert_eq!((expected.0.len(), expected.1.len()), (2, 2));
    for first in 1..24 {
        for second in first..24 {
            let mut bed = bed();
            bed.cuts = vec![first, second];
            bed.establish();
            assert_eq!(transports(&mut bed), expected, "cut at {first} and {second}");
        }
    }
    let mut bed = bed();
    bed.cuts = (1..100).collect();
    bed.establish();
    assert_eq!(transports(&mut bed), expected, "octet by octet");
}

#[test]
fn what_comes_before_the_establishment_is_complete_is_kept() {
    let mut bed = bed();
    // The ESTABLISHMENT COMPLETE is lost, and said again when the command is repeated.
    bed.lose_to_lmf = 1;
    bed.lmf.establish(bed.now, UE, identity(1)).unwrap();
    bed.lmf.open_session(&UE, b"s").unwrap();
    bed.run();
    assert_eq!((bed.ue.state(), bed.lmf.established()), (UeState::Established, 0));
    bed.ue.send(PayloadType::Lpp, &[0, 1, 1], b"s").unwrap();
    bed.ue.send(PayloadType::Lpp, &[0, 1, 2], b"s").unwrap();
    bed.run();
    assert_eq!(bed.lmf_events, []);
    assert_eq!(bed.wait(), Duration::from_secs(10));
    let kept = |octet| LmfEvent::Uplink(payload(&[0, 1, octet], b"s"));
    assert_eq!(bed.lmf_events, [LmfEvent::Established, kept(1), kept(2)]);
    assert_eq!(bed.nas, [0xc1, 0xc2, 0xc1, 0xc2]);
}

#[test]
fn only_so_much_is_kept() {
    let mut bed = bed();
    bed.lose_to_lmf = 1;
    bed.lmf.establish(bed.now, UE, identity(1)).unwrap();
    bed.lmf.open_session(&UE, b"s").unwrap();
    bed.run();
    for _ in 0..6 {
        bed.ue.send(PayloadType::Lcs, &[1; 65_535], b"s").unwrap();
    }
    bed.run();
    assert_eq!(bed.lmf_events, [LmfEvent::Refused(Wrong::Full), LmfEvent::Refused(Wrong::Full)]);
}

#[test]
fn an_establishment_that_nobody_answers_is_given_up_at_the_fifth_expiry() {
    let mut bed = bed();
    bed.lose_to_ue = 9;
    bed.lmf.establish(bed.now, UE, identity(1)).unwrap();
    bed.run();
    let waits: Vec<u64> = (0..5).map(|_| bed.wait().as_secs()).collect();
    assert_eq!((waits, &bed.nas[..]), (vec![10; 5], &[0xc1; 5][..]));
    assert_eq!(bed.lmf_events, [LmfEvent::Lost(Loss::NoAnswer)]);
    assert_eq!(bed.lmf.deadline(), None);
    // The identity is withdrawn.
    bed.lmf.channel_opened(bed.now, ChannelId(2));
    bed.lmf.received(ChannelId(2), &Message::BindingRequest(identity(1)).encode().unwrap());
    bed.run();
    assert_eq!(bed.refused, [Wrong::UnknownBinding]);
}

#[test]
fn modification_and_release_are_repeated_and_given_up() {
    let mut bed = bed();
    bed.establish();
    bed.lose_to_ue = 99;
    assert!(bed.lmf.modify(bed.now, &UE, None));
    assert!(!bed.lmf.modify(bed.now, &UE, None), "one at a time");
    bed.run();
    assert_eq!((0..5).map(|_| bed.wait().as_secs()).collect::<Vec<_>>(), [16; 5]);
    assert_eq!(bed.lmf_events, [LmfEvent::NotModified(None)]);
    assert_eq!(bed.lmf.established(), 1);
    assert!(bed.lmf.release(bed.now, &UE, None));
    bed.run();
    assert_eq!((0..5).map(|_| bed.wait().as_secs()).collect::<Vec<_>>(), [16; 5]);
    assert_eq!(bed.lmf_events.last(), Some(&LmfEvent::Lost(Loss::Released)));
    assert_eq!((bed.ue.state(), bed.ue_events.last()), (UeState::Idle, Some(&UeEvent::Released)));
}

#[test]
fn a_modification_is_accepted_from_the_lmf_that_the_ue_knows_alone() {
    let mut bed = bed();
    bed.establish();
    assert!(bed.lmf.modify(bed.now, &UE, Some(b"lmf-1".to_vec())));
    bed.run();
    assert_eq!((bed.lmf_events.last(), bed.nas.last()), (Some(&LmfEvent::Modified), Some(&0xca)));
    // From another LMF, of which the UE knows nothing, on behalf of a third one.
    bed.ue.negotiation(bed.now, b"lmf-2", &[0xc9, 0x22, 1, b'x']);
    assert_eq!(bed.ue.action(), Some(UeAction::Nas(vec![0xcb, 5])));
    let mut idle = UeSide::new(Timers::default());
    idle.negotiation(bed.now, b"lmf-1", &[0xc9]);
    assert_eq!(idle.action(), Some(UeAction::Nas(vec![0xcb, 5])));
}

#[test]
fn each_cause_of_the_ue_reaches_the_lmf() {
    for cause in Cause::ALL {
        let mut bed = bed();
        bed.connect = false;
        bed.lmf.establish(bed.now, UE, identity(1)).unwrap();
        bed.run();
        bed.ue.connect_failed(cause);
        bed.run();
        assert_eq!(bed.lmf_events, [LmfEvent::Lost(Loss::Cause(cause))]);
        assert_eq!((bed.ue_events, bed.ue.state()), (vec![UeEvent::Failed(cause)], UeState::Idle));
    }
}

#[test]
fn a_channel_that_breaks_before_its_end_has_its_cause() {
    let mut connecting = bed();
    connecting.connect = false;
    connecting.lmf.establish(connecting.now, UE, identity(1)).unwrap();
    connecting.run();
    connecting.ue.closed();
    connecting.run();
    assert_eq!(connecting.lmf_events, [LmfEvent::Lost(Loss::Cause(Cause::TlsFailure))]);

    // The LMF does not answer the binding.
    let mut bed = bed();
    bed.connect = false;
    bed.lmf.establish(bed.now, UE, identity(1)).unwrap();
    bed.run();
    bed.ue.connected(bed.now);
    bed.run();
    bed.wait();
    assert!(bed.ue_events.contains(&UeEvent::Failed(Cause::BindingFailure)), "{:?}", bed.ue_events);
    assert_eq!(bed.lmf_events, [LmfEvent::Lost(Loss::Cause(Cause::BindingFailure))]);

    let mut established = self::bed();
    established.establish();
    established.lmf.channel_closed(CHANNEL);
    established.ue.closed();
    established.run();
    assert_eq!(established.lmf_events, [LmfEvent::Lost(Loss::ChannelClosed)]);
    assert_eq!(established.ue_events, [UeEvent::Released]);
}

#[test]
fn a_ue_asks_and_is_let_in_or_not_or_gets_no_answer() {
    let mut bed = bed();
    assert!(bed.ue.request(bed.now));
    bed.run();
    assert_eq!(bed.lmf_events, [LmfEvent::Requested]);
    bed.lmf_events.clear();
    bed.establish();

    let mut refused = self::bed();
    refused.ue.request(refused.now);
    refused.run();
    refused.lmf.reject(UE, Some(Duration::from_secs(30)));
    refused.run();
    assert_eq!(refused.ue_events, [UeEvent::Rejected(Some(Duration::from_secs(30)))]);
    assert!(!refused.ue.request(refused.now));

    let mut silent = self::bed();
    silent.lose_to_lmf = 99;
    silent.ue.request(silent.now);
    silent.run();
    (0..5).for_each(|_| {
        silent.wait();
    });
    assert_eq!((silent.ue_events, silent.nas), (vec![UeEvent::NoAnswer], vec![0xc4; 5]));
}

#[test]
fn a_ue_that_asks_for_its_release_gets_it() {
    let mut bed = bed();
    bed.establish();
    assert!(bed.ue.release(bed.now, Some(Cause::UserPlaneNotAvailable)));
    bed.run();
    assert_eq!(bed.nas, [0xc1, 0xc2, 0xc8, 0xc6, 0xc7]);
    assert_eq!((bed.ue.state(), bed.lmf.established()), (UeState::Idle, 0));
    assert_eq!(bed.ue_events, [UeEvent::Released]);
    // A UE that lost its state and asks anew is served anew.
    let mut bed = self::bed();
    bed.establish();
    bed.ue = UeSide::new(Timers::default());
    bed.ue.request(bed.now);
    bed.run();
    assert_eq!(bed.lmf_events, [LmfEvent::Lost(Loss::ChannelClosed), LmfEvent::Requested]);
}

#[test]
fn a_command_for_another_connection_replaces_the_one_that_is_there() {
    let mut bed = bed();
    bed.establish();
    bed.lmf.forget(&UE);
    bed.lmf_events.clear();
    bed.run();
    bed.lmf.establish(bed.now, UE, identity(9)).unwrap();
    bed.run();
    assert_eq!((bed.ue.state(), bed.lmf.established()), (UeState::Established, 1));
}

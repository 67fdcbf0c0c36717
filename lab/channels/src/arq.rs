//! Octets in order over datagrams that may be lost, doubled, or out of order, for DTLS, which
//! repeats nothing of the application's: segments with their place in the stream, and
//! acknowledgements. It does no I/O and has no clock.
//!
//! A datagram is: flags (1 octet: data, end, gap: later octets are here already), the next octet
//! that its sender waits for (4 octets, big endian, modulo 2^32), the place of its own first octet
//! (4 octets), and the octets.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Octets of a header.
pub(crate) const HEADER: usize = 9;
const DATA: u8 = 1;
const END: u8 = 2;
const GAP: u8 = 4;
/// Octets that may be on their way, or wait for others, in each direction.
const MOST: usize = 1 << 20;
/// Segments that are sent before the first acknowledgement, which is the largest message on a path
/// of small packets, and fewest: what radio loses is no sign that somebody else needs the path.
const FIRST_WINDOW: usize = 64;
const LEAST_WINDOW: usize = 16;
const MOST_WINDOW: usize = 512;
/// An acknowledgement alone waits so long for something to go with.
const ACK_DELAY: Duration = Duration::from_millis(5);
/// Segments that are acknowledged at once.
const ACK_EVERY: usize = 8;
/// Repetition before anything is known of the path, at the earliest, and at the latest.
const FIRST_TIMEOUT: Duration = Duration::from_millis(200);
const LEAST_TIMEOUT: Duration = Duration::from_millis(25);
const MOST_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Segment {
    at: u32,
    octets: Vec<u8>,
    end: bool,
    sent: Option<Instant>,
    repeated: bool,
}

/// One end of a stream in each direction.
#[derive(Debug)]
pub(crate) struct Arq {
    piece: usize,
    /// What is not acknowledged: first what was sent, then what is to be.
    outgoing: VecDeque<Segment>,
    /// How many of those were sent.
    flying: usize,
    /// Which of those is to be sent again.
    again: Option<usize>,
    next: u32,
    queued: usize,
    window: usize,
    grown: usize,
    lost_at: Option<Instant>,
    acked: u32,
    rtt: Option<(Duration, Duration)>,
    backoff: u32,
    expected: u32,
    parked: BTreeMap<u32, (Vec<u8>, bool)>,
    parked_octets: usize,
    ready: Vec<u8>,
    owed: usize,
    owed_since: Option<Instant>,
    ended: bool,
}

/// How far a place is from another; negative before it.
fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

impl Arq {
    /// With at most so many octets in a segment.
    pub(crate) fn new(piece: usize) -> Self {
        Arq {
            piece: piece.max(1),
            outgoing: VecDeque::new(),
            flying: 0,
            again: None,
            next: 0,
            queued: 0,
            window: FIRST_WINDOW,
            grown: 0,
            lost_at: None,
            acked: 0,
            rtt: None,
            backoff: 0,
            expected: 0,
            parked: BTreeMap::new(),
            parked_octets: 0,
            ready: Vec::new(),
            owed: 0,
            owed_since: None,
            ended: false,
        }
    }

    /// Whether there is room for more to send.
    pub(crate) fn has_room(&self) -> bool {
        self.queued < MOST
    }

    /// Whether everything that was sent has arrived.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Whether the peer sends no more, and all of it is here.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Octets to send.
    pub(crate) fn write(&mut self, octets: &[u8]) {
        for piece in octets.chunks(self.piece) {
            self.push(piece.to_vec(), false);
        }
    }

    /// Nothing more is sent.
    pub(crate) fn finish(&mut self) {
        self.push(Vec::new(), true);
    }

    fn push(&mut self, octets: Vec<u8>, end: bool) {
        // The end has a place of its own, so that it can be acknowledged.
        let length = octets.len() + usize::from(end);
        self.queued += length;
        self.outgoing.push_back(Segment {
            at: self.next,
            octets,
            end,
            sent: None,
            repeated: false,
        });
        self.next = self.next.wrapping_add(length as u32);
    }

    /// What has come, in order.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.ready);
    }

    /// The next datagram to send, written to `out`; false where there is none.
    pub(crate) fn poll(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        out.clear();
        let which = match self.again.take() {
            Some(which) if which < self.flying => Some(which),
            _ if self.flying < self.outgoing.len() && self.flying < self.window => {
                self.flying += 1;
                Some(self.flying - 1)
            }
            _ => None,
        };
        let ack_alone =
            self.owed >= ACK_EVERY || self.owed_since.is_some_and(|since| since + ACK_DELAY <= now);
        if which.is_none() && !ack_alone {
            return false;
        }
        let segment = which.and_then(|which| self.outgoing.get_mut(which));
        let (mut flags, mut at) = (if self.parked.is_empty() { 0 } else { GAP }, self.next);
        if let Some(segment) = &segment {
            flags |= DATA | if segment.end { END } else { 0 };
            at = segment.at;
        }
        out.push(flags);
        out.extend_from_slice(&self.expected.to_be_bytes());
        out.extend_from_slice(&at.to_be_bytes());
        if let Some(segment) = segment {
            out.extend_from_slice(&segment.octets);
            segment.repeated |= segment.sent.replace(now).is_some();
        }
        (self.owed, self.owed_since) = (0, None);
        true
    }

    /// A datagram came; false where it is none of this.
    pub(crate) fn received(&mut self, now: Instant, datagram: &[u8]) -> bool {
        let Some((&[flags, a, b, c, d, e, f, g, h], octets)) =
            datagram.split_first_chunk::<HEADER>()
        else {
            return false;
        };
        self.acknowledged(now, u32::from_be_bytes([a, b, c, d]));
        if flags & GAP != 0 {
            self.gap(now);
        }
        if flags & DATA == 0 {
            return true;
        }
        let (at, end) = (u32::from_be_bytes([e, f, g, h]), flags & END != 0);
        self.owed += 1;
        self.owed_since.get_or_insert(now);
        let ahead = distance(self.expected, at);
        if ahead < 0 {
            // It came before: what says so was lost.
            self.owed = ACK_EVERY;
            return true;
        }
        if ahead > 0 {
            // The one before is missing, which the peer learns at once.
            self.owed = ACK_EVERY;
            if ahead as usize <= MOST
                && self.parked_octets + octets.len() <= MOST
                && !self.parked.contains_key(&at)
            {
                self.parked_octets += octets.len();
                self.parked.insert(at, (octets.to_vec(), end));
            }
            return true;
        }
        self.accept(octets, end);
        while let Some((octets, end)) = self.parked.remove(&self.expected) {
            self.parked_octets -= octets.len();
            self.accept(&octets, end);
        }
        true
    }

    fn accept(&mut self, octets: &[u8], end: bool) {
        self.ready.extend_from_slice(octets);
        self.ended |= end;
        self.expected = self.expected.wrapping_add((octets.len() + usize::from(end)) as u32);
    }

    /// The peer has later octets than those that it waits for: these were lost, unless they are
    /// new.
    fn gap(&mut self, now: Instant) {
        let known = self.rtt.map_or(FIRST_TIMEOUT, |(smooth, _)| smooth) * 3 / 4;
        let first = self.outgoing.front().filter(|_| self.flying > 0).and_then(|first| first.sent);
        if first.is_some_and(|sent| sent + known <= now) {
            self.again = Some(0);
            self.lost(now);
        }
    }

    fn acknowledged(&mut self, now: Instant, until: u32) {
        let news = distance(self.acked, until);
        if news <= 0 || news as usize > self.queued {
            return;
        }
        self.acked = until;
        self.queued -= news as usize;
        self.backoff = 0;
        while self.flying > 0
            && self.outgoing.front().is_some_and(|first| distance(first.at, until) > 0)
        {
            let Some(first) = self.outgoing.pop_front() else { break };
            self.flying -= 1;
            self.grown += 1;
            if let Some(sent) = first.sent.filter(|_| !first.repeated) {
                self.measured(now.saturating_duration_since(sent));
            }
        }
        if self.grown >= self.window / 4 {
            self.grown = 0;
            self.window = (self.window + 1).min(MOST_WINDOW);
        }
        self.again = None;
    }

    /// RFC 6298, 2.
    fn measured(&mut self, rtt: Duration) {
        self.rtt = Some(match self.rtt {
            None => (rtt, rtt / 2),
            Some((smooth, deviation)) => {
                (smooth * 7 / 8 + rtt / 8, deviation * 3 / 4 + smooth.abs_diff(rtt) / 4)
            }
        });
    }

    /// Less is sent at once from now on; all that is lost of one window counts once.
    fn lost(&mut self, now: Instant) {
        let round = self.rtt.map_or(FIRST_TIMEOUT, |(smooth, _)| smooth);
        if self.lost_at.is_none_or(|at| at + round <= now) {
            self.window = (self.window * 3 / 4).max(LEAST_WINDOW);
            (self.grown, self.lost_at) = (0, Some(now));
        }
    }

    /// When [`Arq::timeout`] is to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let base = self.rtt.map_or(FIRST_TIMEOUT, |(smooth, deviation)| {
            (smooth + deviation * 4).max(LEAST_TIMEOUT)
        });
        let timeout = (base * 2u32.pow(self.backoff.min(8))).min(MOST_TIMEOUT);
        let first = self.outgoing.front().filter(|_| self.flying > 0).and_then(|first| first.sent);
        let repeat = first.map(|sent| sent + timeout + ACK_DELAY);
        let ack = self.owed_since.map(|since| since + ACK_DELAY);
        repeat.into_iter().chain(ack).min()
    }

    /// It is time: the first segment is sent again, or an acknowledgement goes alone.
    pub(crate) fn timeout(&mut self, now: Instant) {
        let due = self.owed_since.is_some_and(|since| since + ACK_DELAY <= now);
        if !due && self.flying > 0 {
            self.again = Some(0);
            if self.backoff == 0 {
                self.lost(now);
            }
            self.backoff += 1;
        }
    }
}

/// For a fuzzer: two ends, between which datagrams are lost, doubled, mixed and made up. Neither
/// panics, keeps more than it may, or reads anything but what was written.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let start = Instant::now();
    let mut now = start;
    let mut ends = [Arq::new(40), Arq::new(40)];
    let mut written = [Vec::new(), Vec::new()];
    let mut read = [Vec::new(), Vec::new()];
    let mut flying: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    let mut made_up = false;
    let mut orders = data.iter().copied();
    while let Some(order) = orders.next() {
        let end = usize::from(order & 1);
        let with = orders.next().unwrap_or(0);
        match order >> 1 & 7 {
            0 => {
                let octets: Vec<u8> = (0..with).map(|at| at ^ written[end].len() as u8).collect();
                written[end].extend_from_slice(&octets);
                ends[end].write(&octets);
            }
            1 | 2 => {
                let mut datagram = Vec::new();
                while ends[end].poll(now, &mut datagram) && flying[end].len() < 64 {
                    flying[end].push(datagram.clone());
                }
            }
            3 | 4 if !flying[end].is_empty() => {
                let which = usize::from(with) % flying[end].len();
                let datagram = flying[end].remove(which);
                ends[1 - end].received(now, &datagram);
            }
            5 if !flying[end].is_empty() => {
                let which = usize::from(with) % flying[end].len();
                let datagram = flying[end][which].clone();
                ends[1 - end].received(now, &datagram);
            }
            6 => {
                let datagram: Vec<u8> = orders.by_ref().take(usize::from(with % 60)).collect();
                made_up = true;
                ends[end].received(now, &datagram);
            }
            _ => {
                now += Duration::from_millis(u64::from(with));
                if ends[end].deadline().is_some_and(|at| at <= now) {
                    ends[end].timeout(now);
                }
            }
        }
        ends[1 - end].take(&mut read[1 - end]);
        ends[end].take(&mut read[end]);
        assert!(ends.iter().all(|end| end.parked_octets <= MOST), "too much waits");
        // DTLS lets nothing through that the other end has not made.
        if !made_up {
            for end in 0..2 {
                assert!(
                    written[end].starts_with(&read[1 - end]),
                    "something else was read than written"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ends, and a path that does with each datagram what `path` says: how often it arrives,
    /// and how late.
    fn carry(sizes: &[usize], mut path: impl FnMut(u64) -> Vec<Duration>) -> Duration {
        let start = Instant::now();
        let (mut now, mut number) = (start, 0);
        let mut ends = [Arq::new(1000), Arq::new(1000)];
        let mut flying: Vec<(Instant, u64, usize, Vec<u8>)> = Vec::new();
        for &size in sizes {
            let sent: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
            ends[0].write(&sent);
            let (mut there, mut back) = (Vec::new(), Vec::new());
            while back.len() < size {
                for (end, arq) in ends.iter_mut().enumerate() {
                    let mut datagram = Vec::new();
                    while arq.poll(now, &mut datagram) {
                        for late in path(number) {
                            flying.push((now + late, number, 1 - end, datagram.clone()));
                        }
                        number += 1;
                    }
                }
                flying.sort_by_key(|(at, number, ..)| (*at, *number));
                let arrival = flying.first().map(|(at, ..)| *at);
                let timer = ends.iter().filter_map(Arq::deadline).min();
                now = arrival.into_iter().chain(timer).min().expect("something happens").max(now);
                assert!(now < start + Duration::from_secs(600), "{} of {size}", back.len());
                while flying.first().is_some_and(|(at, ..)| *at <= now) {
                    let (_, _, end, datagram) = flying.remove(0);
                    assert!(ends[end].received(now, &datagram));
                }
                for end in &mut ends {
                    if end.deadline().is_some_and(|at| at <= now) {
                        end.timeout(now);
                    }
                }
                let before = there.len();
                ends[1].take(&mut there);
                let echo = there[before..].to_vec();
                ends[1].write(&echo);
                ends[0].take(&mut back);
            }
            assert!(there == sent && back == sent, "{size}");
        }
        now - start
    }

    #[test]
    fn octets_arrive_in_order_on_a_good_path_and_soon() {
        let late = Duration::from_millis(10);
        assert_eq!(carry(&[1], |_| vec![late]), Duration::from_millis(20));
        assert_eq!(carry(&[60_000], |_| vec![late]), Duration::from_millis(20));
        carry(&[1, 999, 1000, 1001, 65_795, 1_500_000], |_| vec![late]);
    }

    #[test]
    fn octets_arrive_in_order_on_a_path_that_loses_doubles_and_mixes() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..20 {
            carry(&[1, 1500, 65_795, 40_000], |_| {
                let copies = match random(100) {
                    0..10 => 0,
                    10..15 => 2,
                    _ => 1,
                };
                (0..copies).map(|_| Duration::from_millis(5 + random(10) + round)).collect()
            });
        }
    }

    #[test]
    fn a_lost_segment_in_the_middle_is_sent_again_before_its_time_is_up() {
        let late = Duration::from_millis(50);
        let took =
            carry(&[1, 1, 1, 40_000], |number| if number == 14 { vec![] } else { vec![late] });
        // Three exchanges of 100 ms, one more, and one more way back and forth for what was lost.
        assert!(took <= Duration::from_millis(515), "{took:?}");
    }

    #[test]
    fn senseless_datagrams_change_nothing() {
        let now = Instant::now();
        let mut arq = Arq::new(100);
        arq.write(&[1; 250]);
        let mut datagram = Vec::new();
        while arq.poll(now, &mut datagram) {}
        assert!(!arq.received(now, &[0; 8]));
        for wrong in [
            [0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0, 0x7f, 0, 0, 0],
        ] {
            arq.received(now, &wrong);
        }
        assert!(!arq.is_flushed() && !arq.is_ended() && arq.parked.is_empty());
        let mut out = Vec::new();
        arq.take(&mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn the_end_comes_after_the_octets_and_is_acknowledged() {
        let now = Instant::now();
        let (mut one, mut other) = (Arq::new(100), Arq::new(100));
        one.write(&[7; 150]);
        one.finish();
        let (mut datagrams, mut datagram) = (Vec::new(), Vec::new());
        while one.poll(now, &mut datagram) {
            datagrams.push(datagram.clone());
        }
        // The last one first.
        datagrams.iter().rev().for_each(|datagram| assert!(other.received(now, datagram)));
        assert!(other.is_ended());
        assert!(other.poll(now, &mut datagram) && one.received(now, &datagram) && one.is_flushed());
    }
}

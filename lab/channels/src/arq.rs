//! A reliable byte stream over datagrams that may be lost, duplicated or reordered (automatic
//! repeat request). DTLS needs it because it does not retransmit application data. It does no I/O
//! and has no clock.
//!
//! A datagram consists of flags (1 byte: data, end, gap), the next stream offset that the sender
//! expects (4 bytes, big endian, modulo 2^32), the stream offset of its own first byte (4 bytes),
//! and the data. The gap flag means that the sender holds data beyond the expected offset.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Bytes of the header.
pub(crate) const HEADER: usize = 9;
const DATA: u8 = 1;
const END: u8 = 2;
const GAP: u8 = 4;
/// Limit of unacknowledged bytes and of out-of-order bytes, per direction.
const MAX_BUFFERED: usize = 1 << 20;
/// Congestion window in segments. The initial window holds the largest message on a path with a
/// small MTU. The minimum is high because losses on a radio link do not indicate congestion.
const INITIAL_WINDOW: usize = 64;
const MIN_WINDOW: usize = 16;
const MAX_WINDOW: usize = 512;
/// How long an acknowledgement waits for data to be sent with.
const ACK_DELAY: Duration = Duration::from_millis(5);
/// This many received segments are acknowledged without delay.
const ACK_EVERY: usize = 8;
/// Retransmission timeout: before the first RTT sample, minimum and maximum.
const INITIAL_TIMEOUT: Duration = Duration::from_millis(200);
const MIN_TIMEOUT: Duration = Duration::from_millis(25);
const MAX_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Segment {
    at: u32,
    bytes: Vec<u8>,
    end: bool,
    sent: Option<Instant>,
    repeated: bool,
}

/// One end of a stream in each direction.
#[derive(Debug)]
pub(crate) struct Arq {
    segment_size: usize,
    /// Segments that are not acknowledged: those in flight, then those not yet sent.
    outgoing: VecDeque<Segment>,
    /// Number of segments in flight, at the front of `outgoing`.
    in_flight: usize,
    /// Index in `outgoing` of the segment to retransmit.
    retransmit: Option<usize>,
    next: u32,
    queued: usize,
    window: usize,
    acked_segments: usize,
    lost_at: Option<Instant>,
    acked: u32,
    rtt: Option<(Duration, Duration)>,
    backoff: u32,
    expected: u32,
    out_of_order: BTreeMap<u32, (Vec<u8>, bool)>,
    out_of_order_bytes: usize,
    ready: Vec<u8>,
    acks_pending: usize,
    acks_pending_since: Option<Instant>,
    ended: bool,
}

/// The distance from one stream offset to another, modulo 2^32; negative if `to` is before `from`.
fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

impl Arq {
    /// Creates an end that sends at most `segment_size` bytes in a segment.
    pub(crate) fn new(segment_size: usize) -> Self {
        Arq {
            segment_size: segment_size.max(1),
            outgoing: VecDeque::new(),
            in_flight: 0,
            retransmit: None,
            next: 0,
            queued: 0,
            window: INITIAL_WINDOW,
            acked_segments: 0,
            lost_at: None,
            acked: 0,
            rtt: None,
            backoff: 0,
            expected: 0,
            out_of_order: BTreeMap::new(),
            out_of_order_bytes: 0,
            ready: Vec::new(),
            acks_pending: 0,
            acks_pending_since: None,
            ended: false,
        }
    }

    /// Whether [`Arq::write`] may be called.
    pub(crate) fn has_room(&self) -> bool {
        self.queued < MAX_BUFFERED
    }

    /// Whether everything that was sent is acknowledged.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Whether the peer ended its direction and all of its data was received.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Queues bytes to be sent.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for segment in bytes.chunks(self.segment_size) {
            self.push(segment.to_vec(), false);
        }
    }

    /// Ends this direction of the stream.
    pub(crate) fn finish(&mut self) {
        self.push(Vec::new(), true);
    }

    fn push(&mut self, bytes: Vec<u8>, end: bool) {
        // The end occupies one stream offset, so that it can be acknowledged.
        let length = bytes.len() + usize::from(end);
        self.queued += length;
        self.outgoing.push_back(Segment { at: self.next, bytes, end, sent: None, repeated: false });
        self.next = self.next.wrapping_add(length as u32);
    }

    /// Moves the bytes received in order to `out`.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.ready);
    }

    /// Writes the next datagram to `out`. Returns false if there is none to send.
    pub(crate) fn poll(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        out.clear();
        let which = match self.retransmit.take() {
            Some(which) if which < self.in_flight => Some(which),
            _ if self.in_flight < self.outgoing.len() && self.in_flight < self.window => {
                self.in_flight += 1;
                Some(self.in_flight - 1)
            }
            _ => None,
        };
        let ack_alone = self.acks_pending >= ACK_EVERY
            || self.acks_pending_since.is_some_and(|since| since + ACK_DELAY <= now);
        if which.is_none() && !ack_alone {
            return false;
        }
        let segment = which.and_then(|which| self.outgoing.get_mut(which));
        let (mut flags, mut at) = (if self.out_of_order.is_empty() { 0 } else { GAP }, self.next);
        if let Some(segment) = &segment {
            flags |= DATA | if segment.end { END } else { 0 };
            at = segment.at;
        }
        out.push(flags);
        out.extend_from_slice(&self.expected.to_be_bytes());
        out.extend_from_slice(&at.to_be_bytes());
        if let Some(segment) = segment {
            out.extend_from_slice(&segment.bytes);
            segment.repeated |= segment.sent.replace(now).is_some();
        }
        (self.acks_pending, self.acks_pending_since) = (0, None);
        true
    }

    /// Handles a datagram. Returns false if it is malformed.
    pub(crate) fn received(&mut self, now: Instant, datagram: &[u8]) -> bool {
        let Some((&[flags, a, b, c, d, e, f, g, h], bytes)) =
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
        self.acks_pending += 1;
        self.acks_pending_since.get_or_insert(now);
        let offset = distance(self.expected, at);
        if offset < 0 {
            // A duplicate: its acknowledgement was lost, so another is sent without delay.
            self.acks_pending = ACK_EVERY;
            return true;
        }
        if offset > 0 {
            // An earlier segment is missing, which the peer is notified of without delay.
            self.acks_pending = ACK_EVERY;
            if offset as usize <= MAX_BUFFERED
                && self.out_of_order_bytes + bytes.len() <= MAX_BUFFERED
                && !self.out_of_order.contains_key(&at)
            {
                self.out_of_order_bytes += bytes.len();
                self.out_of_order.insert(at, (bytes.to_vec(), end));
            }
            return true;
        }
        self.accept(bytes, end);
        while let Some((bytes, end)) = self.out_of_order.remove(&self.expected) {
            self.out_of_order_bytes -= bytes.len();
            self.accept(&bytes, end);
        }
        true
    }

    fn accept(&mut self, bytes: &[u8], end: bool) {
        self.ready.extend_from_slice(bytes);
        self.ended |= end;
        self.expected = self.expected.wrapping_add((bytes.len() + usize::from(end)) as u32);
    }

    /// The peer reports a gap. The first segment is lost if it was sent a round trip ago.
    fn gap(&mut self, now: Instant) {
        let known = self.rtt.map_or(INITIAL_TIMEOUT, |(smooth, _)| smooth) * 3 / 4;
        let first =
            self.outgoing.front().filter(|_| self.in_flight > 0).and_then(|first| first.sent);
        if first.is_some_and(|sent| sent + known <= now) {
            self.retransmit = Some(0);
            self.lost(now);
        }
    }

    fn acknowledged(&mut self, now: Instant, until: u32) {
        let newly_acked = distance(self.acked, until);
        if newly_acked <= 0 || newly_acked as usize > self.queued {
            return;
        }
        self.acked = until;
        self.queued -= newly_acked as usize;
        self.backoff = 0;
        while self.in_flight > 0
            && self.outgoing.front().is_some_and(|first| distance(first.at, until) > 0)
        {
            let Some(first) = self.outgoing.pop_front() else { break };
            self.in_flight -= 1;
            self.acked_segments += 1;
            if let Some(sent) = first.sent.filter(|_| !first.repeated) {
                self.measured(now.saturating_duration_since(sent));
            }
        }
        if self.acked_segments >= self.window / 4 {
            self.acked_segments = 0;
            self.window = (self.window + 1).min(MAX_WINDOW);
        }
        self.retransmit = None;
    }

    /// Updates the RTT estimate (RFC 6298, 2).
    fn measured(&mut self, rtt: Duration) {
        self.rtt = Some(match self.rtt {
            None => (rtt, rtt / 2),
            Some((smooth, deviation)) => {
                (smooth * 7 / 8 + rtt / 8, deviation * 3 / 4 + smooth.abs_diff(rtt) / 4)
            }
        });
    }

    /// Shrinks the window after a loss, at most once per round trip.
    fn lost(&mut self, now: Instant) {
        let round = self.rtt.map_or(INITIAL_TIMEOUT, |(smooth, _)| smooth);
        if self.lost_at.is_none_or(|at| at + round <= now) {
            self.window = (self.window * 3 / 4).max(MIN_WINDOW);
            (self.acked_segments, self.lost_at) = (0, Some(now));
        }
    }

    /// When [`Arq::timeout`] must be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let base = self.rtt.map_or(INITIAL_TIMEOUT, |(smooth, deviation)| {
            (smooth + deviation * 4).max(MIN_TIMEOUT)
        });
        let timeout = (base * 2u32.pow(self.backoff.min(8))).min(MAX_TIMEOUT);
        let first =
            self.outgoing.front().filter(|_| self.in_flight > 0).and_then(|first| first.sent);
        let repeat = first.map(|sent| sent + timeout + ACK_DELAY);
        let ack = self.acks_pending_since.map(|since| since + ACK_DELAY);
        repeat.into_iter().chain(ack).min()
    }

    /// Handles an expired timer: retransmits the first segment, or sends an acknowledgement on its
    /// own.
    pub(crate) fn timeout(&mut self, now: Instant) {
        let due = self.acks_pending_since.is_some_and(|since| since + ACK_DELAY <= now);
        if !due && self.in_flight > 0 {
            self.retransmit = Some(0);
            if self.backoff == 0 {
                self.lost(now);
            }
            self.backoff += 1;
        }
    }
}

/// Fuzz target: two ends over a path that loses, duplicates, reorders and forges datagrams. Neither
/// end panics, exceeds its limits, or delivers bytes other than those written.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let start = Instant::now();
    let mut now = start;
    let mut ends = [Arq::new(40), Arq::new(40)];
    let mut written = [Vec::new(), Vec::new()];
    let mut read = [Vec::new(), Vec::new()];
    let mut in_flight: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    let mut made_up = false;
    let mut orders = data.iter().copied();
    while let Some(order) = orders.next() {
        let end = usize::from(order & 1);
        let with = orders.next().unwrap_or(0);
        match order >> 1 & 7 {
            0 => {
                let bytes: Vec<u8> = (0..with).map(|at| at ^ written[end].len() as u8).collect();
                written[end].extend_from_slice(&bytes);
                ends[end].write(&bytes);
            }
            1 | 2 => {
                let mut datagram = Vec::new();
                while ends[end].poll(now, &mut datagram) && in_flight[end].len() < 64 {
                    in_flight[end].push(datagram.clone());
                }
            }
            3 | 4 if !in_flight[end].is_empty() => {
                let which = usize::from(with) % in_flight[end].len();
                let datagram = in_flight[end].remove(which);
                ends[1 - end].received(now, &datagram);
            }
            5 if !in_flight[end].is_empty() => {
                let which = usize::from(with) % in_flight[end].len();
                let datagram = in_flight[end][which].clone();
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
        assert!(
            ends.iter().all(|end| end.out_of_order_bytes <= MAX_BUFFERED),
            "more is buffered than the limit"
        );
        // DTLS authenticates datagrams, so only the peer's arrive.
        if !made_up {
            for end in 0..2 {
                assert!(
                    written[end].starts_with(&read[1 - end]),
                    "the bytes read differ from those written"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs two ends over a path. `path` returns, for each datagram, the delays of the copies that
    /// arrive.
    fn carry(sizes: &[usize], mut path: impl FnMut(u64) -> Vec<Duration>) -> Duration {
        let start = Instant::now();
        let (mut now, mut number) = (start, 0);
        let mut ends = [Arq::new(1000), Arq::new(1000)];
        let mut in_flight: Vec<(Instant, u64, usize, Vec<u8>)> = Vec::new();
        for &size in sizes {
            let sent: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
            ends[0].write(&sent);
            let (mut there, mut back) = (Vec::new(), Vec::new());
            while back.len() < size {
                for (end, arq) in ends.iter_mut().enumerate() {
                    let mut datagram = Vec::new();
                    while arq.poll(now, &mut datagram) {
                        for late in path(number) {
                            in_flight.push((now + late, number, 1 - end, datagram.clone()));
                        }
                        number += 1;
                    }
                }
                in_flight.sort_by_key(|(at, number, ..)| (*at, *number));
                let arrival = in_flight.first().map(|(at, ..)| *at);
                let timer = ends.iter().filter_map(Arq::deadline).min();
                now = arrival.into_iter().chain(timer).min().expect("something happens").max(now);
                assert!(now < start + Duration::from_secs(600), "{} of {size}", back.len());
                while in_flight.first().is_some_and(|(at, ..)| *at <= now) {
                    let (_, _, end, datagram) = in_flight.remove(0);
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
    fn a_path_without_loss_delivers_in_order_without_delay() {
        let late = Duration::from_millis(10);
        assert_eq!(carry(&[1], |_| vec![late]), Duration::from_millis(20));
        assert_eq!(carry(&[60_000], |_| vec![late]), Duration::from_millis(20));
        carry(&[1, 999, 1000, 1001, 65_795, 1_500_000], |_| vec![late]);
    }

    #[test]
    fn loss_duplication_and_reordering_do_not_change_the_stream() {
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
    fn a_gap_report_retransmits_before_the_timeout() {
        let late = Duration::from_millis(50);
        let elapsed =
            carry(&[1, 1, 1, 40_000], |number| if number == 14 { vec![] } else { vec![late] });
        // Three exchanges of 100 ms, one more, and one round trip for the retransmission.
        assert!(elapsed <= Duration::from_millis(515), "{elapsed:?}");
    }

    #[test]
    fn malformed_datagrams_are_ignored() {
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
        assert!(!arq.is_flushed() && !arq.is_ended() && arq.out_of_order.is_empty());
        let mut out = Vec::new();
        arq.take(&mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn the_end_follows_the_data_and_is_acknowledged() {
        let now = Instant::now();
        let (mut one, mut other) = (Arq::new(100), Arq::new(100));
        one.write(&[7; 150]);
        one.finish();
        let (mut datagrams, mut datagram) = (Vec::new(), Vec::new());
        while one.poll(now, &mut datagram) {
            datagrams.push(datagram.clone());
        }
        // Delivered in reverse order.
        datagrams.iter().rev().for_each(|datagram| assert!(other.received(now, datagram)));
        assert!(other.is_ended());
        assert!(other.poll(now, &mut datagram) && one.received(now, &datagram) && one.is_flushed());
    }
}

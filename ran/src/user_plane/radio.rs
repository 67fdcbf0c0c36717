//! A model of the air interface between a UE and its gNB: when a packet that was given to it
//! arrives, if it does.
//!
//! Time is divided into slots, each downlink or uplink (TDD). Downlink packets go in the next
//! downlink slots that have room. A UE with nothing to send has no grant: with the first packet it
//! waits for its next opportunity to request one (TS 38.321, 5.4.4), and for the grant, which is
//! small, since the gNB does not know yet how much there is; the rest is granted after the buffer
//! status that goes with it. Packets that come while others are sent need no request. A slot that
//! is not decoded is repeated (HARQ); packets stay in order. The model has no clock: it is told the
//! time, and is the same for the same seed.
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::VecDeque;
use std::time::Duration;

/// An air interface.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RadioConfig {
    /// Microseconds of a slot: 500 with 30 kHz between subcarriers.
    pub slot_us: u32,
    /// The slots that repeat: D, S (which carries downlink) and U.
    pub tdd: String,
    /// Milliseconds between a UE's opportunities to request a grant.
    pub request_ms: f64,
    /// Milliseconds from a request, or a buffer status, to the slot that is granted.
    pub grant_ms: f64,
    /// Octets of the grant that answers a request.
    pub first_grant: u32,
    /// Megabits a second, uplink slots and others taken together.
    pub uplink_mbps: f64,
    /// The same downlink.
    pub downlink_mbps: f64,
    /// Microseconds that modem and gNB take for each packet.
    pub processing_us: u32,
    /// Microseconds that they take longer, at the most; how much is different for each packet.
    pub jitter_us: u32,
    /// The share of slots that have to be repeated.
    pub repeated: f64,
    /// Milliseconds until they are.
    pub repeat_ms: f64,
    /// The share of packets that are lost for good.
    pub loss: f64,
    /// Octets that wait in each direction; what is more is lost.
    pub queue: usize,
    /// Makes the same packets late and lost in each run.
    pub seed: u64,
    /// Whether all UEs have the same opportunities, and lose the same packets: to compare what
    /// they do on the same air.
    pub alike: bool,
}

impl Default for RadioConfig {
    /// A small cell: 20 MHz at 30 kHz, as the open gNBs run it on one software radio.
    fn default() -> Self {
        RadioConfig {
            slot_us: 500,
            tdd: "DDDDDDDSUU".into(),
            request_ms: 10.0,
            grant_ms: 4.0,
            first_grant: 512,
            uplink_mbps: 15.0,
            downlink_mbps: 50.0,
            processing_us: 700,
            jitter_us: 300,
            repeated: 0.1,
            repeat_ms: 8.0,
            loss: 0.0,
            queue: 1 << 20,
            seed: 1,
            alike: false,
        }
    }
}

impl RadioConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let slots = self.tdd.as_bytes();
        if !slots.contains(&b'U')
            || !slots.contains(&b'D')
            || slots.iter().any(|slot| !b"DSU".contains(slot))
        {
            return Err(format!(
                "tdd is a pattern of D, S and U, with a D and a U, such as DDDSU: not {:?}",
                self.tdd
            ));
        }
        if self.slot_us == 0 || self.first_grant == 0 || self.queue == 0 {
            return Err("slot_us, first_grant and queue are at least 1".into());
        }
        let shares = [self.repeated, self.loss];
        if shares.iter().any(|share| !(0.0..=0.9).contains(share)) {
            return Err("repeated and loss are shares, 0 to 0.9".into());
        }
        let rates = [self.uplink_mbps, self.downlink_mbps];
        if rates.iter().any(|rate| !(0.01..=100_000.0).contains(rate)) {
            return Err("uplink_mbps and downlink_mbps are 0.01 to 100000".into());
        }
        let times = [self.request_ms, self.grant_ms, self.repeat_ms];
        if times.iter().any(|time| !(0.0..=10_000.0).contains(time)) || self.request_ms == 0.0 {
            return Err("request_ms, grant_ms and repeat_ms are up to 10000, and request_ms is \
                        not 0"
                .into());
        }
        Ok(())
    }
}

/// A slot that was repeated so often goes through (the model has no radio link failure).
const MOST_REPEATS: u32 = 4;

/// One direction of a UE.
pub(super) struct Link {
    config: RadioConfig,
    uplink: bool,
    /// Which slots of the pattern carry this direction.
    carries: Vec<bool>,
    /// Octets of a slot.
    capacity: usize,
    /// The slot that is being filled, what it has left, and when it is decoded.
    slot: u64,
    left: usize,
    decoded: Duration,
    /// When the last packet is there, and the others that are not there yet, with their octets.
    last: Duration,
    waiting: VecDeque<(Duration, usize)>,
    /// When the first opportunity for a request is.
    phase: Duration,
    random: StdRng,
}

fn milliseconds(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1000.0)
}

impl Link {
    /// The n-th UE's.
    pub(super) fn new(config: &RadioConfig, uplink: bool, n: u64) -> Self {
        let carries: Vec<bool> = config.tdd.bytes().map(|slot| (slot == b'U') == uplink).collect();
        let rate = if uplink { config.uplink_mbps } else { config.downlink_mbps } * 1e6 / 8.0;
        let period = f64::from(config.slot_us) * 1e-6 * carries.len() as f64;
        let capacity = rate * period / carries.iter().filter(|it| **it).count().max(1) as f64;
        let n = if config.alike { 0 } else { n };
        let mut random = StdRng::seed_from_u64(config.seed ^ n.rotate_left(32) ^ u64::from(uplink));
        let phase = milliseconds(random.random_range(0.0..config.request_ms));
        Link {
            config: config.clone(),
            uplink,
            carries,
            capacity: (capacity as usize).max(1),
            slot: 0,
            left: 0,
            decoded: Duration::ZERO,
            last: Duration::ZERO,
            waiting: VecDeque::new(),
            phase,
            random,
        }
    }

    /// When slot n begins.
    fn start_of(&self, slot: u64) -> Duration {
        Duration::from_micros(slot * u64::from(self.config.slot_us))
    }

    /// The first slot of this direction that begins at this time or later, and is not before the
    /// one being filled.
    fn begin(&mut self, at: Duration, octets: usize) {
        let first = (at.as_nanos().div_ceil(1000 * u128::from(self.config.slot_us))) as u64;
        if first <= self.slot && self.left > 0 {
            return;
        }
        self.slot = first.max(self.slot + 1);
        while !self.carries[(self.slot % self.carries.len() as u64) as usize] {
            self.slot += 1;
        }
        self.left = octets.min(self.capacity);
        let mut repeats = 0;
        while self.config.repeated > 0.0
            && repeats < MOST_REPEATS
            && self.random.random_bool(self.config.repeated)
        {
            repeats += 1;
        }
        self.decoded = self.start_of(self.slot + 1) + milliseconds(self.config.repeat_ms) * repeats;
    }

    /// The next opportunity to request a grant.
    fn request(&self, now: Duration) -> Duration {
        let period = milliseconds(self.config.request_ms).as_nanos().max(1);
        let since = now.saturating_sub(self.phase).as_nanos();
        self.phase + Duration::from_nanos((since.div_ceil(period) * period) as u64)
    }

    /// A packet is given to it now. When it arrives; none where it does not.
    pub(super) fn offer(&mut self, now: Duration, length: usize) -> Option<Duration> {
        while self.waiting.front().is_some_and(|(at, _)| *at <= now) {
            self.waiting.pop_front();
        }
        if self.waiting.iter().map(|(_, octets)| octets).sum::<usize>() + length > self.config.queue
        {
            return None;
        }
        let grant = milliseconds(self.config.grant_ms);
        let ready = now + Duration::from_micros(self.config.processing_us.into());
        let sending = self.start_of(self.slot + 1) > now;
        // When the slots are that the buffer status asks for, which goes with the small grant.
        let mut asked = None;
        if !self.uplink {
            self.begin(ready, self.capacity);
        } else if sending {
            // What is to come was said with what is being sent.
            self.begin(ready + grant, self.capacity);
        } else {
            let granted = self.request(ready) + grant;
            self.begin(granted, self.config.first_grant as usize);
            asked = Some(self.start_of(self.slot) + grant);
        }
        let small = asked.is_some();
        let (mut rest, mut decoded) = (length, Duration::ZERO);
        loop {
            let taken = rest.min(self.left);
            self.left -= taken;
            rest -= taken;
            decoded = decoded.max(self.decoded);
            if rest == 0 {
                break;
            }
            self.begin(asked.take().unwrap_or_default(), self.capacity);
        }
        if small && asked.is_some() {
            // The rest of a small grant is filled with the buffer status.
            self.left = 0;
        }
        let jitter = self.random.random_range(0..=u64::from(self.config.jitter_us));
        let lost = self.config.loss > 0.0 && self.random.random_bool(self.config.loss);
        let processing = Duration::from_micros(u64::from(self.config.processing_us) + jitter);
        self.last = self.last.max(decoded + processing);
        self.waiting.push_back((self.last, length));
        (!lost).then_some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots of 1 ms, 1,000 octets a slot, and nothing by chance.
    fn plain() -> RadioConfig {
        RadioConfig {
            slot_us: 1000,
            tdd: "DDDU".into(),
            request_ms: 4.0,
            grant_ms: 3.0,
            first_grant: 100,
            uplink_mbps: 2.0,
            downlink_mbps: 6.0,
            processing_us: 0,
            jitter_us: 0,
            repeated: 0.0,
            ..RadioConfig::default()
        }
    }

    fn ms(value: u64) -> Duration {
        Duration::from_millis(value)
    }

    #[test]
    fn downlink_packets_go_in_the_next_slots_that_have_room() {
        let mut link = Link::new(&plain(), false, 1);
        assert_eq!(link.capacity, 1000);
        // Slots 8, 9, 10 are downlink, 11 is not.
        assert_eq!(link.offer(ms(8), 400), Some(ms(9)));
        assert_eq!(link.offer(ms(8), 400), Some(ms(9)));
        assert_eq!(link.offer(ms(8), 400), Some(ms(10)));
        assert_eq!(link.offer(ms(8), 2000), Some(ms(13)));
        // Slot 12 had room for 200 more, and 14 is the next that begins after this.
        assert_eq!(link.offer(Duration::from_micros(13_100), 300), Some(ms(15)));
    }

    #[test]
    fn the_first_uplink_packet_waits_for_a_request_and_its_grant_and_others_do_not() {
        let mut link = Link::new(&plain(), true, 1);
        link.phase = ms(1);
        // Asked at 21, granted from 24 on: slot 27 is uplink.
        assert_eq!(link.offer(ms(20), 100), Some(ms(28)));
        // While that waits to be sent, more is granted: 3 ms later, in the next uplink slots.
        assert_eq!(link.offer(ms(26), 1000), Some(ms(32)));
        assert_eq!(link.offer(ms(26), 1), Some(ms(36)));
        // A long packet: 100 octets of the small grant, then what was asked for with them.
        let mut link = Link::new(&plain(), true, 1);
        link.phase = ms(1);
        assert_eq!(link.offer(ms(20), 1100), Some(ms(32)));
    }

    #[test]
    fn packets_are_late_and_lost_as_often_as_is_said_and_stay_in_order() {
        let config = RadioConfig { repeated: 0.2, loss: 0.05, jitter_us: 500, ..plain() };
        let run = || {
            let mut link = Link::new(&config, false, 7);
            (0..4000).map(|n| link.offer(ms(n * 20), 100)).collect::<Vec<_>>()
        };
        let arrived = run();
        assert_eq!(arrived, run(), "the same for the same seed");
        let lost = arrived.iter().filter(|it| it.is_none()).count();
        assert!((140..260).contains(&lost), "{lost}");
        let late = arrived
            .iter()
            .enumerate()
            .filter(|(n, at)| at.is_some_and(|at| at > ms(*n as u64 * 20 + 8)))
            .count();
        assert!((600..1000).contains(&late), "{late}");
        let times: Vec<_> = arrived.into_iter().flatten().collect();
        assert!(times.is_sorted());
    }

    /// What the radio itself takes of an echo: all packets of a message are sent at once, nothing
    /// is lost, no library and no network is in between; with a grant that costs the UE
    /// nothing, with one that it keeps by a word every 4 ms, and without.
    #[test]
    #[ignore = "shows by how much any channel could be faster"]
    fn what_an_echo_takes_at_least() {
        let config = RadioConfig { alike: true, ..RadioConfig::default() };
        for n in [1, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_535] {
            let ways = [(true, None), (false, Some(ms(4))), (false, None)];
            let [given, kept, without] = ways.map(|(given, word)| {
                let (mut up, mut down) =
                    (Link::new(&config, true, 0), Link::new(&config, false, 0));
                let (mut now, mut times) = (ms(1), Vec::new());
                let packets: Vec<usize> =
                    (0..n + 260).step_by(1340).map(|at| (n + 260 - at).min(1340) + 60).collect();
                let send = |link: &mut Link, at| {
                    packets.iter().filter_map(|length| link.offer(at, *length)).max()
                };
                for _ in 0..5000 {
                    if given {
                        // Something was on its way when this came to be sent.
                        up.slot = up.slot.max((now.as_micros() / 500) as u64);
                    }
                    let there = send(&mut up, now).unwrap();
                    let back = send(&mut down, there).unwrap();
                    // A word has a slot of its own, which may have to be repeated, and what comes
                    // after it waits.
                    let words = word.map(|every| {
                        (1..).map(move |n| now + every * n).take_while(|at| *at < back)
                    });
                    words.into_iter().flatten().for_each(|at| _ = up.offer(at, 70));
                    times.push((back - now).as_secs_f64() * 1e3);
                    now = back;
                }
                times.sort_by(f64::total_cmp);
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                format!("{:.1} (mean {mean:.1})", times[times.len() / 2])
            });
            println!(
                "{n} octets: {given} ms with a grant, {kept} with one that is kept, {without} \
                 without"
            );
        }
    }

    #[test]
    fn ues_differ_unless_they_are_to_be_alike() {
        let run = |n, alike| {
            let mut link =
                Link::new(&RadioConfig { loss: 0.1, alike, ..RadioConfig::default() }, true, n);
            (0..100).map(|n| link.offer(ms(n * 20), 100)).collect::<Vec<_>>()
        };
        assert_ne!(run(1, false), run(2, false));
        assert_eq!(run(1, true), run(2, true));
    }

    #[test]
    fn what_does_not_fit_into_the_queue_is_lost_and_later_there_is_room_again() {
        let mut link = Link::new(&RadioConfig { queue: 5000, ..plain() }, false, 1);
        let taken = (0..20).filter(|_| link.offer(ms(1), 1000).is_some()).count();
        assert_eq!(taken, 5);
        assert!(link.offer(ms(100), 1000).is_some());
    }

    #[test]
    fn what_cannot_be_is_said() {
        assert!(RadioConfig::default().check().is_ok());
        for wrong in [
            RadioConfig { tdd: "DDD".into(), ..plain() },
            RadioConfig { tdd: "DUX".into(), ..plain() },
            RadioConfig { slot_us: 0, ..plain() },
            RadioConfig { loss: 1.0, ..plain() },
            RadioConfig { uplink_mbps: 0.0, ..plain() },
            RadioConfig { request_ms: 0.0, ..plain() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}

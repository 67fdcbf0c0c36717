//! Packets on the air interface: the user plane's thread passes each to the radio model and gets it
//! back when it arrives.
use super::radio::{Link, RadioConfig};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Maximum number of links (sessions and directions).
const MAX_LINKS: usize = 4096;

/// A packet in flight.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    at: Duration,
    /// Orders packets that arrive at the same time.
    number: u64,
    /// The session's port.
    pub(super) port: u64,
    pub(super) uplink: bool,
    pub(super) packet: Vec<u8>,
}

/// The air interface of a gNB.
pub(super) struct AirInterface {
    config: RadioConfig,
    since: Instant,
    links: HashMap<(u64, bool), Link>,
    in_flight: BinaryHeap<Reverse<Arrival>>,
    number: u64,
    timer: TimerFd,
}

impl AirInterface {
    pub(super) fn new(config: &RadioConfig) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(AirInterface {
            config: config.clone(),
            since: Instant::now(),
            links: HashMap::new(),
            in_flight: BinaryHeap::new(),
            number: 0,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?,
        })
    }

    /// Readable when a packet arrives.
    pub(super) fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Sends a packet of a session. Returns false if it is lost.
    pub(super) fn send(&mut self, port: u64, uplink: bool, packet: &[u8]) -> bool {
        let now = self.since.elapsed();
        if self.links.len() >= MAX_LINKS && !self.links.contains_key(&(port, uplink)) {
            // Links of ended sessions are not removed one by one. Packets in flight keep their
            // arrival times.
            self.links.clear();
        }
        let config = &self.config;
        let link =
            self.links.entry((port, uplink)).or_insert_with(|| Link::new(config, uplink, port));
        let Some(at) = link.send(now, packet.len()) else { return false };
        self.number += 1;
        self.in_flight.push(Reverse(Arrival {
            at,
            number: self.number,
            port,
            uplink,
            packet: packet.to_vec(),
        }));
        true
    }

    /// The next packet that has arrived, and how long ago.
    pub(super) fn next_arrival(&mut self) -> Option<(Arrival, Duration)> {
        let now = self.since.elapsed();
        self.in_flight.peek().filter(|Reverse(first)| first.at <= now)?;
        self.in_flight.pop().map(|Reverse(first)| {
            let delay = now - first.at;
            (first, delay)
        })
    }

    /// Sets the timer to the next arrival.
    pub(super) fn arm_timer(&self) {
        let _ = self.timer.wait();
        let Some(Reverse(first)) = self.in_flight.peek() else { return };
        let left = first.at.saturating_sub(self.since.elapsed()).max(Duration::from_nanos(1));
        let expiration = Expiration::OneShot(TimeSpec::from_duration(left));
        if let Err(error) = self.timer.set(expiration, TimerSetTimeFlags::empty()) {
            tracing::error!(%error, "air interface timer not set: packets are delayed");
        }
    }
}

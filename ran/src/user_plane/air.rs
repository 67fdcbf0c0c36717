//! Packets in the air: the user plane's thread gives each to a model of the air interface, and gets
//! it back when it arrives.
use super::radio::{Link, RadioConfig};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// UEs' sessions whose links are kept.
const LINKS: usize = 4096;

/// A packet that arrives.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    at: Duration,
    /// Keeps those of one time in order.
    number: u64,
    /// The session's port.
    pub(super) port: u64,
    pub(super) uplink: bool,
    pub(super) packet: Vec<u8>,
}

/// The air of a gNB.
pub(super) struct Air {
    config: RadioConfig,
    since: Instant,
    links: HashMap<(u64, bool), Link>,
    flying: BinaryHeap<Reverse<Arrival>>,
    number: u64,
    timer: TimerFd,
}

impl Air {
    pub(super) fn new(config: &RadioConfig) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Air {
            config: config.clone(),
            since: Instant::now(),
            links: HashMap::new(),
            flying: BinaryHeap::new(),
            number: 0,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?,
        })
    }

    /// Ready to be read when a packet arrives.
    pub(super) fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// A packet of a session; false where it is lost.
    pub(super) fn send(&mut self, port: u64, uplink: bool, packet: &[u8]) -> bool {
        let now = self.since.elapsed();
        if self.links.len() >= LINKS && !self.links.contains_key(&(port, uplink)) {
            // Sessions come and go; what those that are left had in the air is told apart by its
            // time alone.
            self.links.clear();
        }
        let config = &self.config;
        let link =
            self.links.entry((port, uplink)).or_insert_with(|| Link::new(config, uplink, port));
        let Some(at) = link.offer(now, packet.len()) else { return false };
        self.number += 1;
        self.flying.push(Reverse(Arrival {
            at,
            number: self.number,
            port,
            uplink,
            packet: packet.to_vec(),
        }));
        true
    }

    /// The next packet that has arrived, and how long ago it should have been given on.
    pub(super) fn arrived(&mut self) -> Option<(Arrival, Duration)> {
        let now = self.since.elapsed();
        self.flying.peek().filter(|Reverse(first)| first.at <= now)?;
        self.flying.pop().map(|Reverse(first)| {
            let behind = now - first.at;
            (first, behind)
        })
    }

    /// Let the timer say when the next packet arrives.
    pub(super) fn wake(&self) {
        let _ = self.timer.wait();
        let Some(Reverse(first)) = self.flying.peek() else { return };
        let left = first.at.saturating_sub(self.since.elapsed()).max(Duration::from_nanos(1));
        let expiration = Expiration::OneShot(TimeSpec::from_duration(left));
        if let Err(error) = self.timer.set(expiration, TimerSetTimeFlags::empty()) {
            tracing::error!(%error, "packets stay in the air");
        }
    }
}

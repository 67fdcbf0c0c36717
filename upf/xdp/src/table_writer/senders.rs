//! The gNBs of a session in its rules, and packets of others: see `bpf/perimeter.h`.
use super::socket::wrap;
use super::state::State;
use super::{Forwarder, lock};
use crate::loader::Program;
use crate::loader::types::{rule, rule_cold, rule_flag};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::early::EarlyPacket;
use martlet_upf_datapath::perimeter::{Sender, Sources};
use martlet_upf_datapath::senders::Senders;
use nix::time::{ClockId, clock_gettime};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// As `bpf/structs.h` has it.
const GNB_SHIFT: u32 = 24;
/// Longer than any handover, and less than half of what 32 bits can express.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// A time by the clock of the programs.
fn programs_time(at: Instant) -> u32 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    let then = now + at.saturating_duration_since(Instant::now());
    (then.as_nanos() >> GNB_SHIFT) as u32
}

impl Forwarder {
    /// Makes a rule accept packets of a session's gNBs. `of_access`: it is for their tunnels.
    pub(super) fn set_senders(
        &self,
        senders: &Senders,
        of_access: bool,
        rule: &mut rule,
        rest: &mut rule_cold,
    ) {
        let sources = self.perimeter.source_check();
        if !senders.are_known() || sources == Sources::Any {
            return;
        }
        rule.flags |= rule_flag::RULE_HAS_TUNNEL.0;
        let mut accepted = senders.accepted();
        let (Some((gnb, _)), true) = (accepted.next(), of_access && sources == Sources::Session)
        else {
            return;
        };
        let other = accepted.next();
        // Three gNBs at once are not expected: any peer is accepted then.
        let has_more = accepted.any(|(_, until)| until.is_none());
        let Some(number) = self.perimeter.number(gnb).filter(|_| !has_more) else { return };
        rest.gnb = number;
        if let Some((other, until)) = other {
            let number = self.perimeter.number(other);
            // Without a number, one of two current gNBs would be refused.
            let Some(number) = number else {
                if until.is_none() {
                    rest.gnb = 0;
                }
                return;
            };
            rest.other_gnb = number;
            rest.other_until = programs_time(until.unwrap_or_else(|| Instant::now() + LONG));
        }
        let IpAddr::V4(gnb) = gnb else { return };
        if rule.flags & rule_flag::RULE_TUNNEL.0 == 0 && self.nat.addresses == 0 {
            rule.flags |= rule_flag::RULE_GNB4.0;
            rule.peer4 = u32::from_ne_bytes(gnb.octets());
        }
    }

    /// The relation of a sender to the session of a tunnel; `None` if no session has the tunnel.
    pub(super) fn sender(
        &self,
        state: &State,
        teid: u32,
        from: IpAddr,
        now: Instant,
    ) -> Option<(u64, Sender)> {
        let seid = *state.by_teid.get(&teid)?;
        let entry = state.sessions.get(&seid)?;
        let of_access = !entry.of_others.contains(&teid);
        Some((seid, self.perimeter.sender(from, &entry.senders, of_access, now)))
    }

    /// Buffers a datagram that has to wait for a path switch to its sender. Returns false if it may
    /// be processed.
    pub(super) fn keep_early(&self, packet: EarlyPacket, teid: u32, now: Instant) -> bool {
        let is_peer = self.perimeter.is_peer(packet.from.ip());
        // Under the lock, so that no path switch is missed.
        let state = self.lock();
        let is_held = match self.sender(&state, teid, packet.from.ip(), now) {
            None | Some((_, Sender::Accepted)) => return false,
            Some((_, Sender::Foreign)) => false,
            Some((_, Sender::Early)) => lock(&self.early).push(packet, is_peer),
        };
        if !is_held {
            self.counters.dropped(DropReason::N3Source);
        }
        true
    }

    /// Drops the datagrams whose path switch did not occur in time.
    pub(super) fn expire_early(&self, now: Instant) {
        for _ in lock(&self.early).expire(now) {
            self.counters.dropped(DropReason::N3Source);
        }
    }

    /// Processes the datagrams of a session that waited for a path switch to their sender.
    pub(super) fn release_early(&self, seid: u64, now: Instant) {
        let mut early = lock(&self.early);
        if early.is_empty() {
            return;
        }
        let waiting = early.take(seid);
        drop(early);
        let (mut frame, mut out) = (Vec::new(), Vec::new());
        for packet in waiting {
            let Some(teid) = super::socket::teid_of(&packet.datagram) else { continue };
            wrap(&mut frame, &packet.datagram, packet.from, packet.local);
            if !self.keep_early(packet, teid, now) {
                self.run(Program::Socket, &frame, &mut out);
            }
        }
    }
}

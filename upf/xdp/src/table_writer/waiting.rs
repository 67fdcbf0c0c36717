//! Buffered packets, kept in order and sent by running the programs on them once the rules forward.
//!
//! A packet is pending from when a program passes it to user space until it is sent or dropped.
//! While a session has pending packets, a rule created after a buffering period (`RULE_HELD`) sends
//! packets through this queue, so that none overtakes another. Programs number the packets of a
//! session: those from the sockets and from the ring buffer are merged here in that order.
use super::Forwarder;
use super::link::LARGEST;
use super::ring::UserEvent;
use super::socket::wrap;
use super::state::{Entry, State, Waiting};
use crate::loader::types::{rule, rule_flag, session};
use crate::loader::{LINK_MAC, Program, Verdict};
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_upf_datapath::Event;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::fair_share::surplus;
use martlet_upf_kernel::handed_over::BufferedPacket;
use martlet_upf_rules::dns::answer_in;
use std::collections::VecDeque;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The longest frame that programs run on in user space: one of the link to the kernel, which fits
/// a page with the kernel's own data.
const LARGEST_FRAME: usize = LARGEST as usize + 14;
/// Maximum number of drains of the ring per rule change.
const MAX_DRAINS: usize = 64;

/// Whether a packet precedes another one of its session; numbers wrap at 2^32.
fn is_before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

impl Entry {
    /// Whether packets before the last of these are missing; those here have consecutive numbers.
    fn misses_some(&self, waiting: &VecDeque<Waiting>) -> bool {
        let fresh = waiting.iter().filter(|packet| !is_before(packet.number, self.next));
        !fresh.zip(0..).all(|(packet, n)| packet.number == self.next.wrapping_add(n))
    }

    /// Marks these packets, whose numbers are consecutive, as checked.
    fn passed(&mut self, waiting: &VecDeque<Waiting>) {
        if let Some(last) = waiting.back().filter(|last| !is_before(last.number, self.next)) {
            self.next = last.number.wrapping_add(1);
        }
    }
}

impl Forwarder {
    /// Processes the programs' events, and notes the sessions whose packets may be sent: see
    /// [`release_noted`](Self::release_noted).
    pub fn take_events(&self, state: &mut State) {
        let events = super::lock(&self.ring).take(&self.programs);
        for event in events {
            match event {
                UserEvent::Packet { session, pdr, notify, tunnelled, qfi, number, packet } => {
                    let teid = state.buffered_tunnel(session, pdr).filter(|_| tunnelled);
                    let tunnel = teid.map(|teid| (teid, qfi));
                    let waiting = Waiting { number, packet, tunnel };
                    if let Some(seid) = self.keep(state, session, (pdr, notify), waiting)
                        && !state.to_release.contains(&seid)
                    {
                        state.to_release.push(seid);
                    }
                }
                UserEvent::Start { session, pdr } => {
                    let seid = state.by_slot.get(session);
                    let entry = seid.and_then(|seid| state.sessions.get_mut(&seid));
                    let Some(entry) = entry else { continue };
                    for urr in entry.started(pdr) {
                        let event = Event::TrafficStarted { seid: entry.seid, urr };
                        if !self.report(event) {
                            let mut awaiting = entry.awaiting.take();
                            awaiting.push(urr);
                            entry.awaiting.set(awaiting);
                        }
                    }
                }
                UserEvent::Send { peer, class, datagram } => {
                    // The kernel resolves the neighbour, and fragments packets above the MTU.
                    if let Err(error) = self.gtpu.send_marked(&datagram, peer.into(), class) {
                        self.counters.lost_packets.add(1);
                        self.counters.dropped(DropReason::N3);
                        tracing::debug!(%peer, %error, "a packet of a tunnel was not sent");
                    }
                }
                UserEvent::Datagram { packet } => {
                    // The programs released it: it is processed again.
                    self.counters.received_packets.add(1);
                    match self.non_ip.get() {
                        Some(non_ip) => non_ip.take_packet(&packet),
                        None => self.counters.dropped(DropReason::UnknownUe),
                    }
                }
                UserEvent::Answer { packet } => {
                    if let Some((server, answer)) = answer_in(&packet) {
                        self.report(Event::Answer { server, answer: Box::new(answer) });
                    }
                }
                UserEvent::Limit { session, limit } => {
                    if let Some(seid) = state.by_slot.get(session) {
                        self.limit_reached(state, seid, limit);
                    }
                }
                UserEvent::Mark { session } => {
                    if let Some(seid) = state.by_slot.get(session) {
                        let entry = state.sessions.get_mut(&seid);
                        let reached =
                            entry.map(|entry| entry.check(&self.programs, || self.grace_period()));
                        for limit in reached.into_iter().flatten() {
                            self.limit_reached(state, seid, limit);
                        }
                    }
                }
            }
        }
    }

    /// Sends the packets of the noted sessions that may be sent. Call it before the state is
    /// unlocked, after [`take_events`](Self::take_events).
    pub fn release_noted(&self, state: &mut State) {
        // To send packets takes events, too: what is noted without end is left to the next call.
        for _ in 0..MAX_DRAINS {
            let Some(seid) = state.to_release.pop() else { return };
            self.release(state, seid);
        }
    }

    /// Buffers a packet; returns its session if it may be sent. A program that saw packets waiting
    /// may hand one over after the last of them was sent, and the rules no longer hold any.
    pub(super) fn keep(
        &self,
        state: &mut State,
        slot: u32,
        (pdr, notify): (u16, bool),
        waiting: Waiting,
    ) -> Option<u64> {
        let seid = state.by_slot.get(slot);
        let full = seid.is_some_and(|seid| !self.has_room(state, seid));
        let Some(entry) = seid.and_then(|seid| state.sessions.get_mut(&seid)) else {
            self.counters.dropped(DropReason::BufferDropped);
            return None;
        };
        if notify && !entry.notified {
            let packet = &waiting.packet;
            let dscp = match packet.first().map(|first| first >> 4) {
                Some(4) => packet.get(1).map_or(0, |tos| tos >> 2),
                _ => packet.get(..2).map_or(0, |head| (head[0] << 4 | head[1] >> 4) >> 2),
            };
            let event = Event::DownlinkData {
                seid: entry.seid,
                pdr,
                qfi: entry.marks.get(&pdr).copied(),
                dscp,
            };
            entry.notified = self.report(event);
        }
        if full {
            self.pending_less(entry, 1);
            self.counters.dropped(DropReason::BufferFull);
            return None;
        }
        state.waiting += 1;
        entry.waiting_bytes += waiting.packet.len();
        // It may have arrived over another path than those before it.
        let before =
            entry.waiting.iter().rposition(|other| is_before(other.number, waiting.number));
        entry.waiting.insert(before.map_or(0, |at| at + 1), waiting);
        (entry.held || !entry.buffers).then_some(entry.seid)
    }

    /// Whether a session may buffer another packet.
    fn has_room(&self, state: &mut State, seid: u64) -> bool {
        let now = Instant::now();
        let packets = state.sessions.get(&seid).map_or(0, |entry| entry.waiting.len());
        if packets >= self.share.limit(now) {
            return false;
        }
        if state.waiting >= self.limits.buffer_packets && self.share.is_due(now) {
            self.share_out(state, (seid, packets), now);
        }
        state.waiting < self.limits.buffer_packets
    }

    /// Takes packets from sessions that have more than their share of the full buffer, if this
    /// session, with so many packets, has less.
    fn share_out(&self, state: &mut State, (seid, packets): (u64, usize), now: Instant) {
        let others = |entry: &&mut Box<Entry>| entry.seid != seid && !entry.waiting.is_empty();
        let sessions = state.sessions.values_mut().filter(others).count() + 1;
        let max = self.limits.buffer_packets;
        let Some(share) = self.share.set(max, sessions, packets, now) else { return };
        let mut dropped = 0;
        for entry in state.sessions.values_mut().filter(others) {
            let surplus = surplus(entry.waiting.len(), share);
            if surplus == 0 {
                continue;
            }
            self.drop_oldest(entry, surplus);
            dropped += surplus;
        }
        if dropped > 0 {
            self.share.found_surplus();
        }
        state.waiting -= dropped;
        self.counters.drops(DropReason::BufferFull).add(dropped as u64);
    }

    /// Removes the oldest packets of a session, which has as many.
    fn drop_oldest(&self, entry: &mut Entry, packets: usize) {
        let mut oldest = entry.waiting.take();
        let rest = oldest.split_off(packets);
        entry.waiting_bytes = rest.iter().map(|waiting| waiting.packet.len()).sum();
        entry.waiting.set(rest);
        entry.passed(&oldest);
        self.pending_less(entry, packets as u32);
    }

    /// Has the next packet of a session notify again. A full buffer gets room for it: the programs
    /// drop what exceeds the limit, and no event tells of it.
    pub(super) fn notify_again(&self, state: &mut State, entry: &mut Entry, limit: usize) {
        entry.notified = false;
        let waiting = entry.waiting.len();
        let surplus = (waiting + 1).saturating_sub(limit).min(waiting);
        if surplus > 0 {
            self.drop_oldest(entry, surplus);
            state.waiting -= surplus;
            self.counters.drops(DropReason::BufferFull).add(surplus as u64);
        }
    }

    fn pending_less(&self, entry: &Entry, packets: u32) {
        self.programs
            .sessions
            .u32(entry.slot, offset_of!(session, pending))
            .fetch_sub(packets, Ordering::AcqRel);
    }

    fn pending(&self, entry: &Entry) -> u32 {
        self.programs.sessions.u32(entry.slot, offset_of!(session, pending)).load(Ordering::Acquire)
    }

    /// Drops the buffered packets of a session.
    pub fn drop_waiting(&self, state: &mut State, seid: u64) {
        let dropped = self.take_waiting(state, seid).len();
        self.counters.drops(DropReason::BufferDropped).add(dropped as u64);
    }

    /// Takes the buffered packets of a session, in order.
    pub fn take_waiting(&self, state: &mut State, seid: u64) -> Vec<BufferedPacket> {
        let Some(entry) = state.sessions.get_mut(&seid) else { return Vec::new() };
        let waiting = entry.waiting.take();
        entry.passed(&waiting);
        (entry.waiting_bytes, entry.solicited) = (0, None);
        entry.notified = false;
        self.pending_less(entry, waiting.len() as u32);
        state.waiting -= waiting.len();
        let packet = |Waiting { packet, tunnel, .. }| BufferedPacket { packet, tunnel };
        waiting.into_iter().map(packet).collect()
    }

    /// Runs the rules on the buffered packets of a session: sends those that may be sent; the
    /// others remain. Once none is left, packets no longer pass through the queue.
    pub fn release(&self, state: &mut State, seid: u64) {
        let mut frame = Vec::new();
        let mut out = Vec::new();
        for _ in 0..MAX_DRAINS {
            self.take_events(state);
            let Some(entry) = state.sessions.get_mut(&seid) else { return };
            let mut waiting = entry.waiting.take();
            if waiting.is_empty() {
                if self.pending(entry) > 0 {
                    // A program is about to pass it to user space.
                    std::thread::yield_now();
                    continue;
                }
                entry.notified = false;
                break;
            }
            if let Some(last) =
                waiting.back().map(|last| last.number).filter(|_| entry.misses_some(&waiting))
            {
                // The missing packet is in flight on a slower path, or lost; after a grace period
                // it is here, or lost.
                entry.waiting.set(waiting);
                self.grace_period();
                self.take_events(state);
                let Some(entry) = state.sessions.get_mut(&seid) else { return };
                waiting = entry.waiting.take();
                let later = waiting.partition_point(|packet| !is_before(last, packet.number));
                let later = waiting.split_off(later);
                entry.waiting_bytes = later.iter().map(|later| later.packet.len()).sum();
                entry.waiting.set(later);
            } else {
                entry.waiting_bytes = 0;
            }
            let Some(entry) = state.sessions.get_mut(&seid) else { return };
            entry.passed(&waiting);
            let (before, mut left) = (waiting.len(), 0);
            let mut remaining = VecDeque::new();
            for packet in waiting {
                if self.send(&packet, &mut frame, &mut out) {
                    left += 1;
                } else {
                    entry.waiting_bytes += packet.packet.len();
                    remaining.push_back(packet);
                }
            }
            remaining.extend(entry.waiting.take());
            entry.waiting.set(remaining);
            self.pending_less(entry, left);
            state.waiting -= left as usize;
            if left == 0 && before == entry.waiting.len() {
                break;
            }
        }
        self.give_up_lost(state, seid);
        state.to_release.retain(|noted| *noted != seid);
        let Some(entry) = state.sessions.get_mut(&seid) else { return };
        if !entry.buffers && self.pending(entry) == 0 {
            entry.held = false;
            for placed in &entry.rules {
                let flags = self.programs.rules.u32(placed.index, offset_of!(rule, flags));
                flags.fetch_and(!rule_flag::RULE_HELD.0, Ordering::Relaxed);
            }
        }
    }

    /// Counts packets that a program handed over and that never arrived as dropped: others would
    /// wait for them indefinitely.
    fn give_up_lost(&self, state: &mut State, seid: u64) {
        let expected =
            |entry: &Entry| self.pending(entry).saturating_sub(entry.waiting.len() as u32);
        let Some(entry) = state.sessions.get(&seid) else { return };
        let missing = expected(entry);
        if missing == 0 || !entry.waiting.is_empty() {
            return;
        }
        self.grace_period();
        self.take_events(state);
        let Some(entry) = state.sessions.get(&seid) else { return };
        // Packets handed over since then compensate for some of the lost: the next call finds them.
        let lost = missing.saturating_sub(entry.waiting.len() as u32);
        if lost > 0 {
            self.pending_less(entry, lost);
            self.counters.drops(DropReason::BufferFull).add(lost.into());
            tracing::error!(lost, "buffered packets lost between programs and user space");
        }
    }

    /// Runs the programs on a buffered packet, and sends the result. False: it must remain
    /// buffered.
    fn send(&self, waiting: &Waiting, frame: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
        let packet = waiting.packet.as_slice();
        if let Some((teid, qfi)) = waiting.tunnel {
            let header = g_pdu_header(teid, qfi.map(PduSessionContainer::uplink), packet.len());
            let (Some(header), Some((local, _))) = (header, self.gtpu.each().next()) else {
                self.counters.dropped(DropReason::TooLong);
                return true;
            };
            // The programs check no sender of a buffered packet.
            let from = SocketAddr::new(local, martlet_gtpu::PORT);
            wrap(frame, &[header.as_slice(), packet].concat(), from, local);
            return self.run(Program::Release, frame, out);
        }
        frame.clear();
        frame.extend(LINK_MAC);
        frame.extend(LINK_MAC);
        frame.extend(if packet.first().is_some_and(|first| first >> 4 == 6) {
            [0x86, 0xdd]
        } else {
            [8, 0]
        });
        frame.extend(packet);
        self.run(Program::Release, frame, out)
    }

    /// Runs a program on a frame, and sends the result. False: it must remain buffered.
    pub fn run(&self, program: Program, frame: &[u8], out: &mut Vec<u8>) -> bool {
        // The kernel keeps the rest of longer frames where programs cannot read it.
        if frame.len() > LARGEST_FRAME {
            self.counters.dropped(DropReason::TooLong);
            return true;
        }
        match self.programs.run(program, self.inner, frame, out) {
            Ok(Verdict::Keep) => return false,
            Ok(Verdict::Redirect(ifindex)) => {
                if let Err(error) = self.frames.send(ifindex, out) {
                    self.counters.lost_packets.add(1);
                    self.counters.dropped(DropReason::N3);
                    tracing::debug!(ifindex, %error, "a frame was not sent");
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.counters.dropped(DropReason::N3);
                tracing::debug!(%error, bytes = frame.len(), "XDP programs not run on a packet");
            }
        }
        true
    }
}

//! Packet pipeline: classify, enforce, count, forward or buffer (TS 29.244, 5.2.1).
use super::egress::Egress;
use super::entry::{Entry, State, Target, Waiting};
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lock::lock;
use super::network_instances::network_instance_of;
use super::{redirect, router, unstructured};
use martlet_gtpu::PduSessionContainer;
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::perimeter::Sender;
use martlet_upf_datapath::tally::direction_index;
use martlet_upf_datapath::{Event, Reached};
use martlet_upf_rules::dns::answer_in;
use martlet_upf_rules::{Direction, Duplicate, Flow, Redirect, SessionKind};
use nix::errno::Errno;
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Instant, SystemTime};

/// What a packet was detected as.
#[derive(Clone, Copy)]
struct Detected {
    /// The rule of its PDR.
    rule: usize,
    /// The QFI of its PDU session container, if it is a G-PDU that has one.
    qfi: Option<u8>,
    /// A Router Advertisement of the UPF: signalling, not usage.
    is_signalling: bool,
}

impl Detected {
    /// A packet of a UE or of the data network.
    fn of_rule(rule: usize, qfi: Option<u8>) -> Self {
        Detected { rule, qfi, is_signalling: false }
    }
}

/// The rest of a packet's processing, after the session's lock is released.
enum Next {
    /// None: the packet was sent, buffered or dropped.
    Done,
    /// It is sent to the data network by a network instance, or to another UE.
    Network(usize),
    /// It is sent to the data network in a datagram.
    Datagram(SocketAddrV6, SocketAddrV6),
}

/// The destination of a packet of a UE.
enum ToOtherUe {
    /// It is not for another UE, or it leaves over N6 in any case.
    Leaves,
    /// To another UE, here.
    Switched(Arc<Entry>),
    /// Nowhere: its network denies packets between UEs.
    Denied,
}

impl<O: Egress> Forwarder<O> {
    /// A packet that a sender sent in a tunnel of a session; `qfi` is that of its PDU session
    /// container. False if its sender may be the gNB of a path switch in progress: nothing was
    /// done.
    pub(super) fn take_tunnelled(
        &self,
        entry: &Entry,
        (from, teid, qfi): (IpAddr, u32, Option<u8>),
        frame: Frame<'_>,
        now: Instant,
    ) -> bool {
        // Before the session is locked: the other datapath has a lock of its own while it sends
        // packets here.
        let elsewhere = self.ue_elsewhere(frame.packet());
        let mut state = lock(&entry.state);
        if state.removed {
            self.counters.dropped(DropReason::UnknownTunnel);
            return true;
        }
        match state.sender(&self.perimeter, from, teid, now) {
            Sender::Early => return false,
            Sender::Foreign => {
                state.dropped(DropReason::N3Source);
                self.counters.dropped(DropReason::N3Source);
            }
            Sender::Accepted => {
                self.take_accepted(entry, state, (Some(from), teid, qfi), elsewhere, frame, now)
            }
        }
        true
    }

    /// What happens to a packet to a UE that another datapath serves.
    fn ue_elsewhere(&self, packet: &[u8]) -> Option<UeToUe> {
        let of_ue = self.elsewhere.as_ref().filter(|_| self.ue_to_ue.any())?;
        of_ue(Flow::of(packet)?.destination)
    }

    /// The same from a sender whose packets the session accepts; `None`: it was buffered.
    fn take_accepted(
        &self,
        entry: &Entry,
        mut state: MutexGuard<'_, State>,
        (from, teid, qfi): (Option<IpAddr>, u32, Option<u8>),
        elsewhere: Option<UeToUe>,
        mut frame: Frame<'_>,
        now: Instant,
    ) {
        let Some(mut flow) = state.flow(frame.packet(), Direction::Uplink) else {
            return self.counters.dropped(DropReason::Malformed);
        };
        self.keep_together(&mut flow);
        frame.trim(flow.length);
        let kind = state.kind;
        if kind == SessionKind::Ip && router::is_solicitation(frame.packet(), &flow) {
            return self.advertise(entry, &mut state, flow.source, now);
        }
        // The packets of a gNB in a handover, and those of other UPFs, are not the UE's.
        if state.detected.is_some() && !state.of_others.contains(&teid) {
            state.note_request(frame.packet(), &flow);
        }
        let rule = state.rule_for_tunnel(teid, &flow, qfi);
        // The session's UE address is checked even if the PDR does not contain it.
        let is_uplink = |rule: usize| {
            state.rules.get(rule).is_some_and(|r| r.pdr.direction() == Direction::Uplink)
        };
        let foreign = match (&flow.ethernet, &state.lan) {
            (Some(header), Some(lan)) => !lan.learn(header.source, entry.seid, now),
            _ => state.is_foreign(&flow),
        };
        if rule.is_none_or(is_uplink) && foreign {
            state.dropped(DropReason::ForeignSource);
            return self.counters.dropped(DropReason::ForeignSource);
        }
        let Some(rule) = rule else {
            let unmarked = qfi.is_none() && self.require_qfi;
            let reason = if unmarked { DropReason::NoQfi } else { DropReason::NoRule };
            state.dropped(reason);
            return self.counters.dropped(reason);
        };
        if let Some(from) = from
            && qfi.is_none()
            && state.rules.get(rule).is_some_and(|rule| rule.unmarked_qfi.is_some())
        {
            self.counters.unmarked_packets.add(1);
            self.counters.unmarked_peers.add(from, 1);
        }
        if is_uplink(rule) && self.is_tunnel(&flow) {
            state.dropped(DropReason::Malformed);
            return self.counters.dropped(DropReason::Malformed);
        }
        self.note_fragment(entry.seid, &flow);
        // Frames are sent to other UEs, or to N6, by the network of their session.
        if flow.ethernet.is_none() && state.leaves(rule) {
            let denied = elsewhere.is_some_and(|of_ue| of_ue.max(entry.ue_to_ue) == UeToUe::Deny);
            let reason = match self.to_other_ue(entry.ue_to_ue, &flow) {
                ToOtherUe::Denied => Some(DropReason::UeToUe),
                _ if denied => Some(DropReason::UeToUe),
                _ if !self.perimeter.permits(&flow, frame.packet()) => {
                    Some(DropReason::N6Isolation)
                }
                _ => None,
            };
            if let Some(reason) = reason {
                state.dropped(reason);
                return self.counters.dropped(reason);
            }
        }
        let redirect = state.rules.get(rule).and_then(|rule| rule.redirect.clone());
        match redirect.filter(|_| is_uplink(rule)).as_deref() {
            None => {}
            Some(Redirect::Url(url)) => {
                return self.answer(entry, &mut state, rule, url, (&flow, &frame), now);
            }
            Some(to) => {
                let done = to.server(flow.destination).is_some_and(|server| {
                    let flows = state.redirected.get_or_insert_default();
                    flows.out(server, &mut flow, &mut frame)
                });
                if !done || !self.may_leave(&flow, frame.packet()) {
                    state.dropped(DropReason::Action);
                    return self.counters.dropped(DropReason::Action);
                }
            }
        }
        let detected = Detected::of_rule(rule, qfi);
        let next = self.carry_out(entry, &mut state, detected, &flow, &mut frame, now);
        let lan = state.lan.clone();
        drop(state);
        match (next, lan) {
            (Next::Network(_), Some(lan)) => {
                self.to_lan(&lan, Some(entry.seid), &frame, &flow, now)
            }
            (Next::Network(instance), None) => self.to_network(entry, frame, &flow, instance, now),
            (Next::Datagram(from, to), _) => self.datagram(from, to, frame.packet()),
            (Next::Done, _) => {}
        }
    }

    /// What happens to a packet of a UE if its destination is another UE.
    fn to_other_ue(&self, of_sender: UeToUe, flow: &Flow) -> ToOtherUe {
        let allowed = of_sender == UeToUe::Allow && !self.ue_to_ue.any();
        if allowed && !self.limits.local_switching {
            return ToOtherUe::Leaves;
        }
        let Some(other) = self.by_ue(flow.destination) else { return ToOtherUe::Leaves };
        match of_sender.max(other.ue_to_ue) {
            UeToUe::Deny => ToOtherUe::Denied,
            UeToUe::Allow if self.limits.local_switching => ToOtherUe::Switched(other),
            UeToUe::Allow | UeToUe::Hairpin => ToOtherUe::Leaves,
        }
    }

    /// Gives a later fragment the ports of the first one.
    fn keep_together(&self, flow: &mut Flow) {
        if let Some(fragment) = flow.fragment {
            lock(&self.fragments).join(flow, fragment);
        }
    }

    /// Notes the ports of a first fragment that matches a rule.
    fn note_fragment(&self, seid: u64, flow: &Flow) {
        if let Some(fragment) = flow.fragment
            && lock(&self.fragments).note(seid, flow, fragment)
        {
            self.counters.replaced_fragments.add(1);
        }
    }

    /// Answers a packet of a UE whose traffic is redirected, in place of its receiver. Packets
    /// without an answer are dropped.
    fn answer(
        &self,
        entry: &Entry,
        state: &mut State,
        rule: usize,
        url: &str,
        (flow, frame): (&Flow, &Frame<'_>),
        now: Instant,
    ) {
        let drop = |state: &mut State, reason| {
            state.dropped(reason);
            self.counters.dropped(reason);
        };
        if let Err(reason) = enforce(state, rule, Direction::Uplink, flow.length, now) {
            return drop(state, reason);
        }
        let answer = redirect::answer(frame.packet(), flow, url);
        let Some(packet) = answer else { return drop(state, DropReason::Action) };
        self.count(entry, state, rule, Direction::Uplink, flow.length, now);
        let mut buffer = vec![0; HEADROOM];
        buffer.extend(packet);
        let mut frame = Frame::new(&mut buffer, HEADROOM);
        let Some(flow) = Flow::of(frame.packet()) else { return };
        self.counters.originated_packets.add(1);
        match state.rule_for_network(&flow) {
            Some(rule) => {
                let detected = Detected::of_rule(rule, None);
                self.carry_out(entry, state, detected, &flow, &mut frame, now);
            }
            None => drop(state, DropReason::NoRule),
        }
    }

    /// Sends copies of a packet.
    fn duplicate(
        &self,
        copies: &[Duplicate],
        mark: Option<(u8, bool)>,
        qfi: Option<u8>,
        frame: &Frame<'_>,
    ) {
        for copy in copies {
            let packet = frame.packet();
            let mut buffer = vec![0; HEADROOM + packet.len()];
            if let Some(payload) = buffer.get_mut(HEADROOM..) {
                payload.copy_from_slice(packet);
            }
            let qfi = mark.map(|(qfi, _)| qfi).or(qfi);
            let container = if copy.to_access {
                qfi.map(PduSessionContainer::downlink)
            } else {
                qfi.map(PduSessionContainer::uplink)
            };
            let mut frame = Frame::new(&mut buffer, HEADROOM);
            let sent = frame.encapsulated(copy.tunnel, container).map(|bytes| {
                self.egress.to_peer_marked(bytes, copy.tunnel.peer, copy.marking.unwrap_or(0))
            });
            if !matches!(sent, Some(Ok(()))) {
                self.counters.lost_packets.add(1);
                self.counters.dropped(DropReason::N3);
            }
        }
    }

    /// Whether the perimeter lets a packet of a UE leave. A frame may be sent to other UEs in any
    /// case.
    fn may_leave(&self, flow: &Flow, packet: &[u8]) -> bool {
        flow.ethernet.is_some() || self.perimeter.permits(flow, packet)
    }

    /// Sends a Router Advertisement in the default flow of the session (TS 23.501, 5.8.2.2.3).
    fn advertise(&self, entry: &Entry, state: &mut State, asked: IpAddr, now: Instant) {
        let drop = |reason| self.counters.dropped(reason);
        let Some(prefix) = state.prefix() else { return drop(DropReason::ForeignSource) };
        let Some(rule) = state.downlink_default() else { return drop(DropReason::NoRule) };
        let mut buffer = router::advertisement(HEADROOM, asked, prefix);
        let mut frame = Frame::new(&mut buffer, HEADROOM);
        let Some(flow) = Flow::of(frame.packet()) else { return drop(DropReason::Malformed) };
        let detected = Detected { rule, qfi: None, is_signalling: true };
        self.carry_out(entry, state, detected, &flow, &mut frame, now);
    }

    /// See [`Datapath::advertise`](martlet_upf_datapath::Datapath::advertise).
    pub(super) fn advertise_unsolicited(&self, seid: u64) {
        let Some(entry) = self.by_seid(seid) else { return };
        let mut state = lock(&entry.state);
        if state.kind == SessionKind::Ip && !state.removed {
            self.counters.originated_packets.add(1);
            self.advertise(&entry, &mut state, Ipv6Addr::UNSPECIFIED.into(), Instant::now());
        }
    }

    /// A packet from the data network.
    pub(super) fn take_from_network(&self, mut frame: Frame<'_>, now: Instant) {
        let Some(mut flow) = Flow::of(frame.packet()) else {
            return self.counters.dropped(DropReason::Malformed);
        };
        frame.trim(flow.length);
        let Some(entry) = self.by_ue(flow.destination) else {
            return self.counters.dropped(DropReason::UnknownUe);
        };
        self.keep_together(&mut flow);
        self.to_ue(&entry, &mut frame, &flow, now);
    }

    pub(super) fn to_ue(&self, entry: &Entry, frame: &mut Frame<'_>, flow: &Flow, now: Instant) {
        let mut state = lock(&entry.state);
        if state.removed {
            return self.counters.dropped(DropReason::UnknownUe);
        }
        let inner;
        let flow = match state.kind {
            SessionKind::Unstructured => match unstructured::open(&state, frame) {
                Some(found) => {
                    inner = found;
                    &inner
                }
                None => {
                    state.dropped(DropReason::ForeignSource);
                    return self.counters.dropped(DropReason::ForeignSource);
                }
            },
            _ => flow,
        };
        let original;
        let flow = match &state.redirected {
            Some(flows) => {
                let mut changed = *flow;
                flows.back(&mut changed, frame);
                original = changed;
                &original
            }
            None => flow,
        };
        let Some(rule) = state.rule_for_network(flow) else {
            state.dropped(DropReason::NoRule);
            return self.counters.dropped(DropReason::NoRule);
        };
        self.note_fragment(entry.seid, flow);
        let detected = Detected::of_rule(rule, None);
        let next = self.carry_out(entry, &mut state, detected, flow, frame, now);
        drop(state);
        if let Next::Network(instance) = next {
            self.leave(frame, instance);
        }
    }

    /// Processes a buffered packet again. Returns one of the UE itself that is no longer buffered,
    /// for [`uplink_again`](Self::uplink_again).
    pub(super) fn downlink_again(
        &self,
        entry: &Entry,
        state: &mut State,
        waiting: Waiting,
        now: Instant,
    ) -> Option<Waiting> {
        let Waiting { mut bytes, tunnel } = waiting;
        let mut frame = Frame::new(&mut bytes, HEADROOM);
        // As in `take_accepted`.
        let read_as = if tunnel.is_some() { Direction::Uplink } else { Direction::Downlink };
        let Some(mut flow) = state.flow(frame.packet(), read_as) else {
            self.counters.dropped(DropReason::Malformed);
            return None;
        };
        self.keep_together(&mut flow);
        let is_signalling = tunnel.is_none() && router::is_advertisement(&flow);
        let (rule, qfi) = match tunnel {
            // Its destination is no address that a PDR has.
            None if is_signalling => (state.downlink_default(), None),
            None => (state.rule_for_network(&flow), None),
            Some((teid, qfi)) => (state.rule_for_tunnel(teid, &flow, qfi), qfi),
        };
        let found = rule.and_then(|rule| state.rules.get(rule));
        let is_of_ue = found.is_some_and(|rule| rule.pdr.direction() == Direction::Uplink);
        let waits = found.is_some_and(|rule| matches!(rule.target, Target::Buffer { .. }));
        if is_of_ue && tunnel.is_some() && !waits {
            return Some(Waiting { bytes, tunnel });
        }
        let Some(rule) = rule.filter(|_| !is_of_ue || tunnel.is_some()) else {
            self.counters.dropped(DropReason::NoRule);
            return None;
        };
        let detected = Detected { rule, qfi, is_signalling };
        if let Next::Network(instance) =
            self.carry_out(entry, state, detected, &flow, &mut frame, now)
        {
            self.leave(&frame, instance);
        }
        None
    }

    /// Processes buffered packets of the UE again, each as if it arrived now: it is sent, maybe to
    /// another UE, after the session's lock is released.
    pub(super) fn uplink_again(&self, entry: &Entry, waiting: Vec<Waiting>, now: Instant) {
        for Waiting { mut bytes, tunnel } in waiting {
            let Some((teid, qfi)) = tunnel else { continue };
            let frame = Frame::new(&mut bytes, HEADROOM);
            let elsewhere = self.ue_elsewhere(frame.packet());
            let state = lock(&entry.state);
            if state.removed {
                self.counters.dropped(DropReason::BufferDropped);
                continue;
            }
            self.take_accepted(entry, state, (None, teid, qfi), elsewhere, frame, now);
        }
    }

    /// Towards the data network, unless its destination is a UE that is served here and may be
    /// reached directly.
    fn to_network(
        &self,
        entry: &Entry,
        mut frame: Frame<'_>,
        flow: &Flow,
        instance: usize,
        now: Instant,
    ) {
        if let ToOtherUe::Switched(other) = self.to_other_ue(entry.ue_to_ue, flow) {
            self.counters.switched_packets.add(1);
            return self.to_ue(&other, &mut frame, flow, now);
        }
        self.leave(&frame, instance);
    }

    fn leave(&self, frame: &Frame<'_>, instance: usize) {
        if let Err(error) = self.egress.to_network(frame.packet(), instance) {
            self.counters.lost_packets.add(1);
            let is_long = error.raw_os_error() == Some(Errno::EMSGSIZE as i32);
            self.counters.dropped(if is_long { DropReason::TooLong } else { DropReason::N6 });
        }
    }

    /// Applies the rule of a packet. What leaves by N6 is left to the caller.
    fn carry_out(
        &self,
        entry: &Entry,
        state: &mut State,
        detected: Detected,
        flow: &Flow,
        frame: &mut Frame<'_>,
        now: Instant,
    ) -> Next {
        let Detected { rule, qfi, is_signalling } = detected;
        let Some(found) = state.rules.get(rule) else { return Next::Done };
        let (target, mark, direction) = (found.target, found.mark, found.pdr.direction());
        let (guaranteed, marking, ppi) = (found.guaranteed, found.marking, found.paging_policy);
        let copies = found.copies.to_vec();
        let instance =
            network_instance_of(&self.network_instances, found.network_instance.as_deref());
        let drop = |state: &mut State, reason| {
            state.dropped(reason);
            self.counters.dropped(reason);
            Next::Done
        };
        match target {
            Target::Drop => {
                self.duplicate(&copies, mark, qfi, frame);
                return drop(state, DropReason::Action);
            }
            Target::Buffer { notify } => {
                self.buffer(entry, state, detected, flow, notify, frame);
                return Next::Done;
            }
            Target::Network | Target::Datagrams(_) | Target::Tunnel { .. } => {}
        }
        if let Err(reason) = enforce(state, rule, direction, flow.length, now) {
            return drop(state, reason);
        }
        let class = match (guaranteed, mark) {
            (true, _) => 0,
            (_, Some((qfi, _))) if self.shaper.lowest.contains(&qfi) => 1,
            _ => 2,
        };
        if !self.shaper.admits(class, flow.length, now) {
            return drop(state, DropReason::Thermal);
        }
        let answer = if state.asks_for_dns && direction == Direction::Downlink {
            answer_in(frame.packet())
        } else {
            None
        };
        self.duplicate(&copies, mark, qfi, frame);
        let sent = match target {
            Target::Tunnel { tunnel, direction: towards } => {
                let container = match towards {
                    Direction::Downlink => {
                        // Without a marking, a packet from a tunnel keeps its QFI.
                        let marked = mark.map(|(qfi, rqi)| PduSessionContainer {
                            rqi,
                            ppi,
                            ..PduSessionContainer::downlink(qfi)
                        });
                        marked.or(qfi.map(PduSessionContainer::downlink))
                    }
                    Direction::Uplink => {
                        qfi.or(mark.map(|(qfi, _)| qfi)).map(PduSessionContainer::uplink)
                    }
                };
                let sent = frame.encapsulated(tunnel, container).map(|bytes| match marking {
                    None => self.egress.to_peer(bytes, tunnel.peer),
                    Some(tos) => self.egress.to_peer_marked(bytes, tunnel.peer, tos),
                });
                matches!(sent, Some(Ok(())))
            }
            // Counted here, sent after the session's lock is released.
            _ => true,
        };
        if !sent {
            return drop(state, DropReason::N3);
        }
        if is_signalling {
            self.counters.signalling_packets.add(1);
            return Next::Done;
        }
        state.last_activity = Some(now);
        if let Some((server, answer)) = answer {
            // If the event queue is full, the UE repeats its request.
            let _ = self.events.try_send(Event::Answer { server, answer: Box::new(answer) });
        }
        self.shaper.bytes[class].add(flow.length as u64);
        self.count(entry, state, rule, direction, flow.length, now);
        match target {
            Target::Network => Next::Network(instance),
            Target::Datagrams(to) => {
                let from = state.own_address().map(|own| SocketAddrV6::new(own, to.port(), 0, 0));
                from.map_or(Next::Done, |from| Next::Datagram(from, to))
            }
            _ => Next::Done,
        }
    }

    fn count(
        &self,
        entry: &Entry,
        state: &mut State,
        rule: usize,
        direction: Direction,
        bytes: usize,
        now: Instant,
    ) {
        let (packet_count, byte_count) = match direction {
            Direction::Uplink => (&self.counters.uplink_packets, &self.counters.uplink_bytes),
            Direction::Downlink => (&self.counters.downlink_packets, &self.counters.downlink_bytes),
        };
        packet_count.add(1);
        byte_count.add(bytes as u64);
        let forwarded = &mut state.forwarded[direction_index(direction)];
        (forwarded.bytes, forwarded.packets) =
            (forwarded.bytes + bytes as u64, forwarded.packets + 1);
        let State { rules, urrs, .. } = state;
        let Some(rule) = rules.get_mut(rule) else { return };
        rule.forwarded.bytes += bytes as u64;
        rule.forwarded.packets += 1;
        if rule.urrs.is_empty() {
            return;
        }
        let wall = SystemTime::now();
        for at in &rule.urrs {
            let Some(urr) = urrs.get_mut(*at) else { continue };
            urr.count(direction, bytes, now, wall);
            if urr.urr.awaits_traffic && !urr.start_reported {
                let event = Event::TrafficStarted { seid: entry.seid, urr: urr.urr.id };
                urr.start_reported = self.events.try_send(event).is_ok();
            }
            let report = |limit| {
                let event = Event::UsageReached { seid: entry.seid, urr: urr.urr.id, limit };
                self.events.try_send(event).is_ok()
            };
            if !urr.quota_reported && urr.quota_reached() {
                urr.quota_reported = report(Reached::Quota);
            }
            if !urr.threshold_reported && urr.threshold_reached() {
                urr.threshold_reported = report(Reached::Threshold);
            }
        }
    }

    fn buffer(
        &self,
        entry: &Entry,
        state: &mut State,
        Detected { rule, qfi, .. }: Detected,
        flow: &Flow,
        notify: bool,
        frame: &Frame<'_>,
    ) {
        if !self.has_room(state) {
            state.dropped(DropReason::BufferFull);
            self.counters.dropped(DropReason::BufferFull);
        } else {
            let packet = frame.packet();
            let mut buffer = vec![0; HEADROOM + packet.len()];
            if let Some(payload) = buffer.get_mut(HEADROOM..) {
                payload.copy_from_slice(packet);
            }
            state.buffered_bytes += packet.len();
            let local = state.rules.get(rule).and_then(|rule| rule.pdr.local);
            let tunnel = local.map(|local| (local.teid, qfi));
            state.buffer.push_back(Waiting { bytes: buffer, tunnel });
            self.buffered.fetch_add(1, Ordering::Relaxed);
            self.counters.buffered_packets.add(1);
        }
        if notify
            && !state.notified
            && let Some(rule) = state.rules.get(rule)
        {
            let qfi = rule.mark.map(|(qfi, _)| qfi);
            let event =
                Event::DownlinkData { seid: entry.seid, pdr: rule.pdr.id, qfi, dscp: flow.dscp() };
            state.notified = self.events.try_send(event).is_ok();
        }
    }
}

/// Gates, quotas and bit rates: if all rules of the packet pass it, all of them count it.
fn enforce(
    state: &mut State,
    rule: usize,
    direction: Direction,
    bytes: usize,
    now: Instant,
) -> Result<(), DropReason> {
    let State { rules, qers, urrs, .. } = state;
    let Some(rule) = rules.get(rule) else { return Err(DropReason::NoRule) };
    for at in &rule.urrs {
        if urrs.get(*at).is_some_and(|urr| !urr.passes()) {
            return Err(DropReason::Quota);
        }
    }
    for at in &rule.qers {
        let Some(qer) = qers.get_mut(*at) else { continue };
        if !qer.is_open(direction) {
            return Err(DropReason::Gate);
        }
        if !qer.has_tokens(direction, bytes, now) {
            return Err(DropReason::Rate);
        }
    }
    for at in &rule.qers {
        if let Some(qer) = qers.get_mut(*at) {
            qer.take_tokens(direction, bytes);
        }
    }
    Ok(())
}

//! The state of the datapath, its counters and status.
use super::compile::{KeyTable, Limit};
use super::link::Left;
use super::packet_socket::PacketSocket;
use super::ring::Ring;
use super::state::State;
use super::trace::Tracer;
use super::{Forwarder, lock};
use crate::loader::{FROM_CPU, Programs, types};
use martlet_gtpu::end_marker;
use martlet_upf_config::{UeToUe, UpfConfig};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::fair_share::FairShare;
use martlet_upf_datapath::perimeter::Perimeter;
use martlet_upf_datapath::telemetry::{PdrTraffic, TableUsage, Traffic, Volume};
use martlet_upf_datapath::{Buffered, Event, EventSender, Reached, Usage};
use martlet_upf_kernel::gtpu::Gtpu;
use martlet_upf_rules::{Session, Tunnel, UeAddress};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

/// What the forwarder works with, opened before it.
pub(super) struct Opened {
    pub(super) programs: Programs,
    pub(super) ring: Ring,
    pub(super) tracer: Tracer,
    /// Translation of addresses by the programs.
    pub(super) nat: types::nat_settings,
    pub(super) events: EventSender,
    pub(super) gtpu: Arc<Gtpu>,
    pub(super) frames: Arc<PacketSocket>,
    /// The programs' end of the link with the kernel.
    pub(super) inner: u32,
    /// The network namespace, the kernel's end of the link, and the MTU of packets to UEs, if there
    /// is a data network.
    pub(super) n6: Option<(Option<String>, u32, u32)>,
    pub(super) left: Left,
    pub(super) perimeter: Arc<Perimeter>,
    /// Until this time, unknown tunnels may belong to sessions that are not restored yet.
    pub(super) suppress_errors_until: Option<Instant>,
}

impl Forwarder {
    pub fn new(config: &UpfConfig, opened: Opened) -> Self {
        let state = Mutex::new(State::new(&opened.programs));
        Forwarder {
            programs: opened.programs,
            state,
            ring: Mutex::new(opened.ring),
            tracer: Mutex::new(opened.tracer),
            counters: Arc::default(),
            seen: Mutex::default(),
            events: opened.events,
            limits: config.xdp.clone(),
            lowest: config.governor.lowest.clone(),
            shaping: Mutex::default(),
            network_instances: config.n6.network_instance_names(),
            nat: opened.nat,
            gtpu: opened.gtpu,
            frames: opened.frames,
            inner: opened.inner,
            n6: opened.n6,
            left: Mutex::new(opened.left),
            non_ip: OnceLock::new(),
            perimeter: opened.perimeter,
            written: Mutex::default(),
            responses_per_peer: config.n3.error_indications_per_peer,
            require_qfi: config.n3.require_qfi,
            early: Mutex::default(),
            share: FairShare::default(),
            unreported: Mutex::default(),
            ue_to_ue: config.ue_to_ue(),
            suppress_errors_until: opened.suppress_errors_until,
        }
    }

    /// Brings the programs' tables up to date with the perimeter.
    pub fn write_perimeter(&self) {
        let written = &mut *lock(&self.written);
        if let Err(error) = self.programs.write_perimeter(&self.perimeter, written) {
            tracing::error!(%error, "perimeter of N6 not written");
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// What happens to packets to the UE with an address, or in front of it; `None` if the programs
    /// serve no such UE.
    pub fn ue_to_ue_of(&self, address: IpAddr) -> Option<UeToUe> {
        let state = self.lock();
        let own = state.by_ue.get(&UeAddress::of(address));
        let seid = own.or_else(|| state.behind(address))?;
        state.sessions.get(seid).map(|entry| entry.ue_to_ue)
    }

    /// Waits until the programs that are running have returned.
    pub fn grace_period(&self) {
        if let Err(error) = self.programs.grace_period() {
            tracing::error!(%error, "grace period not waited for: counters may lag");
        }
    }

    /// Limit of buffered packets of a session.
    pub fn buffer_limit(&self, session: &Session) -> u32 {
        let suggested = session.bars.values().filter_map(|bar| bar.suggested_packets).max();
        let max = self.limits.buffer_packets_per_session;
        let limit = suggested
            .map(usize::from)
            .filter(|packets| *packets > 0)
            .map_or(max, |packets| packets.min(max));
        u32::try_from(limit).unwrap_or(u32::MAX)
    }

    pub fn send_end_markers(&self, tunnels: &[Tunnel]) {
        for tunnel in tunnels {
            let sent = self.gtpu.send(&end_marker(tunnel.teid, None), tunnel.peer);
            match sent {
                Ok(()) => self.counters.end_markers_sent.add(1),
                Err(error) => tracing::debug!(peer = %tunnel.peer, %error, "End Marker not sent"),
            }
        }
    }

    /// Forwards an end marker after the data.
    pub fn relay_end_marker(&self, teid: u32) {
        let state = self.lock();
        let entry = state.by_teid.get(&teid).and_then(|seid| state.sessions.get(seid));
        let tunnel = entry.and_then(|entry| entry.relays.get(&teid)).copied();
        drop(state);
        self.send_end_markers(tunnel.as_slice());
    }

    /// A limit of a session was reached.
    pub fn limit_reached(&self, state: &State, seid: u64, n: usize) {
        let Some(limit) = state.sessions.get(&seid).and_then(|entry| entry.limits.get(n)) else {
            return;
        };
        self.report_limit(seid, limit.urr, limit.quota);
    }

    /// Reports that a limit was reached. The programs raise one event for it: while the queue is
    /// full, the report is kept for [`report_again`](Self::report_again).
    fn report_limit(&self, seid: u64, urr: u32, quota: bool) {
        let limit = if quota { Reached::Quota } else { Reached::Threshold };
        if !self.report(Event::UsageReached { seid, urr, limit }) {
            lock(&self.unreported).push((seid, urr, quota));
        }
    }

    /// Reports the limits for which the queue had no room, if they are still reached.
    pub fn report_again(&self) {
        let unreported = std::mem::take(&mut *lock(&self.unreported));
        if unreported.is_empty() {
            return;
        }
        let state = &mut *self.lock();
        for (seid, urr, quota) in unreported {
            let Some(entry) = state.sessions.get_mut(&seid) else { continue };
            entry.settle(&self.programs);
            let is_it = |limit: &&Limit| limit.urr == urr && limit.quota == quota;
            if entry.limits.iter().filter(is_it).any(|limit| entry.left(limit) <= 0) {
                self.report_limit(seid, urr, quota);
            }
        }
    }

    /// Requests that lost frames are counted; [`release`](Self::release) does it.
    pub fn request_lost_count(&self) {
        let lost = lock(&self.ring).newly_lost();
        if lost > 0 {
            tracing::error!(lost, "AF_XDP frames lost in the kernel: set upf.xdp.sockets to 0");
        }
    }

    /// Sends an event to N4; false while the queue is full.
    pub fn report(&self, event: Event) -> bool {
        self.events.try_send(event).is_ok()
    }

    /// See [`Datapath::take_usage`](martlet_upf_datapath::Datapath::take_usage).
    pub fn take_usage(&self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        let state = &mut *self.lock();
        let Some(entry) = state.sessions.get_mut(&seid) else { return Vec::new() };
        let (usage, reached) = entry.take_usage(&self.programs, |urr| urrs.contains(&urr));
        for urr in reached {
            self.report_limit(seid, urr, false);
        }
        state.forget_old_rules(&self.programs, seid);
        usage
    }

    /// See [`Datapath::forwarded`](martlet_upf_datapath::Datapath::forwarded).
    pub fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.lock()
            .sessions
            .get(&seid)
            .map_or([0; 2], |entry| entry.forwarded(&self.programs).map(|[bytes, _]| bytes))
    }

    /// See [`Datapath::forwarded_by`](martlet_upf_datapath::Datapath::forwarded_by).
    pub fn forwarded_by(&self, seids: &[u64]) -> Vec<[u64; 2]> {
        let state = self.lock();
        let of = |seid: &u64| {
            let entry = state.sessions.get(seid)?;
            Some(entry.forwarded(&self.programs).map(|[bytes, _]| bytes))
        };
        seids.iter().map(|seid| of(seid).unwrap_or_default()).collect()
    }

    /// See [`Datapath::last_activity`](martlet_upf_datapath::Datapath::last_activity).
    pub fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.lock().sessions.get(&seid)?.last_activity(&self.programs)
    }

    /// See [`Datapath::last_packet`](martlet_upf_datapath::Datapath::last_packet).
    pub fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.lock().sessions.get_mut(&seid)?.last_packet(&self.programs, urr)
    }

    /// See [`Datapath::buffered`](martlet_upf_datapath::Datapath::buffered).
    pub fn buffered(&self, seid: u64) -> Buffered {
        let state = &mut *self.lock();
        self.take_events(state);
        self.release_noted(state);
        let Some(entry) = state.sessions.get(&seid) else { return Buffered::default() };
        Buffered { packets: entry.waiting.len(), bytes: entry.waiting_bytes }
    }

    /// Table occupancy, and the programs' own counters: packets passed to the kernel, and lost
    /// events.
    pub fn fill(&self) -> serde_json::Value {
        let state = self.lock();
        let fill = |slots: &super::slots::Slots| {
            let (used, max) = slots.fill();
            serde_json::json!({"used": used, "most": max})
        };
        let stats = self.programs.stats().unwrap_or_default();
        let (sockets, frames) = lock(&self.ring).sockets();
        serde_json::json!({
            "sessions": fill(&state.session_slots),
            "rules": {"used": state.rules, "most": self.limits.rules},
            "filterGroups": fill(&state.group_slots),
            "rates": fill(&state.bucket_slots),
            "limits": fill(&state.limit_slots),
            "translatedFlows": {"used": state.flows.alive, "most": self.nat.flows},
            "waiting": {"used": state.waiting, "most": self.limits.buffer_packets},
            "byWayOfTheKernel": stats.to_kernel,
            "lostEvents": stats.lost_events,
            "sockets": {"open": sockets, "frames": frames},
        })
    }

    /// See [`Datapath::tables`](martlet_upf_datapath::Datapath::tables).
    pub fn tables(&self) -> Vec<TableUsage> {
        let state = &mut *self.lock();
        self.take_events(state);
        self.release_noted(state);
        let rule_slots = [
            ("sessions", &state.session_slots),
            ("filter_groups", &state.group_slots),
            ("rates", &state.bucket_slots),
            ("limits", &state.limit_slots),
        ];
        let mut all: Vec<TableUsage> = rule_slots
            .into_iter()
            .map(|(table, slots)| {
                let (used, max) = slots.fill();
                TableUsage { table, used: used as u64, capacity: max as u64 }
            })
            .collect();
        let fill = |table, used, capacity| TableUsage { table, used, capacity };
        all.push(fill("rules", state.rules as u64, self.limits.rules.into()));
        for table in KeyTable::ALL {
            let used = state.used_keys[table as usize];
            all.push(fill(table.name(), used.into(), self.limits.sessions.into()));
        }
        all.push(fill("translated_flows", state.flows.alive as u64, self.nat.flows.into()));
        all.push(fill("waiting", state.waiting as u64, self.limits.buffer_packets as u64));
        all
    }

    /// See [`Datapath::traffic`](martlet_upf_datapath::Datapath::traffic).
    pub fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        let mut drops: HashMap<(u32, u32), Vec<(DropReason, u64)>> = HashMap::new();
        for drop_count in self.programs.session_drops() {
            if let Some(reason) = DropReason::ALL.get(drop_count.reason as usize) {
                drops.entry(drop_count.session).or_default().push((*reason, drop_count.packets));
            }
        }
        let state = self.lock();
        let of = |seid: &u64| {
            let Some(entry) = state.sessions.get(seid) else { return Traffic::default() };
            let [uplink, downlink] = entry.forwarded(&self.programs);
            let mut drops = drops.remove(&(entry.slot, entry.incarnation)).unwrap_or_default();
            drops.sort_by_key(|(reason, _)| *reason as usize);
            let volume = |[bytes, packets]: [u64; 2]| Volume { bytes, packets };
            Traffic { uplink: volume(uplink), downlink: volume(downlink), drops }
        };
        seids.iter().map(of).collect()
    }

    /// See [`Datapath::pdr_traffic`](martlet_upf_datapath::Datapath::pdr_traffic).
    pub fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        let state = self.lock();
        let of_pdrs = state.sessions.get(&seid).map(|entry| entry.of_pdrs(&self.programs));
        let traffic = |(pdr, [bytes, packets]): (u16, [u64; 2])| {
            let forwarded = Volume { bytes, packets };
            PdrTraffic { pdr, engine: super::NAME, forwarded }
        };
        of_pdrs.into_iter().flatten().map(traffic).collect()
    }

    /// How full the fullest table of sessions' rules is, in per cent.
    pub fn fullness(&self) -> u8 {
        let state = self.lock();
        let tables =
            [&state.session_slots, &state.group_slots, &state.bucket_slots, &state.limit_slots];
        let per_cent = |(used, max): (u32, u32)| u64::from(used) * 100 / u64::from(max.max(1));
        let rules = per_cent((state.rules as u32, self.limits.rules));
        let keys = state.used_keys.map(|used| per_cent((used, self.limits.sessions)));
        let slots = tables.into_iter().map(|slots| per_cent(slots.fill()));
        slots.chain(keys).fold(rules, u64::max).min(100) as u8
    }

    /// Adds the programs' counters since the last call to ours.
    pub fn refresh(&self) {
        self.expire_early(Instant::now());
        // Read under the lock: an earlier reading must not be added later.
        let mut seen = lock(&self.seen);
        let totals = self.lock().totals(&self.programs);
        let stats = match self.programs.stats() {
            Ok(stats) => stats,
            Err(error) => return tracing::error!(%error, "counters of the XDP programs not read"),
        };
        for (n, reason) in DropReason::ALL.into_iter().enumerate() {
            self.counters.drops(reason).add(stats.drops[n].wrapping_sub(seen.stats.drops[n]));
        }
        self.counters.buffered_packets.add(stats.buffered.wrapping_sub(seen.stats.buffered));
        let counters = &self.counters;
        let replaced = stats.replaced_fragments.wrapping_sub(seen.stats.replaced_fragments);
        counters.replaced_fragments.add(replaced);
        let directions = [
            (&counters.uplink_bytes, &counters.uplink_packets),
            (&counters.downlink_bytes, &counters.downlink_packets),
        ];
        for (direction, (bytes, packets)) in directions.into_iter().enumerate() {
            bytes.add(totals[direction][0].saturating_sub(seen.totals[direction][0]));
            packets.add(totals[direction][1].saturating_sub(seen.totals[direction][1]));
        }
        let Ok(lane) = self.programs.lanes() else { return };
        let port = |lane: &types::lane| lane.entered[0] + lane.entered[1] + lane.entered[FROM_CPU];
        for (count, now, then) in [
            (&counters.received_packets, port(&lane), port(&seen.lane)),
            (&counters.passed_packets, lane.passed, seen.lane.passed),
            (&counters.answered_packets, lane.answered, seen.lane.answered),
            (&counters.switched_packets, lane.switched, seen.lane.switched),
            (&counters.unmarked_packets, lane.unmarked, seen.lane.unmarked),
            (&counters.latency.sum, lane.latency_sum, seen.lane.latency_sum),
        ] {
            count.add(now.wrapping_sub(then));
        }
        if lane.unmarked != seen.lane.unmarked {
            for (peer, packets) in self.programs.unmarked_peers() {
                let before = seen.unmarked.insert(peer, packets).unwrap_or(0);
                // The table evicts senders that were idle for long.
                let new = packets.checked_sub(before).unwrap_or(packets);
                if new > 0 {
                    counters.unmarked_peers.add(peer, new);
                }
            }
        }
        for (n, count) in counters.latency.classes.iter().enumerate() {
            count.add(lane.latency[n].wrapping_sub(seen.lane.latency[n]));
        }
        (seen.stats, seen.lane, seen.totals) = (stats, lane, totals);
    }
}

const _: () = assert!(DropReason::ALL.len() == types::drop::DROP_REASONS.0 as usize);

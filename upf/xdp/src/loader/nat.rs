//! Flows whose addresses the programs translate: see `bpf/nat_flows.h`. Programs create flows, and
//! user space removes them after they expire; programs treat an expired flow as absent.
use crate::loader::Programs;
use crate::loader::table::Table;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::mem::offset_of;
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The tables of translation.
pub(crate) struct NatTables {
    pub flows: Table<types::nat_flow>,
    /// Number of allocated flow slots in each block of consecutive ones.
    pub blocks: Table<u32>,
    pub by_key: MapHandle,
    pub free: MapHandle,
    pub of_ue: MapHandle,
    pub of_public: MapHandle,
}

/// Lifetimes of flows after their last packet.
#[derive(Debug, Clone, Copy)]
pub struct NatTimes {
    /// TCP connections that both sides have confirmed.
    pub tcp: Duration,
    /// TCP connections that are being opened or closed.
    pub tcp_transitory: Duration,
    /// UDP that was answered.
    pub udp: Duration,
    /// UDP that was not.
    pub udp_unanswered: Duration,
    /// ICMP queries.
    pub icmp: Duration,
    /// Any other protocol.
    pub other: Duration,
}

/// Maximum lifetime in ticks: times are compared as 32-bit differences.
const LONGEST: u32 = 1 << 30;

/// As `bpf/structs.h` has it.
pub(crate) const ADDRESSES: usize = 8;

/// Fewest ports of a slice: CPUs share slices where each would have less.
const SLICE_PORTS: u32 = 64;

/// Number of slices of a range of ports, and ports in each: an even number, since UDP ports keep
/// their parity. A rest of the range is in no slice.
fn slices(ports: u32, cpus: u32) -> (u32, u32) {
    match cpus.min(ports / SLICE_PORTS) {
        0 | 1 => (1, ports),
        slices => (slices, (ports / slices) & !1),
    }
}

/// Settings for up to 8 public addresses; without any there is no translation.
pub fn nat_settings(
    addresses: &[Ipv4Addr],
    ports: (u16, u16),
    times: NatTimes,
    seed: u64,
) -> types::nat_settings {
    let tick = u128::from(crate::loader::clock::tick());
    let ticks =
        |time: Duration| u32::try_from(time.as_nanos() / tick).unwrap_or(u32::MAX).min(LONGEST);
    let shortest =
        [times.tcp, times.tcp_transitory, times.udp, times.udp_unanswered, times.icmp, times.other];
    let shortest = shortest.into_iter().map(ticks).min().unwrap_or(0);
    let range = u32::from(ports.1.saturating_sub(ports.0)) + 1;
    let cpus = libbpf_rs::num_possible_cpus().map_or(1, |cpus| cpus as u32);
    let (slices, slice_ports) = slices(range, cpus);
    let mut settings = types::nat_settings {
        seed,
        addresses: addresses.len().min(ADDRESSES) as u32,
        low: addresses.iter().map(|address| address.to_bits()).min().unwrap_or(u32::MAX),
        high: addresses.iter().map(|address| address.to_bits()).max().unwrap_or(0),
        first_port: ports.0.into(),
        ports: range,
        slices,
        slice_ports,
        tcp: ticks(times.tcp),
        tcp_transitory: ticks(times.tcp_transitory),
        udp: ticks(times.udp),
        udp_unanswered: ticks(times.udp_unanswered),
        icmp: ticks(times.icmp),
        other: ticks(times.other),
        shortest,
        // A flow exceeds its lifetime by two epochs at most.
        epoch_shift: (shortest / 32).checked_ilog2().unwrap_or(0),
        ..Default::default()
    };
    for (slot, address) in settings.address.iter_mut().zip(addresses) {
        *slot = u32::from_ne_bytes(address.octets());
    }
    settings
}

/// Slots of a block; as `bpf/maps.h` has it.
pub(crate) const BLOCK: u32 = 128;
/// The block of the first two lines, which are unused.
pub(crate) const FIRST: u32 = 4;

/// A flow, with addresses and ports in packet order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NatFlow {
    /// Its slots: outbound and inbound.
    pub rule_slots: [u32; 2],
    /// The UE's end.
    pub ue: (u32, u16),
    /// The public end.
    pub public: (u32, u16),
    /// The other side.
    pub far: (u32, u16),
    /// IP protocol.
    pub protocol: u8,
    /// `nat_state`: the observed packets.
    pub state: u32,
    /// In the table of sessions.
    pub session: u32,
    /// Incarnation of the session.
    pub incarnation: u32,
    /// When the last outbound and inbound packets were sent, as the lower 32 bits of ticks.
    pub last: [u32; 2],
}

/// Lifetime in ticks after the last packet; as `nat_lifetime` in `bpf/nat_flows.h`.
fn lifetime(settings: &types::nat_settings, flow: &NatFlow) -> u32 {
    use types::nat_state as seen;
    let has = |bits: u32| flow.state & bits == bits;
    match i32::from(flow.protocol) {
        libc::IPPROTO_UDP if has(seen::NAT_ANSWERED.0) => settings.udp,
        libc::IPPROTO_UDP => settings.udp_unanswered,
        libc::IPPROTO_TCP => {
            let closed = has(seen::NAT_RESET.0) || has(seen::NAT_FIN_OUT.0 | seen::NAT_FIN_IN.0);
            if closed || !has(seen::NAT_CONFIRMED.0) {
                settings.tcp_transitory
            } else {
                settings.tcp
            }
        }
        libc::IPPROTO_ICMP => settings.icmp,
        _ => settings.other,
    }
}

fn bytes<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: these types have no padding (see `bpf/structs.h`), so each of their bytes is
    // initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

impl NatFlow {
    /// Both ends of its binding: the UE's and the public one.
    fn ends(&self) -> [types::nat_end; 2] {
        [self.ue, self.public].map(|(address, port)| types::nat_end {
            address,
            port,
            protocol: self.protocol,
            unused: 0,
        })
    }
}

/// Whether the binding of an end is to another one.
fn leads_to(table: &MapHandle, from: &types::nat_end, to: &types::nat_end) -> bool {
    let found = table.lookup(bytes(from), MapFlags::ANY).ok().flatten();
    // Address and port come first.
    found.is_some_and(|found| found.get(..6) == bytes(to).get(..6))
}

impl Programs {
    /// All flow slots that may be in use: those of blocks with any allocated.
    pub fn nat_find_l4(&self) -> impl Iterator<Item = u32> + '_ {
        let end = self.nat.flows.entries() as u32;
        let used = (0..self.nat.blocks.entries() as u32)
            .filter(|block| self.nat.blocks.u32(*block, 0).load(Ordering::Relaxed) > 0);
        used.flat_map(move |block| (block * BLOCK).max(FIRST)..((block + 1) * BLOCK).min(end))
    }

    /// The flow whose inbound entry is in a slot; `None` if it has none.
    pub fn nat_flow(&self, slot: u32) -> Option<NatFlow> {
        use types::nat_state as bit;
        let kind = |state: u32| state & (bit::NAT_USED.0 | bit::NAT_INWARD.0);
        // A slot in use is not rewritten, except for times and state.
        let inward = self.nat.flows.read(slot);
        if kind(inward.state) != bit::NAT_USED.0 | bit::NAT_INWARD.0 {
            return None;
        }
        let outward =
            Some(inward.session).filter(|at| (*at as usize) < self.nat.flows.entries())?;
        let rule_slots = [outward, slot];
        let outward = self.nat.flows.read(outward);
        let fits = kind(outward.state) == bit::NAT_USED.0
            && outward.near == inward.other
            && outward.other == inward.near;
        fits.then_some(NatFlow {
            rule_slots,
            ue: (outward.near, outward.near_port),
            public: (inward.near, inward.near_port),
            far: (inward.far, inward.far_port),
            protocol: (inward.state >> 8) as u8,
            state: inward.state,
            session: outward.session,
            incarnation: outward.incarnation,
            last: [outward.last, inward.last],
        })
    }

    /// Whether a flow's time is over at a time of the programs.
    pub fn nat_is_expired(
        &self,
        settings: &types::nat_settings,
        flow: &NatFlow,
        ticks: u64,
    ) -> bool {
        // As `nat_is_late` has it.
        let lifetime = lifetime(settings, flow).saturating_add(2 << settings.epoch_shift) as i32;
        flow.last.iter().all(|last| (ticks as u32).wrapping_sub(*last) as i32 > lifetime)
    }

    /// Removes a flow. Its slots must rest for a grace period before they are
    /// [freed](Self::return_nat_slot), since programs may be using them. `counted`: the session
    /// exists and counts the flow.
    pub fn forget_nat_flow(&self, flow: &NatFlow, counted: bool) {
        use types::nat_state as bit;
        let kind = bit::NAT_USED.0 | u32::from(flow.protocol) << 8;
        let ((near, near_port), (far, far_port)) = (flow.ue, flow.far);
        let outward = types::nat_key { near, near_port, far, far_port, kind };
        let (near, near_port) = flow.public;
        let inward =
            types::nat_key { near, near_port, far, far_port, kind: kind | bit::NAT_INWARD.0 };
        for (slot, key) in flow.rule_slots.into_iter().zip([outward, inward]) {
            if slot >= self.nat_overflow_base() {
                let _ = self.nat.by_key.delete(bytes(&key));
            }
            self.nat
                .flows
                .u32(slot, offset_of!(types::nat_flow, state))
                .store(bit::NAT_TAKEN.0, Ordering::Release);
        }
        self.nat_alive().fetch_sub(1, Ordering::Relaxed);
        let session = flow.session;
        if counted && self.sessions.entries() > session as usize {
            self.sessions
                .u32(session, offset_of!(types::session, flows))
                .fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Frees a slot after its grace period.
    ///
    /// # Errors
    /// If the table rejects it.
    pub fn return_nat_slot(&self, slot: u32) -> Result<(), XdpError> {
        self.nat.blocks.u32(slot / BLOCK, 0).fetch_sub(1, Ordering::Relaxed);
        self.nat.flows.u32(slot, offset_of!(types::nat_flow, state)).store(0, Ordering::Release);
        if slot < self.nat_overflow_base() {
            return Ok(());
        }
        let outcome = self.nat.free.update(&[], &slot.to_ne_bytes(), MapFlags::ANY);
        outcome.map_err(|error| crate::loader::error::table_error("nat_free", error))
    }

    /// Removes the binding of a flow if it still belongs to the flow's UE.
    pub fn forget_nat_binding(&self, flow: &NatFlow) {
        let [ue, public] = flow.ends();
        if leads_to(&self.nat.of_public, &public, &ue) {
            let _ = self.nat.of_public.delete(bytes(&public));
        }
        if leads_to(&self.nat.of_ue, &ue, &public) {
            let _ = self.nat.of_ue.delete(bytes(&ue));
        }
    }

    /// Restores the binding of a flow, unless another UE has its public end now; as `nat_keep` of
    /// the programs.
    pub fn keep_nat_binding(&self, flow: &NatFlow) {
        let [ue, public] = flow.ends();
        let to = |end: &types::nat_end| types::nat_binding {
            address: end.address,
            port: end.port,
            session: flow.session,
            incarnation: flow.incarnation,
            ..Default::default()
        };
        // Either may exist.
        let add = |table: &MapHandle, from: &types::nat_end, to: &types::nat_binding| {
            let _ = table.update(bytes(from), bytes(to), MapFlags::NO_EXIST);
        };
        add(&self.nat.of_public, &public, &to(&ue));
        if leads_to(&self.nat.of_public, &public, &ue) {
            add(&self.nat.of_ue, &ue, &to(&public));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_within_the_ports_and_as_many_as_cpus() {
        assert_eq!(slices(31_744, 1), (1, 31_744));
        assert_eq!(slices(31_744, 4), (4, 7936));
        assert_eq!(slices(31_743, 3), (3, 10_580));
        assert_eq!(slices(256, 128), (4, 64));
        assert_eq!(slices(2, 128), (1, 2));
        for (ports, cpus) in (1..65_536).step_by(97).zip((1..1024).cycle()) {
            let (slices, each) = slices(ports, cpus);
            assert!(slices <= cpus && slices * each <= ports && each > 0, "{ports}, {cpus}");
        }
    }
}

//! Flows whose addresses the programs translate: see `bpf/nat_flows.h`. Programs make them, and user space takes them away once
//! their time is over; programs take none for alive whose time is over.
use crate::load::Programs;
use crate::table::Table;
use crate::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::mem::offset_of;
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The tables of translation.
pub(crate) struct NatTables {
    pub flows: Table<types::nat_flow>,
    pub by_key: MapHandle,
    pub free: MapHandle,
    pub of_ue: MapHandle,
    pub of_public: MapHandle,
}

/// For how long flows live after their last packet.
#[derive(Debug, Clone, Copy)]
pub struct NatTimes {
    /// TCP connections that both sides have confirmed.
    pub tcp: Duration,
    /// Those that are being made or closed.
    pub tcp_transitory: Duration,
    /// UDP that was answered.
    pub udp: Duration,
    /// UDP that was not.
    pub udp_unanswered: Duration,
    /// ICMP queries.
    pub icmp: Duration,
    /// Whatever else.
    pub other: Duration,
}

/// As `bpf/structs.h` has it.
pub(crate) const ADDRESSES: usize = 8;

/// Settings for so many public addresses, of which there are 8 at most; without any nothing is translated.
pub fn nat_settings(addresses: &[Ipv4Addr], ports: (u16, u16), times: NatTimes, seed: u64) -> types::nat_settings {
    let tick = u128::from(crate::load::tick());
    let ticks = |time: Duration| u32::try_from(time.as_nanos() / tick).unwrap_or(u32::MAX);
    let mut settings = types::nat_settings {
        seed,
        addresses: addresses.len().min(ADDRESSES) as u32,
        low: addresses.iter().map(|address| address.to_bits()).min().unwrap_or(u32::MAX),
        high: addresses.iter().map(|address| address.to_bits()).max().unwrap_or(0),
        first_port: ports.0.into(),
        ports: u32::from(ports.1.saturating_sub(ports.0)) + 1,
        tcp: ticks(times.tcp),
        tcp_transitory: ticks(times.tcp_transitory),
        udp: ticks(times.udp),
        udp_unanswered: ticks(times.udp_unanswered),
        icmp: ticks(times.icmp),
        other: ticks(times.other),
        ..Default::default()
    };
    for (place, address) in settings.address.iter_mut().zip(addresses) {
        *place = u32::from_ne_bytes(address.octets());
    }
    settings
}

/// Ticks for which a flow lives after its last packet; as `nat_lifetime` in `bpf/nat_flows.h`.
fn lifetime(settings: &types::nat_settings, flow: &types::nat_flow) -> u32 {
    use types::nat_seen as seen;
    let has = |bits: u32| flow.seen & bits == bits;
    match i32::from(flow.protocol) {
        libc::IPPROTO_UDP if has(seen::NAT_ANSWERED.0) => settings.udp,
        libc::IPPROTO_UDP => settings.udp_unanswered,
        libc::IPPROTO_TCP => {
            let closed = has(seen::NAT_RESET.0) || has(seen::NAT_FIN_OUT.0 | seen::NAT_FIN_IN.0);
            if closed || !has(seen::NAT_CONFIRMED.0) { settings.tcp_transitory } else { settings.tcp }
        }
        libc::IPPROTO_ICMP => settings.icmp,
        _ => settings.other,
    }
}

fn octets<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: these types have no padding, as `bpf/structs.h` says, so each of their octets has a value.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

impl Programs {
    /// Places of flows that have ever been used: 1 to less than this.
    pub fn nat_end(&self) -> u32 {
        self.nat_next().min(self.nat.flows.entries() as u32)
    }

    /// A flow, or nothing where the place is free.
    pub fn nat_flow(&self, index: u32) -> Option<types::nat_flow> {
        Some(self.nat.flows.read(index)).filter(|flow| flow.used != 0)
    }

    /// Whether a flow's time is over at a time of the programs.
    pub fn nat_is_over(&self, settings: &types::nat_settings, flow: &types::nat_flow, ticks: u64) -> bool {
        flow.last.saturating_add(lifetime(settings, flow).into()) < ticks
    }

    /// Takes a flow away. Its place must rest before it is [given back](Self::give_back_nat_flow), for a program may be
    /// looking at it. `counted` is whether its session lives, and counts it.
    pub fn forget_nat_flow(&self, index: u32, flow: &types::nat_flow, counted: bool) {
        let outward = types::nat_key {
            near: flow.ue,
            far: flow.far,
            near_port: flow.ue_port,
            far_port: flow.far_port,
            protocol: flow.protocol,
            inward: 0,
            unused: 0,
        };
        let inward = types::nat_key { near: flow.public4, near_port: flow.public_port, inward: 1, ..outward };
        for key in [outward, inward] {
            let _ = self.nat.by_key.delete(octets(&key));
        }
        let used = offset_of!(types::nat_flow, used);
        // The octet lies in a word with the protocol and a port, which say nothing any more.
        self.nat.flows.u32(index, used & !3).store(0, Ordering::Release);
        let session = flow.session;
        if counted && self.sessions.entries() > session as usize {
            self.sessions.u32(session, offset_of!(types::session, flows)).fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Lets a place that has rested be used again.
    ///
    /// # Errors
    /// The table does not take it.
    pub fn give_back_nat_flow(&self, index: u32) -> Result<(), XdpError> {
        let outcome = self.nat.free.update(&[], &index.to_ne_bytes(), MapFlags::ANY);
        outcome.map_err(|error| crate::load::table_error("nat_free", error))
    }

    /// Takes away the binding of a flow, if it is still that of the flow's UE.
    pub fn forget_nat_binding(&self, flow: &types::nat_flow) {
        let ue = types::nat_end { address: flow.ue, port: flow.ue_port, protocol: flow.protocol, unused: 0 };
        let public =
            types::nat_end { address: flow.public4, port: flow.public_port, protocol: flow.protocol, unused: 0 };
        let leads_to = |table: &MapHandle, from: &types::nat_end, to: &types::nat_end| {
            let found = table.lookup(octets(from), MapFlags::ANY).ok().flatten();
            // Address and port come first.
            found.is_some_and(|found| found.get(..6) == octets(to).get(..6))
        };
        if leads_to(&self.nat.of_public, &public, &ue) {
            let _ = self.nat.of_public.delete(octets(&public));
        }
        if leads_to(&self.nat.of_ue, &ue, &public) {
            let _ = self.nat.of_ue.delete(octets(&ue));
        }
    }
}

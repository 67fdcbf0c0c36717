//! Removal of NAT flows that expired or whose session ended.
use super::Forwarder;
use crate::loader::{NatFlow, Programs, types};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Time after which no program uses a removed flow any more.
const GRACE_PERIOD: Duration = Duration::from_millis(100);

/// The address of a binding: public address and port, protocol.
type Public = (u32, u16, u8);

/// The public end of a flow.
fn public_of(flow: &NatFlow) -> Public {
    (flow.public.0, flow.public.1, flow.protocol)
}

/// User space's state of translated flows.
#[derive(Default)]
pub(super) struct Flows {
    /// One bit for each slot: the inbound flow's binding is counted.
    seen: Vec<u64>,
    /// Flows of each binding.
    bindings: HashMap<Public, u32>,
    resting: VecDeque<(Instant, u32)>,
    /// Flows that were alive when they were last read.
    pub alive: u32,
}

impl Flows {
    /// Removes flows that have expired at `ticks`, or whose session was removed.
    pub fn sweep(
        &mut self,
        programs: &Programs,
        settings: &types::nat_settings,
        ticks: u64,
        lives: impl Fn(u32, u32) -> bool,
    ) {
        let now = Instant::now();
        while self
            .resting
            .front()
            .is_some_and(|(since, _)| now.duration_since(*since) >= GRACE_PERIOD)
        {
            let Some((_, slot)) = self.resting.pop_front() else { break };
            if let Err(error) = programs.return_nat_slot(slot) {
                tracing::error!(%error, "NAT flow entry leaked");
            }
        }
        self.alive = 0;
        // Whether a session counts a flow, and whether the flow ends.
        let end_of = |flow: &NatFlow| {
            let counted = lives(flow.session, flow.incarnation);
            (counted, !counted || programs.nat_is_expired(settings, flow, ticks))
        };
        // All flows are counted before any ends: a new one may use the binding of one that ends.
        let mut ending = Vec::new();
        for slot in programs.nat_find_l4() {
            let Some(flow) = programs.nat_flow(slot) else { continue };
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            if self.seen.len() <= word {
                self.seen.resize(word + 1, 0);
            }
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                *self.bindings.entry(public_of(&flow)).or_default() += 1;
            }
            if end_of(&flow).1 {
                ending.push(slot);
            } else {
                self.alive += 1;
            }
        }
        let mut forgotten = HashSet::new();
        for slot in ending {
            let Some(flow) = programs.nat_flow(slot) else { continue };
            let (counted, ends) = end_of(&flow);
            if !ends {
                // A packet has restarted it meanwhile.
                self.alive += 1;
                continue;
            }
            programs.forget_nat_flow(&flow, counted);
            self.seen[slot as usize / 64] &= !(1 << (slot % 64));
            let public = public_of(&flow);
            self.resting.extend(flow.rule_slots.map(|slot| (now, slot)));
            let left = self.bindings.entry(public).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.bindings.remove(&public);
                programs.forget_nat_binding(&flow);
                forgotten.insert(public);
            }
        }
        if !forgotten.is_empty() {
            self.keep_bindings(programs, &forgotten);
        }
    }

    /// Restores the bindings of flows that began since flows were counted. Programs check the
    /// binding after they have inserted a flow, so that none is missed.
    fn keep_bindings(&self, programs: &Programs, forgotten: &HashSet<Public>) {
        let is_seen = |slot: u32| {
            self.seen.get(slot as usize / 64).is_some_and(|word| word & (1 << (slot % 64)) != 0)
        };
        for slot in programs.nat_find_l4().filter(|slot| !is_seen(*slot)) {
            if let Some(flow) = programs.nat_flow(slot)
                && forgotten.contains(&public_of(&flow))
            {
                programs.keep_nat_binding(&flow);
            }
        }
    }
}

impl Forwarder {
    /// Removes expired translated flows.
    pub fn sweep_flows(&self) {
        if self.nat.addresses == 0 {
            return;
        }
        let Ok((ticks, _)) = self.programs.clock() else { return };
        let state = &mut *self.lock();
        let (flows, by_slot, sessions) = (&mut state.flows, &state.by_slot, &state.sessions);
        flows.sweep(&self.programs, &self.nat, ticks, |slot, incarnation| {
            let entry = by_slot.get(slot).and_then(|seid| sessions.get(&seid));
            entry.is_some_and(|entry| entry.incarnation == incarnation)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::XdpDatapath;
    use crate::loader::Verdict;
    use libbpf_rs::MapCore;
    use martlet_upf_config::{DatapathChoice, N6Mode, UpfConfig};
    use martlet_upf_datapath::conformance::{g_pdu, session, udp_packet};
    use martlet_upf_datapath::random::{GNB, HOST, N3, from_network, outer};
    use martlet_upf_datapath::{Change, Datapath};
    use martlet_upf_kernel::bench::Bench;
    use martlet_upf_rules::Tunnel;
    use martlet_upf_testing::{in_namespace, run};
    use nix::net::if_::if_nametoindex;
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
    const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

    /// Creates a link to a neighbour.
    fn link(name: &str, ours: Ipv4Addr, neighbour: Ipv4Addr) {
        let ip = |words: String| run("ip", &words);
        ip(format!("link add {name}a type veth peer name {name}b"));
        ip(format!("link set {name}a up"));
        ip(format!("link set {name}b up"));
        ip(format!("addr add {ours}/24 dev {name}a"));
        ip(format!("neigh add {neighbour} lladdr 02:00:00:00:00:02 dev {name}a nud permanent"));
    }

    #[test]
    fn a_binding_of_a_new_flow_outlives_the_flow_that_made_it() {
        in_namespace(|| {
            link("n3", N3, GNB);
            link("n6", Ipv4Addr::new(10, 98, 0, 1), HOST);
            let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
            config.n3.address = (N3, 2152).into();
            config.n6.mode = N6Mode::Nat;
            config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
            (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 512);
            config.xdp.sockets = 0;
            (config.xdp.nat.addresses, config.xdp.nat.full_cone) = (vec![PUBLIC], true);
            (config.xdp.nat.first_port, config.xdp.nat.last_port) = (1024, 65_535);
            (config.xdp.nat.flows, config.xdp.nat.flows_per_ue) = (256, 128);
            let (mut datapath, _signals) = XdpDatapath::open(&config).expect("the datapath");
            let forwarder = datapath.forwarder.clone();
            let addresses = Bench::configured(&config, forwarder.perimeter.clone());
            let mut session = session(&addresses, 1, 7, UE);
            let to_gnb = Tunnel { teid: 0xa000, peer: GNB.into() };
            session.fars.get_mut(&2).expect("FAR 2").tunnel = Some(to_gnb);
            datapath.apply(&Change::to(&session)).expect("the session");
            let port = |name: &str| if_nametoindex(name).expect("the interface");
            let (n3, n6) = (port("n3a"), port("n6a"));
            let passes = |port: u32, frame: &[u8]| {
                let (verdict, _) = datapath.try_frame(port, frame).expect("the programs run");
                matches!(verdict, Verdict::Redirect(_))
            };
            let up = |port: u16, to: u16| {
                outer(&g_pdu(7, Some(9), &udp_packet((UE, port), (HOST, to), b"up")))
            };
            let down = |from: u16, port: u16| {
                from_network(&udp_packet((HOST, from), (PUBLIC, port), b"down")).1
            };
            // Meanwhile the datapath removes no flows itself.
            let state = &mut *forwarder.lock();
            let ports = 9000..9016;
            for port in ports.clone() {
                assert!(passes(n3, &up(port, 7000)), "port {port}: the flow that expires");
                assert!(passes(n3, &up(port, 7001)), "port {port}: the flow that remains");
                assert!(passes(n6, &down(7001, port)), "port {port}: its answer");
            }
            let (now, _) = forwarder.programs.clock().expect("the time");
            let nat = &forwarder.nat;
            let later = now + u64::from(nat.udp_unanswered + (4 << nat.epoch_shift));
            state.flows.sweep(&forwarder.programs, nat, later, |_, _| true);
            assert_eq!(state.flows.alive as usize, ports.len());
            for port in ports.clone() {
                assert!(passes(n6, &down(7777, port)), "port {port}: any host reaches it");
            }
            // All flows end, and each port gets another one after they are counted.
            let (counted, calls) = (2 * ports.len(), Cell::new(0));
            let much_later = later + u64::from(nat.udp);
            state.flows.sweep(&forwarder.programs, nat, much_later, |_, _| {
                if calls.replace(calls.get() + 1) == counted {
                    for port in ports.clone() {
                        assert!(passes(n3, &up(port, 7002)), "port {port}: the new flow");
                    }
                }
                true
            });
            assert_eq!((calls.get(), state.flows.alive), (2 * counted, 0));
            let nat = &forwarder.programs.nat;
            assert_eq!([&nat.of_ue, &nat.of_public].map(|table| table.keys().count()), [16; 2]);
            for port in ports {
                assert!(passes(n6, &down(7778, port)), "port {port}: any host reaches it again");
            }
        });
    }
}

//! Random rules and packets for the datapaths `kernel` and `xdp`: output, counters and events must
//! be equal, also of sessions that user space carries, and across changes of the rules.
//! `MARTLET_DIFFERENTIAL` is the number of rule sets, `MARTLET_SEED` the first seed. `reports` has
//! the same for N4 and its usage reports, `frames` for Ethernet sessions.
mod frames;
mod reports;
mod tap;

use super::router::Solicitations;
use super::socket::Socket;
use super::state::Waiting;
use super::{XdpDatapath, lock};
use crate::loader::{Verdict, types};
use martlet_gtpu::{Message, decode};
use martlet_upf_config::{
    DatapathChoice, EthernetConfig, ForwardingPolicyConfig, N6Mode, NetworkInstanceConfig,
    PredefinedRuleConfig, UpfConfig,
};
use martlet_upf_datapath::conformance::{Rig, session, udp_packet};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::random::{
    ANY_INSTANCE, BOARD, Draw, GNB, HOST, N3, Out, PACKETS, SERVER, SESSIONS, checksum,
    from_network, gnb6, n3_ip6, outer, outer6, set_up, without_ttl,
};
use martlet_upf_datapath::telemetry::Traffic;
use martlet_upf_datapath::{Change, Datapath, DatapathError, Event, Usage};
use martlet_upf_kernel::bench::{Bench, SentDatagram};
use martlet_upf_kernel::frame::HEADROOM;
use martlet_upf_kernel::limiter::PeerLimiter;
use martlet_upf_kernel::network_instances;
use martlet_upf_rules::*;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tap::Tap;

/// Sender of the frames that the kernel is to forward: see `bpf/forwarding.h`.
const LINK: [u8; 6] = crate::loader::LINK_MAC;

/// Hosts of the network instance have another address than those of the default one.
const BOARD_HOST: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);
const BOARD_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// The network of Ethernet sessions.
const LAN: &str = "lan";

/// Both datapaths.
struct Pair {
    kernel: Bench,
    xdp: Arc<Mutex<XdpDatapath>>,
    signals: martlet_upf_datapath::Signals,
    ports: [u32; 2],
    tap: Tap,
    config: UpfConfig,
    socket: Socket,
    /// Packets that left `kernel` by the network instance, and those that are known to have left
    /// `xdp` by it too.
    on_board: [usize; 2],
}

fn ip(words: &str) {
    // A program is sometimes not started where another thread of this one changes memory (EFAULT).
    let mut started = (0..3).map(|_| Command::new("ip").args(words.split(' ')).status());
    let status = started.find_map(Result::ok).expect("ip runs");
    assert!(status.success(), "ip {words}");
}

/// The tunnelled packet that a packet of ours is: the peer, the class, and the GTP-U message.
fn tunnelled(packet: &[u8]) -> Option<Out> {
    let (first, port) = (packet.first()?, martlet_gtpu::PORT.to_be_bytes());
    if *first == 0x45 && packet.get(9)? == &17 && packet.get(12..16)? == N3.octets() {
        let peer = <[u8; 4]>::try_from(packet.get(16..20)?).ok()?;
        let is_gtpu = packet.get(22..24)? == port;
        return is_gtpu.then(|| Out::Tunnel(peer.into(), packet[1], packet[28..].to_vec()));
    }
    if first >> 4 != 6 || packet.get(6)? != &17 || packet.get(8..24)? != n3_ip6().octets() {
        return None;
    }
    let peer = <[u8; 16]>::try_from(packet.get(24..40)?).ok()?;
    let length = usize::from(u16::from_be_bytes([*packet.get(44)?, *packet.get(45)?]));
    assert_eq!((&packet[4..6], 40 + length), (&packet[44..46], packet.len()), "lengths");
    let class = packet[0] << 4 | packet[1] >> 4;
    let is_gtpu = packet.get(42..44)? == port;
    is_gtpu.then(|| Out::Tunnel(peer.into(), class, packet[48..].to_vec()))
}

impl Pair {
    fn new(require_qfi: bool) -> Pair {
        ip("link set lo up");
        for (name, ours, theirs) in [
            ("n3", N3, GNB),
            ("n6", Ipv4Addr::new(10, 98, 0, 1), HOST),
            ("n9", Ipv4Addr::new(10, 97, 0, 1), BOARD_HOST),
        ] {
            ip(&format!("link add {name}a type veth peer name {name}b"));
            ip(&format!("link set {name}a up"));
            ip(&format!("link set {name}b up"));
            ip(&format!("addr add {ours}/24 dev {name}a"));
            ip(&format!("neigh add {theirs} lladdr 02:00:00:00:00:02 dev {name}a nud permanent"));
        }
        ip(&format!("neigh replace {BOARD_HOST} lladdr 02:00:00:00:00:09 dev n9a nud permanent"));
        // What user space sends, with the longest packets, is not fragmented.
        ip("link set n3a mtu 9216");
        ip(&format!("neigh add {SERVER} lladdr 02:00:00:00:00:02 dev n6a nud permanent"));
        ip(&format!("-6 addr add {}/64 dev n3a nodad", n3_ip6()));
        ip(&format!("-6 neigh add {} lladdr 02:00:00:00:00:02 dev n3a nud permanent", gnb6()));
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        config.n3.address = (N3, 2152).into();
        config.n3.address6 = Some(n3_ip6());
        config.n3.require_qfi = require_qfi;
        config.n4.heartbeat_s = 0;
        config.n6.mode = N6Mode::Routing;
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into(), "n9a".into()];
        config.n6.network_instances = vec![NetworkInstanceConfig {
            network_instance: BOARD.into(),
            interface: "n9a".into(),
            via: Some(BOARD_HOST),
        }];
        let policy = |name: &str, instance: Option<&str>| ForwardingPolicyConfig {
            name: name.into(),
            network_instance: instance.map(Into::into),
        };
        config.n6.forwarding_policies =
            vec![policy("to-board", Some(BOARD)), policy("to-default", None)];
        let (dnn, interface) = (LAN.into(), "lan0".into());
        config.n6.ethernet = vec![EthernetConfig { dnn, interface, gateways: vec![] }];
        let predefined = |name: &str, flows: &[&str]| PredefinedRuleConfig {
            name: name.into(),
            flows: flows.iter().map(|flow| flow.to_string()).collect(),
            ..Default::default()
        };
        config.predefined_rules = vec![
            predefined("port-7000", &["permit out 17 from any 7000 to assigned"]),
            PredefinedRuleConfig { drop: true, ..predefined("nothing", &[]) },
            PredefinedRuleConfig { qfi: 7, ..predefined("flow-7", &[]) },
        ];
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (4096, 65_536, 262_144);
        // A program that is run on a frame does not redirect it.
        config.xdp.sockets = 0;
        let (xdp, signals) = XdpDatapath::open(&config).expect("the datapath");
        // What the machine itself sends to UEs is no part of the comparison.
        ip(&format!("route flush dev {}", config.n6.interface));
        ip(&format!("-6 route flush dev {}", config.n6.interface));
        let port = |name: &str| if_nametoindex(name).expect("the interface");
        let of_instance = format!("{}x", network_instances::interface(&config.n6, 1));
        let tap = Tap::open(port("n3a"), [xdp.forwarder.inner, port(&of_instance)]);
        let perimeter = xdp.forwarder.perimeter.clone();
        let kernel = Bench::configured(&config, perimeter);
        let (xdp, ports) = (Arc::new(Mutex::new(xdp)), [port("n3a"), port("n6a")]);
        let response_limiter = PeerLimiter::per_second(1000, 1000);
        let solicitations = Solicitations::default();
        let socket = Socket { response_limiter, solicitations, frame: Vec::new(), out: Vec::new() };
        Pair { kernel, xdp, signals, ports, tap, config, socket, on_board: [0; 2] }
    }

    fn xdp(&self) -> MutexGuard<'_, XdpDatapath> {
        lock(&self.xdp)
    }

    /// The output of `kernel` for its last input.
    fn of_kernel(&mut self) -> Vec<Out> {
        let to_peers: Vec<SentDatagram> =
            self.kernel.left.to_peers.lock().unwrap().drain(..).collect();
        let to_network: Vec<(usize, Vec<u8>)> =
            self.kernel.left.to_network.lock().unwrap().drain(..).collect();
        let is_packet = |sent: &SentDatagram| matches!(decode(&sent.bytes), Ok(Message::GPdu(_)));
        let tunnelled = to_peers.into_iter().filter(is_packet);
        let tunnelled = tunnelled.map(|sent| Out::Tunnel(sent.peer, sent.marking, sent.bytes));
        let to_network = to_network.into_iter();
        tunnelled
            .chain(to_network.map(|(n, packet)| Out::Network(n, without_ttl(packet))))
            .collect()
    }

    /// The output of `xdp` for a frame. `datagram`: what the kernel makes of it where the programs
    /// leave it to the kernel, with its sender. `whole`: the frame is well-formed; otherwise an
    /// invalid checksum may remain invalid.
    fn of_xdp(
        &self,
        port: u32,
        frame: &[u8],
        datagram: Option<(&[u8], IpAddr)>,
        whole: bool,
    ) -> Vec<Out> {
        let xdp = self.xdp();
        let (verdict, frame) = xdp.try_frame(port, frame).expect("the programs run");
        if let (Verdict::Pass, Some((datagram, from))) = (verdict, datagram) {
            let mut buffer = [&[0; HEADROOM][..], datagram].concat();
            let local = if from.is_ipv4() { N3.into() } else { n3_ip6().into() };
            let from = SocketAddr::new(from, martlet_gtpu::PORT);
            lock(&xdp.frames).take(&mut buffer, from, local, Instant::now());
        }
        let state = &mut *xdp.forwarder.lock();
        xdp.forwarder.take_events(state);
        xdp.forwarder.release_noted(state);
        let mut all = self.tap.take();
        if matches!(verdict, Verdict::Redirect(_) | Verdict::Transmit) {
            all.push(left(&frame, whole));
        }
        all
    }

    fn uplink(&mut self, datagram: &[u8], whole: bool, over_ip6: bool) -> (Vec<Out>, Vec<Out>) {
        self.kernel.send_n3(datagram);
        let (frame, from) = match over_ip6 {
            true => (outer6(datagram), gnb6().into()),
            false => (outer(datagram), GNB.into()),
        };
        let xdp = self.of_xdp(self.ports[0], &frame, Some((datagram, from)), whole);
        self.as_known(xdp)
    }

    /// A datagram that the kernel has put together, with a packet that no link of `xdp` carries.
    /// The programs drop it. User space sends it into tunnels alone.
    fn long(&mut self, datagram: &[u8]) {
        let too_long = |xdp: &XdpDatapath| xdp.counters().drops(DropReason::TooLong).get();
        let (from, local) = (SocketAddr::new(GNB.into(), martlet_gtpu::PORT), N3.into());
        let (now, xdp) = (Instant::now(), self.xdp.clone());
        let xdp = lock(&xdp);
        let before = too_long(&xdp);
        let in_user_space = {
            let mut buffer = [&[0; HEADROOM][..], datagram].concat();
            lock(&xdp.frames).take(&mut buffer, from, local, now).is_some()
        };
        if !in_user_space {
            self.socket.take(&xdp.forwarder, datagram, from, local, now);
        }
        let (left, dropped) = (self.tap.take(), too_long(&xdp) - before);
        drop(xdp);
        if !in_user_space {
            return assert_eq!((left, dropped), (vec![], 1), "a long packet for the programs");
        }
        self.kernel.send_n3(datagram);
        let (to_network, tunnelled): (Vec<Out>, Vec<Out>) =
            self.of_kernel().into_iter().partition(|out| matches!(out, Out::Network(..)));
        assert_eq!((tunnelled, to_network.len() as u64), (left, dropped), "in user space");
    }

    /// `kernel` receives packets after the machine has forwarded them.
    fn downlink(&mut self, packet: &[u8]) -> (Vec<Out>, Vec<Out>) {
        let (aged, frame) = from_network(packet);
        self.kernel.packet_from_network(&aged);
        let xdp = self.of_xdp(self.ports[1], &frame, None, true);
        self.as_known(xdp)
    }

    /// The output of `kernel`, without network instances that are not known of `xdp`, and that of
    /// `xdp`.
    fn as_known(&mut self, xdp: Vec<Out>) -> (Vec<Out>, Vec<Out>) {
        let mut kernel = self.of_kernel();
        for (out, other) in kernel.iter_mut().zip(&xdp) {
            let (Out::Network(instance, _), Out::Network(known, _)) = (out, other) else {
                continue;
            };
            self.on_board[0] += usize::from(*instance == 1);
            self.on_board[1] += usize::from((*instance, *known) == (1, 1));
            if *known == ANY_INSTANCE {
                *instance = ANY_INSTANCE;
            }
        }
        (kernel, xdp)
    }

    /// The events of both since the last call, in an order of their own.
    fn events(&mut self) -> [Vec<Event>; 2] {
        let order = |mut events: Vec<Event>| {
            events.sort_by_key(|event| format!("{event:?}"));
            events
        };
        let kernel = std::iter::from_fn(|| self.kernel.events.try_recv().ok()).collect();
        let xdp = std::iter::from_fn(|| self.signals.events.try_recv().ok()).collect();
        [order(kernel), order(xdp)]
    }

    /// Applies a change to both, or to none: `xdp` has limits that `kernel` has not.
    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.xdp().apply(change)?;
        self.kernel.datapath().apply(change).expect("`kernel` takes what `xdp` takes");
        Ok(())
    }

    /// What both have forwarded and dropped.
    fn traffic(&mut self, sessions: &[Session]) -> [Vec<Traffic>; 2] {
        let seids: Vec<u64> = sessions.iter().map(|session| session.seid).collect();
        [self.kernel.datapath().traffic(&seids), self.xdp().traffic(&seids)]
    }

    /// Takes the usage of some URRs, which has to be equal.
    fn take_usage(&mut self, seid: u64, urrs: &[u32]) {
        let kernel = counted(self.kernel.datapath().take_usage(seid, urrs));
        let xdp = counted(self.xdp().take_usage(seid, urrs));
        assert_eq!(kernel, xdp, "usage of session {seid}, URRs {urrs:?}");
    }
}

/// The output in a frame that the programs have redirected.
fn left(frame: &[u8], whole: bool) -> Out {
    let packet = frame[14..].to_vec();
    if let Some(out) = tunnelled(&packet) {
        return out;
    }
    if whole && frame[6..12] != LINK {
        let mut right = packet.clone();
        checksum(&mut right);
        assert_eq!(right, packet, "the header's checksum");
    }
    // Frames for the kernel are alike in all network instances.
    let instance = match (frame[6..12] == LINK, frame[..6] == BOARD_MAC) {
        (true, _) => ANY_INSTANCE,
        (false, is_board) => usize::from(is_board),
    };
    Out::Network(instance, without_ttl(packet))
}

/// Usage, without the times.
fn counted(mut usage: Vec<Usage>) -> Vec<(u32, [u64; 4])> {
    usage.sort_by_key(|usage| usage.urr);
    let of = |u: &Usage| [u.uplink_bytes, u.downlink_bytes, u.uplink_packets, u.downlink_packets];
    usage
        .iter()
        .map(|usage| (usage.urr, of(usage)))
        .filter(|(_, counts)| *counts != [0; 4])
        .collect()
}

/// Compares the events of both, and does what N4 does with them.
fn follow_events(pair: &mut Pair, sessions: &mut [Session], seed: u64) {
    let [kernel, xdp] = pair.events();
    assert_eq!(kernel, xdp, "events: seed {seed}\n{sessions:#?}");
    for event in kernel {
        match event {
            Event::TrafficStarted { seid, urr } => {
                let session = sessions.iter_mut().find(|session| session.seid == seid);
                let urr = session.and_then(|session| session.urrs.get_mut(&urr));
                urr.expect("a URR of the session").awaits_traffic = false;
            }
            Event::UsageReached { seid, urr, .. } => pair.take_usage(seid, &[urr]),
            _ => {}
        }
    }
}

/// Whether a packet is left out. One for another UE of a session in user space: the kernel forwards
/// it to that UE, which `kernel` does itself. One for the UE's own address: the programs count it
/// from the UE only after they have applied the quota to the UE.
fn is_switched(sessions: &[Session], in_user_space: &BTreeSet<u64>, datagram: &[u8]) -> bool {
    let Ok(Message::GPdu(pdu)) = decode(datagram) else { return false };
    let from = sessions.iter().find(|session| session.teids().contains(&pdu.teid));
    let to = Flow::of(pdu.payload).map(|flow| UeAddress::of(flow.destination));
    let (Some(from), Some(to)) = (from, to) else { return false };
    let mut served = sessions.iter().filter(|other| other.ue_addresses().contains(&to));
    served.any(|other| other.seid == from.seid || in_user_space.contains(&from.seid))
}

fn one_set(pair: &mut Pair, seed: u64) -> usize {
    let mut draw = Draw::new(seed);
    let mut sessions = Vec::new();
    let mut in_user_space = BTreeSet::new();
    for n in 0..SESSIONS {
        let mut session = draw.session(n);
        // The gNB of every third one has IPv6 on N3.
        for far in session.fars.values_mut().filter(|_| (seed + u64::from(n)).is_multiple_of(3)) {
            far.tunnel = far.tunnel.map(|tunnel| Tunnel { peer: gnb6().into(), ..tunnel });
        }
        if draw.chance(30) {
            draw.make_rare(&mut session);
        }
        if draw.chance(30) {
            draw.detect(&mut session);
        }
        if draw.chance(30) {
            draw.route(&mut session);
        }
        if let Err(error) = pair.apply(&Change::to(&session)) {
            // `xdp` reports its limits; `kernel` has none of these.
            assert!(matches!(error, DatapathError::Pdr { .. }), "seed {seed}: {error}");
            continue;
        }
        in_user_space.extend(session.is_rare().then_some(session.seid));
        sessions.push(session);
    }
    let mut forwarded = 0;
    for nth in 0..PACKETS {
        if !sessions.is_empty() && draw.chance(6) {
            follow_events(pair, &mut sessions, seed);
            let at = draw.below(sessions.len());
            let mut changed = sessions[at].clone();
            draw.change(&mut changed);
            let change = Change { drop_buffered: true, ..Change::to(&changed) };
            match pair.apply(&change) {
                Ok(()) => sessions[at] = changed,
                Err(error) => {
                    assert!(matches!(error, DatapathError::Pdr { .. }), "seed {seed}: {error}")
                }
            }
            in_user_space.extend(sessions[at].is_rare().then_some(sessions[at].seid));
        }
        if !sessions.is_empty() && draw.chance(3) {
            let at = draw.below(sessions.len());
            let packet = draw.long(&sessions[at]);
            pair.long(&packet);
        }
        let (packet, up) =
            if draw.chance(60) { (draw.uplink(), true) } else { (draw.downlink(), false) };
        let whole = draw.was_whole();
        if up && is_switched(&sessions, &in_user_space, &packet) {
            continue;
        }
        let (kernel, xdp) =
            if up { pair.uplink(&packet, whole, nth % 3 == 0) } else { pair.downlink(&packet) };
        forwarded += usize::from(!kernel.is_empty());
        assert_eq!(
            kernel,
            xdp,
            "kernel, and xdp: seed {seed}, packet {nth}, uplink {up}: {packet:02x?}\n{:#?}\n\
             in user space: {in_user_space:?}\n{sessions:#?}",
            pair.traffic(&sessions)
        );
    }
    follow_events(pair, &mut sessions, seed);
    for session in &sessions {
        let seid = session.seid;
        let in_kernel = pair.kernel.datapath();
        let kernel = (in_kernel.buffered(seid).packets, in_kernel.forwarded(seid));
        let in_xdp = pair.xdp();
        let xdp = (in_xdp.buffered(seid).packets, in_xdp.forwarded(seid));
        drop(in_xdp);
        assert_eq!(kernel, xdp, "packets that wait, and bytes: seed {seed}, session {seid}");
        let is_close = |kernel: Option<Instant>, xdp: Option<Instant>| {
            let apart = kernel.zip(xdp).map(|(one, other)| one.max(other) - one.min(other));
            // The programs' clock has ticks of some milliseconds.
            let is_close = apart.is_none_or(|apart| apart < Duration::from_secs(1));
            assert!(
                is_close && kernel.is_some() == xdp.is_some(),
                "last packets: seed {seed}, session {seid}: {kernel:?}, {xdp:?}\n{session:#?}"
            );
        };
        is_close(pair.kernel.datapath().last_activity(seid), pair.xdp().last_activity(seid));
        for urr in session.urrs.keys() {
            let kernel = pair.kernel.datapath().last_packet(seid, *urr);
            is_close(kernel, pair.xdp().last_packet(seid, *urr));
        }
        let usage =
            (counted(pair.kernel.datapath().remove(seid)), counted(pair.xdp().remove(seid)));
        assert_eq!(usage.0, usage.1, "usage: seed {seed}, session {seid}");
    }
    let unmarked = (
        pair.kernel.datapath().counters().unmarked_packets.get(),
        pair.xdp().counters().unmarked_packets.get(),
    );
    assert_eq!(unmarked.0, unmarked.1, "packets without a QFI: seed {seed}");
    let reason = DropReason::NoQfi;
    let dropped = (
        pair.kernel.datapath().counters().drops(reason).get(),
        pair.xdp().counters().drops(reason).get(),
    );
    assert_eq!(dropped.0, dropped.1, "packets without a required QFI: seed {seed}");
    forwarded
}

/// Does work in a network namespace of its own, or skips it without the right to make one.
fn in_namespace(work: impl FnOnce() + Send + 'static) {
    let work = std::thread::spawn(move || match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => work(),
        Err(error) => eprintln!(
            "SKIPPED: a network namespace cannot be made ({error}); run the tests as root"
        ),
    });
    if let Err(panic) = work.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn kernel_and_xdp_agree_on_random_rules_and_packets() {
    agree(false);
}

#[test]
fn kernel_and_xdp_agree_where_a_qfi_is_required() {
    agree(true);
}

#[test]
fn a_packet_that_is_buffered_after_the_last_one_was_sent_leaves() {
    in_namespace(|| {
        let pair = Pair::new(false);
        let ue = Ipv4Addr::new(10, 45, 0, 2);
        let mut session = session(&pair.kernel, 1, 7, ue);
        let to_gnb = Tunnel { teid: 0xa000, peer: GNB.into() };
        session.fars.get_mut(&2).expect("FAR 2").tunnel = Some(to_gnb);
        pair.xdp().apply(&Change::to(&session)).expect("the session");
        let forwarder = pair.xdp().forwarder.clone();
        // As a program hands it over that saw another packet waiting.
        let buffer = |number: u32| {
            let state = &mut *forwarder.lock();
            let slot = state.sessions[&1].slot;
            let of_session = &forwarder.programs.sessions;
            let pending = of_session.u32(slot, offset_of!(types::session, pending));
            pending.fetch_add(1, Ordering::Relaxed);
            let packet = udp_packet((HOST, 7000), (ue, 9000), b"late");
            let waiting = Waiting { number, packet, tunnel: None };
            assert_eq!(forwarder.keep(state, slot, (2, false), waiting), Some(1));
            assert_eq!((state.sessions[&1].waiting.len(), state.waiting), (1, 1));
        };
        buffer(0);
        {
            let state = &mut *forwarder.lock();
            state.to_release.push(1);
            forwarder.release_noted(state);
            assert_eq!((state.sessions[&1].waiting.len(), state.waiting), (0, 0));
        }
        // Its session may end before.
        buffer(1);
        forwarder.remove(&[1]);
        assert_eq!(forwarder.lock().waiting, 0);
    });
}

fn agree(require_qfi: bool) {
    let (sets, first) = set_up();
    in_namespace(move || {
        let mut pair = Pair::new(require_qfi);
        let forwarded: usize = (0..sets).map(|n| one_set(&mut pair, first + n)).sum();
        // A minimum share of the packets is forwarded, otherwise the comparison is void.
        assert!(
            forwarded as u64 > sets * PACKETS as u64 / 6,
            "{forwarded} of {}",
            sets * PACKETS as u64
        );
        // Packets without a QFI are among them, or are dropped; so are long ones, and some leave by
        // another network instance.
        let counters = pair.xdp().counters();
        assert!(counters.drops(DropReason::TooLong).get() > 0 && pair.on_board[1] > 0);
        let of_none = if require_qfi {
            counters.drops(DropReason::NoQfi)
        } else {
            &counters.unmarked_packets
        };
        assert!(of_none.get() > 0);
    });
}

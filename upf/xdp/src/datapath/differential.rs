//! Random rules and packets for the datapaths `kernel` and `xdp`: output and counters must be
//! equal. `MARTLET_DIFFERENTIAL` is the number of rule sets, `MARTLET_SEED` the first seed.
use super::XdpDatapath;
use crate::loader::Verdict;
use martlet_gtpu::{Message, decode};
use martlet_upf_config::{DatapathChoice, KernelLimits, N6Mode, UpfConfig};
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::random::{
    Draw, GNB, HOST, N3, Out, PACKETS, SESSIONS, checksum, from_network, gnb6, n3_ip6, outer,
    outer6, set_up, without_ttl,
};
use martlet_upf_datapath::{Change, Datapath, DatapathError, Event, Usage};
use martlet_upf_kernel::bench::Bench;
use martlet_upf_rules::*;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// Sender of the frames that the kernel is to forward: see `bpf/forwarding.h`.
const LINK: [u8; 6] = crate::loader::LINK_MAC;

/// Both datapaths.
struct Pair {
    kernel: Bench,
    xdp: XdpDatapath,
    signals: martlet_upf_datapath::Signals,
    ports: [u32; 2],
}

fn ip(words: &str) {
    // A program is sometimes not started where another thread of this one changes memory (EFAULT).
    let mut started = (0..3).map(|_| Command::new("ip").args(words.split(' ')).status());
    let status = started.find_map(Result::ok).expect("ip runs");
    assert!(status.success(), "ip {words}");
}

impl Pair {
    fn new(require_qfi: bool) -> Pair {
        ip("link set lo up");
        for (name, ours, theirs) in [("n3", N3, GNB), ("n6", Ipv4Addr::new(10, 98, 0, 1), HOST)] {
            ip(&format!("link add {name}a type veth peer name {name}b"));
            ip(&format!("link set {name}a up"));
            ip(&format!("link set {name}b up"));
            ip(&format!("addr add {ours}/24 dev {name}a"));
            ip(&format!("neigh add {theirs} lladdr 02:00:00:00:00:02 dev {name}a nud permanent"));
        }
        ip(&format!("-6 addr add {}/64 dev n3a nodad", n3_ip6()));
        ip(&format!("-6 neigh add {} lladdr 02:00:00:00:00:02 dev n3a nud permanent", gnb6()));
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        config.n3.address = (N3, 2152).into();
        config.n3.address6 = Some(n3_ip6());
        config.n3.require_qfi = require_qfi;
        config.n6.mode = N6Mode::Routing;
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (4096, 65_536, 262_144);
        // A program that is run on a frame does not redirect it.
        config.xdp.sockets = 0;
        let (xdp, signals) = XdpDatapath::open(&config).expect("the datapath");
        let port = |name: &str| if_nametoindex(name).expect("the interface");
        let perimeter = xdp.forwarder.perimeter.clone();
        let kernel = Bench::within(KernelLimits::default(), &config.n3, perimeter);
        Pair { kernel, xdp, signals, ports: [port("n3a"), port("n6a")] }
    }

    /// The output of `kernel` for its last input.
    fn of_kernel(&mut self) -> Out {
        let to_peers: Vec<(IpAddr, Vec<u8>)> =
            self.kernel.left.to_peers.lock().unwrap().drain(..).collect();
        let to_network: Vec<Vec<u8>> =
            self.kernel.left.to_network.lock().unwrap().drain(..).collect();
        let tunnelled =
            to_peers.into_iter().find(|(_, bytes)| matches!(decode(bytes), Ok(Message::GPdu(_))));
        match (tunnelled, to_network.into_iter().next()) {
            (Some((peer, bytes)), None) => {
                Out::Tunnel(peer, self.kernel.left.marking.load(Ordering::Relaxed), bytes)
            }
            (None, Some(packet)) => Out::Network(without_ttl(packet)),
            (None, None) => Out::Nothing,
            both => panic!("one packet became {both:?}"),
        }
    }

    /// The output of `xdp` for a frame. `whole`: the frame is well-formed; otherwise an invalid
    /// checksum may remain invalid.
    fn of_xdp(&self, port: u32, frame: &[u8], whole: bool) -> Out {
        let (verdict, frame) = self.xdp.try_frame(port, frame).expect("the programs run");
        match verdict {
            Verdict::Redirect(_) | Verdict::Transmit => {}
            Verdict::Drop | Verdict::Pass | Verdict::Keep => return Out::Nothing,
        }
        let packet = frame[14..].to_vec();
        if packet[0] == 0x45
            && packet[9] == 17
            && packet[12..16] == N3.octets()
            && packet[22..24] == 2152u16.to_be_bytes()
        {
            let peer = Ipv4Addr::from_octets([packet[16], packet[17], packet[18], packet[19]]);
            return Out::Tunnel(peer.into(), packet[1], packet[28..].to_vec());
        }
        if packet[0] >> 4 == 6
            && packet[6] == 17
            && packet[8..24] == n3_ip6().octets()
            && packet[42..44] == [0x08, 0x68]
        {
            let peer = <[u8; 16]>::try_from(&packet[24..40]).expect("16 bytes");
            let length = usize::from(u16::from_be_bytes([packet[44], packet[45]]));
            assert_eq!(
                (packet[4..6].to_vec(), 40 + length),
                (packet[44..46].to_vec(), packet.len()),
                "lengths"
            );
            let class = packet[0] << 4 | packet[1] >> 4;
            return Out::Tunnel(Ipv6Addr::from(peer).into(), class, packet[48..].to_vec());
        }
        if whole && frame[6..12] != LINK {
            let mut right = packet.clone();
            checksum(&mut right);
            assert_eq!(right, packet, "the header's checksum");
        }
        Out::Network(without_ttl(packet))
    }

    fn uplink(&mut self, datagram: &[u8], whole: bool, over_ip6: bool) -> (Out, Out) {
        self.kernel.send_n3(datagram);
        let frame = if over_ip6 { outer6(datagram) } else { outer(datagram) };
        (self.of_kernel(), self.of_xdp(self.ports[0], &frame, whole))
    }

    /// `kernel` receives packets after the machine has forwarded them.
    fn downlink(&mut self, packet: &[u8]) -> (Out, Out) {
        let (aged, frame) = from_network(packet);
        self.kernel.packet_from_network(&aged);
        (self.of_kernel(), self.of_xdp(self.ports[1], &frame, true))
    }
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

/// The URRs whose traffic has started, by session.
fn started(events: &mut mpsc::Receiver<Event>) -> BTreeSet<(u64, u32)> {
    let mut started = BTreeSet::new();
    while let Ok(event) = events.try_recv() {
        if let Event::TrafficStarted { seid, urr } = event {
            assert!(started.insert((seid, urr)), "once: session {seid}, URR {urr}");
        }
    }
    started
}

fn one_set(pair: &mut Pair, seed: u64) -> usize {
    let mut draw = Draw::new(seed);
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let mut session = draw.session(n);
        // The gNB of every third one has IPv6 on N3.
        for far in session.fars.values_mut().filter(|_| (seed + u64::from(n)).is_multiple_of(3)) {
            far.tunnel = far.tunnel.map(|tunnel| Tunnel { peer: gnb6().into(), ..tunnel });
        }
        let taken = pair.xdp.apply(&Change::to(&session));
        if let Err(error) = taken {
            // `xdp` reports its limits; `kernel` has none of these.
            assert!(matches!(error, DatapathError::Pdr { .. }), "seed {seed}: {error}");
            continue;
        }
        pair.kernel
            .datapath()
            .apply(&Change::to(&session))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        sessions.push(session);
    }
    let mut forwarded = 0;
    for nth in 0..PACKETS {
        let (packet, up) =
            if draw.chance(60) { (draw.uplink(), true) } else { (draw.downlink(), false) };
        let whole = draw.was_whole();
        let (kernel, xdp) =
            if up { pair.uplink(&packet, whole, nth % 3 == 0) } else { pair.downlink(&packet) };
        forwarded += usize::from(kernel != Out::Nothing);
        assert_eq!(
            kernel, xdp,
            "kernel, and xdp: seed {seed}, packet {nth}, uplink {up}: {packet:02x?}\n{sessions:#?}"
        );
    }
    for session in &sessions {
        let seid = session.seid;
        let waiting =
            (pair.kernel.datapath().buffered(seid).packets, pair.xdp.buffered(seid).packets);
        assert_eq!(waiting.0, waiting.1, "packets that wait: seed {seed}");
        let usage = (counted(pair.kernel.datapath().remove(seid)), counted(pair.xdp.remove(seid)));
        assert_eq!(usage.0, usage.1, "usage: seed {seed}, session {seid}");
    }
    let started = (started(&mut pair.kernel.events), started(&mut pair.signals.events));
    assert_eq!(started.0, started.1, "starts of traffic: seed {seed}");
    let unmarked = (
        pair.kernel.datapath().counters().unmarked_packets.get(),
        pair.xdp.counters().unmarked_packets.get(),
    );
    assert_eq!(unmarked.0, unmarked.1, "packets without a QFI: seed {seed}");
    let reason = DropReason::NoQfi;
    let dropped = (
        pair.kernel.datapath().counters().drops(reason).get(),
        pair.xdp.counters().drops(reason).get(),
    );
    assert_eq!(dropped.0, dropped.1, "packets without a required QFI: seed {seed}");
    forwarded
}

#[test]
fn kernel_and_xdp_agree_on_random_rules_and_packets() {
    agree(false);
}

#[test]
fn kernel_and_xdp_agree_where_a_qfi_is_required() {
    agree(true);
}

fn agree(require_qfi: bool) {
    let (sets, first) = set_up();
    let work = std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!(
                "SKIPPED: a network namespace cannot be made ({error}); run the tests as root"
            );
            return;
        }
        let mut pair = Pair::new(require_qfi);
        let forwarded: usize = (0..sets).map(|n| one_set(&mut pair, first + n)).sum();
        // A minimum share of the packets is forwarded, otherwise the comparison is void.
        assert!(
            forwarded as u64 > sets * PACKETS as u64 / 6,
            "{forwarded} of {}",
            sets * PACKETS as u64
        );
        // Packets without a QFI are among them, or are dropped.
        let counters = pair.xdp.counters();
        let of_none = if require_qfi {
            counters.drops(DropReason::NoQfi)
        } else {
            &counters.unmarked_packets
        };
        assert!(of_none.get() > 0);
    });
    if let Err(panic) = work.join() {
        std::panic::resume_unwind(panic);
    }
}

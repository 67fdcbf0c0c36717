//! The same rules and the same packets for the datapaths `kernel` and `xdp`, drawn at random: what comes out has to be the
//! same, and what they count. `MARTLET_DIFFERENTIAL` is how many sets of rules are drawn, `MARTLET_SEED` where it begins.
use super::XdpDatapath;
use crate::config::{DatapathChoice, KernelLimits, N6Mode, UpfConfig};
use crate::conformance::Rig;
use crate::datapath::{Change, Datapath, DatapathError, Usage};
use crate::kernel::bench::Bench;
use crate::rules::*;
use martlet_gtpu::{Message, decode};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId, ReportingTriggers, SdfFilter};
use martlet_upf_xdp::Verdict;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;

pub(crate) const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
pub(crate) const SESSIONS: u32 = 3;
pub(crate) const PACKETS: usize = 60;
/// What the kernel gets for it to forward has this sender: see `bpf/forwarding.h`.
const LINK: [u8; 6] = martlet_upf_xdp::LINK_MAC;

fn teid(n: u32) -> u32 {
    0x100 + n
}

fn ue4(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a2d_0002 + n)
}

fn ue6(n: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((0x2001_0db8_0045_0000 + u128::from(n)) << 64 | 7)
}

pub(crate) fn n3_ip6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd70 << 112 | 1)
}

pub(crate) fn gnb6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd70 << 112 | 2)
}

pub(crate) fn host6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0db8_0098_0000 << 64 | 2)
}

/// What becomes of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Out {
    Nothing,
    /// To the data network; without the checksum of its header and its TTL, which are the kernel's affair in one of them.
    Network(Vec<u8>),
    /// In a tunnel: to whom, and the GTP-U message.
    Tunnel(IpAddr, Vec<u8>),
}

pub(crate) fn without_ttl(mut packet: Vec<u8>) -> Vec<u8> {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            packet[8] = 0;
            packet[10..12].fill(0);
        }
        Some(6) if packet.len() >= 40 => packet[7] = 0,
        _ => {}
    }
    packet
}

fn checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let sum = crate::checksum::internet(&packet[..header.min(packet.len())]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The frame of a datagram from the gNB to our GTP-U port.
pub(crate) fn outer(datagram: &[u8]) -> Vec<u8> {
    let mut outer = vec![0x45, 0];
    outer.extend((28 + datagram.len() as u16).to_be_bytes());
    outer.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    outer.extend(GNB.octets());
    outer.extend(N3.octets());
    outer.extend([0x08, 0x68, 0x08, 0x68]);
    outer.extend((8 + datagram.len() as u16).to_be_bytes());
    outer.extend([0, 0]);
    outer.extend(datagram);
    checksum(&mut outer[..20]);
    [&[2; 12][..], &[8, 0], &outer].concat()
}

/// The same over IPv6.
pub(crate) fn outer6(datagram: &[u8]) -> Vec<u8> {
    let length = (8 + datagram.len() as u16).to_be_bytes();
    let ip = [&[0x60, 0, 0, 0, length[0], length[1], 17, 64][..], &gnb6().octets(), &n3_ip6().octets()].concat();
    let udp = [0x08, 0x68, 0x08, 0x68, length[0], length[1], 0, 0];
    [&[2; 12][..], &[0x86, 0xdd], &ip, &udp, datagram].concat()
}

/// Both datapaths.
struct Pair {
    kernel: Bench,
    xdp: XdpDatapath,
    _signals: crate::kernel::Signals,
    ports: [u32; 2],
}

fn ip(words: &str) {
    // A program is sometimes not started where another thread of this one changes memory (EFAULT).
    let mut started = (0..3).map(|_| Command::new("ip").args(words.split(' ')).status());
    let status = started.find_map(Result::ok).expect("ip runs");
    assert!(status.success(), "ip {words}");
}

impl Pair {
    fn new() -> Pair {
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
        config.n6.mode = N6Mode::Routing;
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (4096, 65_536, 262_144);
        // A program that is run on a frame does not redirect it.
        config.xdp.sockets = 0;
        let (xdp, signals) = XdpDatapath::open(&config).expect("the datapath");
        let port = |name: &str| if_nametoindex(name).expect("the interface");
        let kernel = Bench::ending_at(KernelLimits::default(), &config.n3);
        Pair { kernel, xdp, _signals: signals, ports: [port("n3a"), port("n6a")] }
    }

    /// What `kernel` made of what it was given last.
    fn of_kernel(&mut self) -> Out {
        let to_peers: Vec<(IpAddr, Vec<u8>)> = self.kernel.left.to_peers.lock().unwrap().drain(..).collect();
        let to_network: Vec<Vec<u8>> = self.kernel.left.to_network.lock().unwrap().drain(..).collect();
        let tunnelled = to_peers.into_iter().find(|(_, octets)| matches!(decode(octets), Ok(Message::GPdu(_))));
        match (tunnelled, to_network.into_iter().next()) {
            (Some((peer, octets)), None) => Out::Tunnel(peer, octets),
            (None, Some(packet)) => Out::Network(without_ttl(packet)),
            (None, None) => Out::Nothing,
            both => panic!("one packet became {both:?}"),
        }
    }

    /// What `xdp` makes of a frame, which is `whole` if nothing in it was spoiled: a wrong checksum stays one.
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
            return Out::Tunnel(peer.into(), packet[28..].to_vec());
        }
        if packet[0] == 0x60 && packet[6] == 17 && packet[8..24] == n3_ip6().octets() && packet[42..44] == [0x08, 0x68]
        {
            let peer = <[u8; 16]>::try_from(&packet[24..40]).expect("16 octets");
            let length = usize::from(u16::from_be_bytes([packet[44], packet[45]]));
            assert_eq!((packet[4..6].to_vec(), 40 + length), (packet[44..46].to_vec(), packet.len()), "lengths");
            return Out::Tunnel(Ipv6Addr::from(peer).into(), packet[48..].to_vec());
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

    /// `kernel` gets what its machine has forwarded.
    fn downlink(&mut self, packet: &[u8]) -> (Out, Out) {
        let (aged, frame) = from_network(packet);
        self.kernel.packet_from_network(&aged);
        (self.of_kernel(), self.of_xdp(self.ports[1], &frame, true))
    }
}

/// A packet from the data network: as a machine has forwarded it, and in the frame in which it came there.
pub(crate) fn from_network(packet: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut aged = packet.to_vec();
    let protocol = if packet[0] >> 4 == 4 {
        aged[8] -= 1;
        checksum(&mut aged);
        [8, 0]
    } else {
        aged[7] -= 1;
        [0x86, 0xdd]
    };
    (aged, [&[2; 12][..], &protocol, packet].concat())
}

/// Draws rules and packets; the second is whether the last packet was spoiled.
pub(crate) struct Draw(StdRng, bool);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(StdRng::seed_from_u64(seed), false)
    }

    /// Whether nothing in the last packet was spoiled.
    pub fn was_whole(&mut self) -> bool {
        !std::mem::take(&mut self.1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("something to choose from")
    }

    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    fn port(&mut self) -> u16 {
        self.one(&[7000, 7001, 7002, 9000, 53, 0, 65_535])
    }

    fn ports(&mut self) -> String {
        match self.0.random_range(0..4) {
            0 => String::new(),
            1 => format!(" {}", self.port()),
            2 => " 7000-7001".into(),
            _ => format!(" {},9000-9002,1-60", self.port()),
        }
    }

    fn network(&mut self, v6: bool) -> String {
        let not = if self.chance(15) { "!" } else { "" };
        match (self.0.random_range(0..4), v6) {
            (0 | 1, _) => "any".into(),
            (2, false) => format!("{not}10.98.0.0/24"),
            (_, false) => format!("{not}10.98.0.2"),
            (2, true) => format!("{not}2001:db8:98::/48"),
            (_, true) => format!("{not}2001:db8:98::2"),
        }
    }

    fn filter(&mut self) -> SdfFilter {
        let protocol = self.one(&["ip", "17", "6", "1", "58", "50"]);
        let v6 = self.chance(25);
        let (remote, ue) = (self.network(v6), if self.chance(80) { "assigned".into() } else { "any".to_string() });
        let ports =
            if matches!(protocol, "ip" | "17" | "6") { (self.ports(), self.ports()) } else { Default::default() };
        let text = format!("permit out {protocol} from {remote}{} to {ue}{}", ports.0, ports.1);
        let tos_traffic_class = self.chance(15).then(|| [self.one(&[0, 0x28, 0xb8]), self.one(&[0xfc, 0xff])]);
        let spi = self.chance(5).then_some(0x1234_5678);
        let flow_label = self.chance(5).then_some([1, 0x23, 0x45]);
        SdfFilter {
            flow_description: Some(text),
            tos_traffic_class,
            security_parameter_index: spi,
            flow_label,
            ..Default::default()
        }
    }

    pub fn session(&mut self, n: u32) -> Session {
        let gnb = IpAddr::V4(GNB);
        let seid = u64::from(n) + 1;
        let mut session = Session::new(seid, FSeid::new(seid, gnb), NodeId::Ip(gnb));
        let ue = match self.0.random_range(0..3) {
            0 => vec![UeAddress::V4(ue4(n))],
            1 => vec![UeAddress::V4(ue4(n)), UeAddress::of(ue6(n).into())],
            _ => vec![UeAddress::of(ue6(n).into())],
        };
        let mut id = 0;
        for source in [Interface::Access, Interface::Core] {
            let count = self.0.random_range(1..8u16);
            for nth in 1..=count {
                id += 1;
                let last = nth == count;
                let up = source == Interface::Access;
                let filters = if last && self.chance(70) {
                    vec![]
                } else {
                    (0..self.0.random_range(1..4)).map(|_| self.filter()).collect()
                };
                let pdr = Pdr {
                    returns: false,
                    application: None,
                    beyond: None,
                    id,
                    precedence: if last { 1000 } else { self.0.random_range(1..20) },
                    source,
                    local: up.then_some(LocalTunnel { teid: teid(n), ipv4: Some(N3), ipv6: None }),
                    network_instance: None,
                    ue: if up && self.chance(30) { vec![] } else { ue.clone() },
                    filters,
                    rules: vec![],
                    qfis: if up && self.chance(20) { vec![5, 9] } else { vec![] },
                    outer_header_removal: up,
                    far: id.into(),
                    qers: self.one(&[&[][..], &[1], &[2], &[1, 3]]).to_vec(),
                    urrs: self.one(&[&[][..], &[1], &[2], &[1, 2]]).to_vec(),
                };
                session.pdrs.insert(id, pdr);
                let to_tunnel = if up { self.chance(15) } else { self.chance(92) };
                let destination = if up || !to_tunnel { Interface::Core } else { Interface::Access };
                let action = match self.0.random_range(0..10) {
                    0 => Action::Drop,
                    1 if !up => Action::Buffer { notify: self.chance(50) },
                    _ => Action::Forward,
                };
                let tunnel = to_tunnel.then(|| Tunnel { teid: 0xa000 + n, peer: gnb });
                let far = Far { destination: Some(destination), tunnel, ..Far::new(id.into(), action) };
                session.fars.insert(id.into(), far);
            }
        }
        let closed = GateStatus { uplink_closed: self.chance(10), downlink_closed: self.chance(10) };
        let fast = Some(BitRate { uplink: 1 << 40, downlink: if self.chance(10) { 0 } else { 1 << 40 } });
        for (id, gate, mbr, qfi) in [
            (1, GateStatus::default(), None, Some(9)),
            (2, closed, None, None),
            (3, GateStatus::default(), fast, Some(5)),
        ] {
            session.qers.insert(id, Qer { id, gate, mbr, gbr: None, qfi, reflective: self.chance(30) });
        }
        for id in [1, 2] {
            let quota = self
                .chance(25)
                .then(|| VolumeLimit { total: Some(self.0.random_range(1..3000)), ..Default::default() });
            let urr = Urr {
                id,
                duration: false,
                volume: true,
                triggers: ReportingTriggers::VOLTH | ReportingTriggers::VOLQU,
                period: None,
                volume_threshold: Some(VolumeLimit { total: Some(self.one(&[100, 1 << 40])), ..Default::default() }),
                volume_quota: quota,
                time_threshold: None,
                time_quota: None,
                time_quota_exhausted: false,
                quota_given: 0,
            };
            session.urrs.insert(id, urr);
        }
        session.resolve(&RuleLimits::default()).expect("rules that fit together");
        session
    }

    /// The transport part of a packet, and its protocol.
    fn transport(&mut self, from: u16, to: u16) -> (u8, Vec<u8>) {
        let length = self.0.random_range(0..60);
        let mut octets = [from.to_be_bytes(), to.to_be_bytes()].concat();
        match self.0.random_range(0..8) {
            0 => (6, [&octets[..], &[0; 16]].concat()),
            1 => (1, vec![8, 0, 0, 0, 0, 1, 0, 1]),
            2 => (50, vec![0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1]),
            3 => (17, octets[..self.0.random_range(0..4)].to_vec()),
            _ => {
                octets.extend((8 + length as u16).to_be_bytes());
                octets.extend(vec![7; 2 + length]);
                (17, octets)
            }
        }
    }

    fn ip4(&mut self, from: Ipv4Addr, to: Ipv4Addr, ports: (u16, u16)) -> Vec<u8> {
        let (protocol, body) = self.transport(ports.0, ports.1);
        let options = if self.chance(10) { 4 * self.0.random_range(1..10) } else { 0 };
        let mut packet = vec![0x45 + (options / 4) as u8, self.one(&[0, 0x28, 0xb8])];
        packet.extend((20 + options as u16 + body.len() as u16).to_be_bytes());
        let fragment: u16 = self.one(&[0, 0, 0, 0, 0x4000, 0x2000, 0x2001, 9]);
        packet.extend([1, 2]);
        packet.extend(fragment.to_be_bytes());
        packet.extend([self.one(&[64, 64, 2, 255]), protocol, 0, 0]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        packet.extend(vec![1; options]);
        packet.extend(body);
        checksum(&mut packet);
        packet
    }

    fn ip6(&mut self, from: Ipv6Addr, to: Ipv6Addr, ports: (u16, u16)) -> Vec<u8> {
        let (protocol, body) = self.transport(ports.0, ports.1);
        let headers: Vec<u8> = (0..self.one(&[0, 0, 0, 1, 3])).map(|_| self.one(&[0, 60, 43, 44])).collect();
        let mut packet =
            (0x6000_0000u32 | self.one(&[0, 0x0280_0000]) | self.one(&[0, 0x12345])).to_be_bytes().to_vec();
        packet.extend((headers.len() as u16 * 8 + body.len() as u16).to_be_bytes());
        packet.extend([*headers.first().unwrap_or(&protocol), 64]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        for n in 0..headers.len() {
            packet.extend([*headers.get(n + 1).unwrap_or(&protocol), 0, 0, 0, 0, 0, 0, 0]);
        }
        packet.extend(body);
        packet
    }

    pub fn uplink(&mut self) -> Vec<u8> {
        let n = self.0.random_range(0..SESSIONS);
        let of = if self.chance(90) { n } else { self.0.random_range(0..SESSIONS + 1) };
        let to_ourselves = self.chance(4);
        let ports = (self.port(), if to_ourselves { martlet_gtpu::PORT } else { self.port() });
        let mut packet = if self.chance(70) {
            let to = if to_ourselves {
                N3
            } else if self.chance(15) {
                ue4(self.0.random_range(0..SESSIONS + 1))
            } else {
                self.one(&[HOST, HOST, Ipv4Addr::new(10, 98, 0, 7)])
            };
            self.ip4(ue4(of), to, ports)
        } else {
            let to = if to_ourselves {
                n3_ip6()
            } else if self.chance(15) {
                ue6(self.0.random_range(0..SESSIONS))
            } else {
                host6()
            };
            self.ip6(ue6(of), to, ports)
        };
        self.spoil(&mut packet, 4);
        let between: &[u8] = self.one(&[
            &[][..],
            &[0, 0, 0, 0x85, 1, 0x10, 9, 0],
            &[0, 0, 0, 0x85, 1, 0x10, 5, 0],
            &[0, 0, 0, 0x85, 1, 0x10, 3, 0],
            &[0, 1, 0, 0x85, 2, 0x18, 9, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0x20, 1, 0, 0, 0x85, 1, 0x10, 9, 0],
            &[0, 0, 0, 0],
        ]);
        let flags = if between.is_empty() { 0x30 } else { self.one(&[0x34, 0x34, 0x36]) };
        let mut datagram = vec![flags, 255];
        datagram.extend(((between.len() + packet.len()) as u16).to_be_bytes());
        let unknown = self.chance(2);
        datagram.extend(if unknown { 0xdead } else { teid(n) }.to_be_bytes());
        datagram.extend(between);
        datagram.extend(packet);
        self.spoil(&mut datagram, 4);
        datagram
    }

    pub fn downlink(&mut self) -> Vec<u8> {
        let n = self.0.random_range(0..SESSIONS + 1);
        let ports = (self.port(), self.port());
        if self.chance(70) {
            let from = self.one(&[HOST, HOST, Ipv4Addr::new(10, 98, 0, 7)]);
            self.ip4(from, ue4(n), ports)
        } else {
            self.ip6(host6(), ue6(n), ports)
        }
    }

    /// Changes an octet, or cuts something off or adds it, now and then.
    fn spoil(&mut self, octets: &mut Vec<u8>, percent: u32) {
        if !self.chance(percent) || octets.is_empty() {
            return;
        }
        self.1 = true;
        match self.0.random_range(0..3) {
            0 => {
                let at = self.0.random_range(0..octets.len());
                octets[at] = self.0.random();
            }
            1 => octets.truncate(self.0.random_range(0..octets.len())),
            _ => octets.extend(vec![0xee; self.0.random_range(1..20)]),
        }
    }
}

/// Usage, without the times.
fn counted(mut usage: Vec<Usage>) -> Vec<(u32, [u64; 4])> {
    usage.sort_by_key(|usage| usage.urr);
    let of = |u: &Usage| [u.uplink_octets, u.downlink_octets, u.uplink_packets, u.downlink_packets];
    usage.iter().map(|usage| (usage.urr, of(usage))).filter(|(_, counts)| *counts != [0; 4]).collect()
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
            // What `xdp` cannot do it says; `kernel` has no such limits.
            assert!(matches!(error, DatapathError::Pdr { .. }), "seed {seed}: {error}");
            continue;
        }
        pair.kernel.datapath().apply(&Change::to(&session)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        sessions.push(session);
    }
    let mut forwarded = 0;
    for nth in 0..PACKETS {
        let (packet, up) = if draw.chance(60) { (draw.uplink(), true) } else { (draw.downlink(), false) };
        let whole = draw.was_whole();
        let (kernel, xdp) = if up { pair.uplink(&packet, whole, nth % 3 == 0) } else { pair.downlink(&packet) };
        forwarded += usize::from(kernel != Out::Nothing);
        assert_eq!(
            kernel, xdp,
            "kernel, and xdp: seed {seed}, packet {nth}, uplink {up}: {packet:02x?}\n{sessions:#?}"
        );
    }
    for session in &sessions {
        let seid = session.seid;
        let waiting = (pair.kernel.datapath().buffered(seid).packets, pair.xdp.buffered(seid).packets);
        assert_eq!(waiting.0, waiting.1, "packets that wait: seed {seed}");
        let usage = (counted(pair.kernel.datapath().remove(seid)), counted(pair.xdp.remove(seid)));
        assert_eq!(usage.0, usage.1, "usage: seed {seed}, session {seid}");
    }
    forwarded
}

/// How many sets of rules, and the first seed.
pub(crate) fn set_up() -> (u64, u64) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    (number("MARTLET_DIFFERENTIAL", 60), number("MARTLET_SEED", 1))
}

#[test]
fn kernel_and_xdp_make_the_same_of_the_same() {
    let (sets, first) = set_up();
    let work = std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!("SKIPPED: a network namespace cannot be made ({error}); run the tests as root");
            return;
        }
        let mut pair = Pair::new();
        let forwarded: usize = (0..sets).map(|n| one_set(&mut pair, first + n)).sum();
        // A good part of the packets goes somewhere, or nothing would be compared.
        assert!(forwarded as u64 > sets * PACKETS as u64 / 6, "{forwarded} of {}", sets * PACKETS as u64);
    });
    if let Err(panic) = work.join() {
        std::panic::resume_unwind(panic);
    }
}

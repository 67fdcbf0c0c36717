//! Rules and packets drawn at random.
use super::{BOARD, GNB, HOST, N3, SERVER, SESSIONS, checksum, gnb6, host6, n3_ip6};
use martlet_pfcp::ie::{
    CTag, EthernetFilterProperties, EthernetPacketFilter, Ethertype, FSeid, GateStatus, Interface,
    MacAddress, NetworkInstance, NodeId, ReportingTriggers, STag, SdfFilter, Tag,
};
use martlet_upf_rules::url::UrlPattern;
use martlet_upf_rules::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

fn teid(n: u32) -> u32 {
    0x100 + n
}

fn ue4(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a2d_0002 + n)
}

fn mac(n: u32) -> [u8; 6] {
    [2, 0, 0, 0, 0, n as u8 + 1]
}

fn ue6(n: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((0x2001_0db8_0045_0000 + u128::from(n)) << 64 | 7)
}

/// Draws rules and packets; the second is whether the last packet was made malformed, the third
/// the identification of IPv4 datagrams.
pub struct Draw(StdRng, bool, u16);

impl Draw {
    /// A generator with a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(StdRng::seed_from_u64(seed), false, (seed as u16).wrapping_mul(16))
    }

    /// Whether the last packet was well-formed.
    pub fn was_whole(&mut self) -> bool {
        !std::mem::take(&mut self.1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("something to choose from")
    }

    /// True with a probability in per cent.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
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
        let (remote, ue) =
            (self.network(v6), if self.chance(80) { "assigned".into() } else { "any".to_string() });
        let ports = if matches!(protocol, "ip" | "17" | "6") {
            (self.ports(), self.ports())
        } else {
            Default::default()
        };
        let text = format!("permit out {protocol} from {remote}{} to {ue}{}", ports.0, ports.1);
        let tos_traffic_class =
            self.chance(15).then(|| [self.one(&[0, 0x28, 0xb8]), self.one(&[0xfc, 0xff])]);
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

    /// The n-th session with random rules.
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
                    extras: None,
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
                let destination =
                    if up || !to_tunnel { Interface::Core } else { Interface::Access };
                let action = match self.0.random_range(0..10) {
                    0 => Action::Drop,
                    1 if !up => Action::Buffer { notify: self.chance(50) },
                    _ => Action::Forward,
                };
                let tunnel = to_tunnel.then(|| Tunnel { teid: 0xa000 + n, peer: gnb });
                let far =
                    Far { destination: Some(destination), tunnel, ..Far::new(id.into(), action) };
                session.fars.insert(id.into(), far);
            }
        }
        let closed =
            GateStatus { uplink_closed: self.chance(10), downlink_closed: self.chance(10) };
        let fast =
            Some(BitRate { uplink: 1 << 40, downlink: if self.chance(10) { 0 } else { 1 << 40 } });
        for (id, gate, mbr, qfi) in [
            (1, GateStatus::default(), None, Some(9)),
            (2, closed, None, None),
            (3, GateStatus::default(), fast, Some(5)),
        ] {
            session.qers.insert(
                id,
                Qer {
                    id,
                    gate,
                    mbr,
                    gbr: None,
                    qfi,
                    reflective: self.chance(30),
                    ..Default::default()
                },
            );
        }
        for id in [1, 2] {
            let quota = self.chance(25).then(|| VolumeLimit {
                total: Some(self.0.random_range(1..3000)),
                ..Default::default()
            });
            let urr = Urr {
                id,
                duration: false,
                volume: true,
                triggers: ReportingTriggers::VOLTH | ReportingTriggers::VOLQU,
                period: None,
                volume_threshold: Some(VolumeLimit {
                    total: Some(self.one(&[100, 1 << 40])),
                    ..Default::default()
                }),
                volume_quota: quota,
                time_threshold: None,
                time_quota: None,
                exhausted: false,
                quota_given: 0,
                awaits_traffic: self.chance(50),
                inactive: self.chance(10),
                ..Default::default()
            };
            session.urrs.insert(id, urr);
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
        session
    }

    /// Gives a session rules that few have ([`Session::is_rare`]): marks of outer headers, copies,
    /// redirection, packet rates, paging policies, and bit rates that sessions share.
    pub fn make_rare(&mut self, session: &mut Session) {
        for far in session.fars.values_mut() {
            if self.chance(35) {
                far.marking = Some(self.one(&[0, 0x28, 0xb8]));
            }
            if self.chance(25) {
                far.duplicates = true;
                far.copies = (0..self.0.random_range(1..3)).map(|n| self.copy(n)).collect();
            }
            if far.destination == Some(Interface::Core) && self.chance(30) {
                far.redirect = Some(Arc::new(self.redirect()));
            }
        }
        for qer in session.qers.values_mut() {
            if self.chance(25) {
                qer.packet_rates = [self.packet_rate(), self.packet_rate()];
            }
            if self.chance(25) {
                qer.paging_policy = Some(self.0.random_range(0..8));
            }
            if self.chance(15) {
                qer.correlation = Some(self.one(&[1, 2]));
            }
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
    }

    /// Lets PDRs with filters detect applications, by flows or also by URLs, or activate predefined
    /// rules instead.
    pub fn detect(&mut self, session: &mut Session) {
        const URLS: [&str; 3] =
            ["http://a.example/", "http://a.example/video", r"^http://.*\.example/news$"];
        let by_url = self.chance(40);
        for pdr in session.pdrs.values_mut() {
            if pdr.filters.is_empty() || !self.chance(40) {
                continue;
            }
            let filters = std::mem::take(&mut pdr.filters);
            if self.chance(30) {
                let number = self.0.random_range(0..4u16);
                let rule = PredefinedRule {
                    name: format!("rule-{number}"),
                    number,
                    filters,
                    drop: number == 1,
                    mbr: None,
                    qfi: (number == 2).then_some(7),
                };
                let extras = pdr.extras.get_or_insert_default();
                extras.predefined = vec![Arc::new(rule)];
                continue;
            }
            let url = self.one(&URLS);
            let urls = if by_url { vec![url] } else { vec![] };
            let read = |text: &&str| UrlPattern::read(text.as_bytes()).expect("a URL");
            let of = |filter: &SdfFilter| SdfRule::of(filter).expect("a filter");
            pdr.application = Some(Arc::new(Application {
                id: url.as_bytes().to_vec(),
                rules: filters.iter().map(of).collect(),
                names: vec![],
                urls: urls.iter().map(read).collect(),
            }));
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
    }

    /// Lets packets leave by another network instance, as a forwarding policy does.
    pub fn route(&mut self, session: &mut Session) {
        let name: Arc<[u8]> = NetworkInstance::new(BOARD).0.into();
        for far in session.fars.values_mut() {
            if far.destination == Some(Interface::Core) && far.tunnel.is_none() && self.chance(40) {
                far.network_instance = Some(name.clone());
            }
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
    }

    /// A G-PDU of a session, with a packet to the data network that is longer than what the links
    /// of `xdp` carry.
    pub fn long(&mut self, session: &Session) -> Vec<u8> {
        let n = session.seid as u32 - 1;
        let length = self.0.random_range(3_499..=9_000u16);
        let packet = if session.ue_addresses().contains(&UeAddress::V4(ue4(n))) {
            let mut packet = vec![0x45, 0];
            packet.extend(length.to_be_bytes());
            packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            packet.extend([ue4(n).octets(), HOST.octets()].concat());
            packet.extend(self.long_datagram(length - 20));
            checksum(&mut packet);
            packet
        } else {
            let size = (length - 40).to_be_bytes();
            let mut packet = vec![0x60, 0, 0, 0, size[0], size[1], 17, 64];
            packet.extend([ue6(n).octets(), host6().octets()].concat());
            packet.extend(self.long_datagram(length - 40));
            packet
        };
        crate::conformance::g_pdu(teid(n), Some(9), &packet)
    }

    fn long_datagram(&mut self, length: u16) -> Vec<u8> {
        let ports = [self.port().to_be_bytes(), self.port().to_be_bytes()].concat();
        let header = [&ports[..], &length.to_be_bytes(), &[0, 0]].concat();
        [header, vec![7; usize::from(length) - 8]].concat()
    }

    /// The n-th Ethernet session, with Ethernet filters in both directions.
    pub fn ethernet(&mut self, n: u32, network: &[u8]) -> Session {
        let mut session = self.session(n);
        session.kind = SessionKind::Ethernet;
        let network: Arc<[u8]> = network.into();
        for pdr in session.pdrs.values_mut() {
            let frames = (0..self.below(3)).map(|_| self.frame_rule()).collect();
            pdr.extras = Some(Box::new(PdrExtras { ethernet: true, frames, ..Default::default() }));
            pdr.network_instance = pdr.local.is_none().then(|| network.clone());
            pdr.ue.clear();
            pdr.filters.clear();
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
        session
    }

    fn frame_rule(&mut self) -> FrameRule {
        let station = |draw: &mut Self| Some(mac(draw.0.random_range(0..SESSIONS + 1)));
        let mut filter = EthernetPacketFilter::default();
        match self.0.random_range(0..6) {
            0 => filter.ethertype = Some(Ethertype(self.one(&[0x0800, 0x86dd, 0x0806]))),
            1 => {
                let vid = Some(self.one(&[5, 6]));
                filter.c_tag = Some(CTag(Tag { vid, ..Tag::default() }));
            }
            2 => {
                let pcp = Some(self.one(&[0, 3]));
                filter.s_tag = Some(STag(Tag { pcp, ..Tag::default() }));
            }
            3 => {
                let (source, destination) = (station(self), station(self));
                let both = MacAddress { source, destination, ..Default::default() };
                filter.mac_addresses = vec![both];
                filter.properties = self.chance(50).then_some(EthernetFilterProperties(1));
            }
            4 => {
                let destination = station(self);
                filter.mac_addresses = vec![MacAddress { destination, ..Default::default() }];
            }
            _ => filter.sdf_filters = vec![self.filter()],
        }
        FrameRule::of(&filter).expect("a filter")
    }

    /// A frame of the n-th Ethernet session, in a G-PDU.
    pub fn frame(&mut self, n: u32) -> Vec<u8> {
        let to = self.0.random_range(0..SESSIONS + 2);
        let to = if to > SESSIONS { [0xff; 6] } else { mac(to) };
        let from = if self.chance(90) { n } else { self.0.random_range(0..SESSIONS) };
        let mut frame = [to, mac(from)].concat();
        if self.chance(25) {
            frame.extend([0x88, 0xa8, self.one(&[0, 0x60]), 9]);
        }
        if self.chance(40) {
            frame.extend([0x81, 0, self.one(&[0, 0x60]), self.one(&[5, 6])]);
        }
        let ports = (self.port(), self.port());
        match self.0.random_range(0..3) {
            0 => frame.extend([&[8, 6][..], &[0; 46]].concat()),
            1 => frame.extend([vec![8, 0], self.ip4(ue4(n), HOST, ports)].concat()),
            _ => frame.extend([vec![0x86, 0xdd], self.ip6(ue6(n), host6(), ports)].concat()),
        }
        self.corrupt(&mut frame, 4);
        let qfi = self.one(&[None, Some(5), Some(9)]);
        crate::conformance::g_pdu(teid(n), qfi, &frame)
    }

    fn copy(&mut self, n: u32) -> Duplicate {
        let peer = self.one(&[IpAddr::V4(GNB), IpAddr::V6(gnb6())]);
        Duplicate {
            tunnel: Tunnel { teid: 0xd000 + n, peer },
            to_access: self.chance(50),
            marking: self.chance(50).then(|| self.one(&[0, 0x28, 0xb8])),
        }
    }

    fn redirect(&mut self) -> Redirect {
        let (four, six) = (Some(SERVER), Some(host6()));
        match self.0.random_range(0..5) {
            0 => Redirect::Address(four, None),
            1 => Redirect::Address(None, six),
            2 => Redirect::Address(four, six),
            _ => Redirect::Url("http://portal.example/".into()),
        }
    }

    fn packet_rate(&mut self) -> Option<PacketRate> {
        // No test lasts for as long as a minute.
        let span = Duration::from_secs(60);
        self.chance(70).then(|| PacketRate { packets: self.0.random_range(0..12), span })
    }

    /// Changes a session as an SMF, or N4 itself, changes it in the middle of traffic.
    pub fn change(&mut self, session: &mut Session) {
        // Where user space carries the session from now on, it has not seen the first fragment of a
        // datagram that has begun.
        self.2 = self.2.wrapping_add(1);
        for far in session.fars.values_mut() {
            match (far.action, self.0.random_range(0..6)) {
                (Action::Forward, 0) => far.action = Action::Drop,
                (Action::Drop, 0..4) if !far.headerless => far.action = Action::Forward,
                _ => {}
            }
        }
        let closed =
            GateStatus { uplink_closed: self.chance(20), downlink_closed: self.chance(20) };
        if let Some(qer) = session.qers.get_mut(&2) {
            qer.gate = closed;
        }
        for urr in session.urrs.values_mut() {
            match self.0.random_range(0..8) {
                // A quota is granted.
                0 | 1 => {
                    let total = Some(self.0.random_range(1..3000));
                    urr.volume_quota = Some(VolumeLimit { total, ..Default::default() });
                    urr.quota_given += 1;
                    urr.exhausted = false;
                }
                // Its holding time is over.
                2 => urr.exhausted = true,
                // The Monitoring Time, after which another threshold applies.
                3 => {
                    let total = Some(self.one(&[60, 500, 1 << 40]));
                    urr.volume_threshold = Some(VolumeLimit { total, ..Default::default() });
                }
                4 => urr.inactive = !urr.inactive,
                _ => {}
            }
        }
        if self.chance(30) {
            self.make_rare(session);
        }
        session.resolve(&RuleLimits::default()).expect("consistent rules");
    }

    /// The transport part of a packet, and its protocol.
    fn transport(&mut self, from: u16, to: u16) -> (u8, Vec<u8>) {
        let length = self.0.random_range(0..60);
        let mut bytes = [from.to_be_bytes(), to.to_be_bytes()].concat();
        match self.0.random_range(0..8) {
            0 => (6, [&bytes[..], &self.segment()].concat()),
            1 => (1, vec![8, 0, 0, 0, 0, 1, 0, 1]),
            2 => (50, vec![0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1]),
            3 => (17, bytes[..self.0.random_range(0..4)].to_vec()),
            _ => {
                bytes.extend((8 + length as u16).to_be_bytes());
                bytes.extend(vec![7; 2 + length]);
                (17, bytes)
            }
        }
    }

    /// A segment of TCP after its ports: one that a redirection answers, or another.
    fn segment(&mut self) -> Vec<u8> {
        const SEGMENTS: [(u8, &[u8]); 9] = [
            (0x02, b""),
            (0x10, b""),
            (0x18, b"GET / HTTP/1.1\r\n\r\n"),
            (0x18, b"GET /video/1 HTTP/1.1\r\nHost: a.example\r\n\r\n"),
            (0x18, b"HEAD /news HTTP/1.1\r\nhost: b.example:80\r\n\r\n"),
            (0x18, b"HTTP/1.1 200 OK\r\n\r\n"),
            (0x18, b"\x16\x03\x01"),
            (0x11, b""),
            (0x04, b""),
        ];
        let (flags, payload) = self.one(&SEGMENTS);
        [&[0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0][..], payload].concat()
    }

    fn ip4(&mut self, from: Ipv4Addr, to: Ipv4Addr, ports: (u16, u16)) -> Vec<u8> {
        let (protocol, body) = self.transport(ports.0, ports.1);
        let options = if self.chance(10) { 4 * self.0.random_range(1..10) } else { 0 };
        let mut packet = vec![0x45 + (options / 4) as u8, self.one(&[0, 0x28, 0xb8])];
        packet.extend((20 + options as u16 + body.len() as u16).to_be_bytes());
        let fragment: u16 = self.one(&[0, 0, 0, 0, 0x4000, 0x2000, 0x2001, 9]);
        packet.extend(self.2.to_be_bytes());
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
        let headers: Vec<u8> =
            (0..self.one(&[0, 0, 0, 1, 3])).map(|_| self.one(&[0, 60, 43, 44])).collect();
        let mut packet = (0x6000_0000u32 | self.one(&[0, 0x0280_0000]) | self.one(&[0, 0x12345]))
            .to_be_bytes()
            .to_vec();
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

    /// A random G-PDU.
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
                self.one(&[HOST, HOST, SERVER])
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
        self.corrupt(&mut packet, 4);
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
        self.corrupt(&mut datagram, 4);
        datagram
    }

    /// A random packet of the data network.
    pub fn downlink(&mut self) -> Vec<u8> {
        let n = self.0.random_range(0..SESSIONS + 1);
        let ports = (self.port(), self.port());
        if self.chance(70) {
            let from = self.one(&[HOST, HOST, SERVER]);
            self.ip4(from, ue4(n), ports)
        } else {
            self.ip6(host6(), ue6(n), ports)
        }
    }

    /// Changes a byte, or truncates or extends the packet, with a small probability.
    fn corrupt(&mut self, bytes: &mut Vec<u8>, percent: u32) {
        if !self.chance(percent) || bytes.is_empty() {
            return;
        }
        self.1 = true;
        match self.0.random_range(0..3) {
            0 => {
                let at = self.0.random_range(0..bytes.len());
                bytes[at] = self.0.random();
            }
            1 => bytes.truncate(self.0.random_range(0..bytes.len())),
            _ => bytes.extend(vec![0xee; self.0.random_range(1..20)]),
        }
    }
}

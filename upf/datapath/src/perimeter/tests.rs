//! The destinations that UEs may reach, and the peers.
use super::*;
use crate::conformance::udp_packet;
use martlet_upf_rules::{Action, Far, Tunnel};

fn prefix(text: &str) -> Prefix {
    let (network, length) = text.split_once('/').expect("a network");
    Prefix { network: network.parse().expect("an address"), length: length.parse().expect("bits") }
}

fn own(text: &str, to_data_network: bool) -> OwnAddress {
    let Prefix { network, length } = prefix(text);
    OwnAddress { address: network, prefix: length, to_data_network }
}

fn perimeter() -> Perimeter {
    let service = |protocol, port| Service {
        network: prefix("10.45.0.1/32"),
        protocol: Some(protocol),
        port: Some(port),
    };
    let whole = Service { network: prefix("10.99.0.0/24"), protocol: None, port: None };
    let perimeter = Perimeter::new(Policy {
        denied: vec![prefix("172.16.0.0/12")],
        allowed: vec![service(TCP, 9127), whole],
        gateways: vec!["10.45.0.1".parse().unwrap(), "fd45::1".parse().unwrap()],
        core: vec!["192.168.7.10".parse().unwrap(), "198.51.100.7".parse().unwrap()],
        peers: vec![],
        sources: Sources::Session,
    });
    let all = [
        own("192.168.7.10/24", false),
        own("10.98.0.1/24", true),
        own("10.45.0.1/16", false),
        own("10.99.0.7/24", false),
        own("2001:db8::1/64", true),
    ];
    assert!(perimeter.set_own(all.into()) && !perimeter.set_own(all.into()));
    perimeter
}

/// Whether a UDP packet to there may leave.
fn reaches(perimeter: &Perimeter, to: &str, port: u16) -> bool {
    let from = Ipv4Addr::new(10, 45, 0, 2);
    let packet = udp_packet((from, 4000), (to.parse().expect("an address"), port), b"x");
    perimeter.permits(&Flow::of(&packet).expect("a packet"), &packet)
}

fn packet6(to: &str, protocol: u8) -> Vec<u8> {
    let (from, to): (Ipv6Addr, Ipv6Addr) = ("fd45::2".parse().unwrap(), to.parse().unwrap());
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, protocol, 64];
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend([0x10, 0, 0x23, 0xa7, 0, 8, 0, 0]);
    packet
}

fn reaches6(perimeter: &Perimeter, to: &str, protocol: u8) -> bool {
    let packet = packet6(to, protocol);
    perimeter.permits(&Flow::of(&packet).expect("a packet"), &packet)
}

#[test]
fn ues_reach_the_data_network_and_no_address_of_the_machine() {
    let perimeter = perimeter();
    for to in ["9.9.9.9", "10.98.0.2", "10.45.0.3", "192.168.8.1", "10.99.0.9"] {
        assert!(reaches(&perimeter, to, 4000), "{to}");
    }
    // Loopback, multicast and broadcast; addresses of interfaces and their broadcasts; the network
    // of an interface of the core, with the gNBs in it; addresses of the core elsewhere; what the
    // configuration denies.
    for to in [
        "127.0.0.8",
        "0.0.0.0",
        "169.254.169.254",
        "224.0.0.251",
        "255.255.255.255",
        "10.98.0.1",
        "10.98.0.255",
        "10.45.255.255",
        "192.168.7.10",
        "192.168.7.20",
        "198.51.100.7",
        "172.20.0.1",
        "10.99.0.7",
    ] {
        assert!(!reaches(&perimeter, to, 4000), "{to}");
    }
    for to in ["::1", "::", "::ffff:10.98.0.1", "fe80::1", "ff02::1", "2001:db8::1"] {
        assert!(!reaches6(&perimeter, to, UDP), "{to}");
    }
    assert!(reaches6(&perimeter, "2001:db8::2", UDP));
}

/// A NAT64 or a 6to4 relay in the data network sends the packet on to the IPv4 address.
#[test]
fn attack_a_denied_ipv4_address_within_an_ipv6_address() {
    let perimeter = perimeter();
    let denied: [[u8; 4]; 6] = [
        [192, 168, 7, 20],
        [198, 51, 100, 7],
        [172, 20, 0, 1],
        [10, 98, 0, 1],
        [10, 99, 0, 7],
        [127, 0, 0, 1],
    ];
    let nat64 = |[a, b, c, d]: [u8; 4]| format!("64:ff9b::{a}.{b}.{c}.{d}");
    let six_to_four = |[a, b, c, d]: [u8; 4]| format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1");
    for to in denied {
        assert!(!reaches6(&perimeter, &nat64(to), UDP), "{to:?}");
        assert!(!reaches6(&perimeter, &six_to_four(to), UDP), "{to:?}");
    }
    for to in [[9, 9, 9, 9], [10, 98, 0, 2], [10, 99, 0, 9]] {
        assert!(reaches6(&perimeter, &nat64(to), UDP), "{to:?}");
        assert!(reaches6(&perimeter, &six_to_four(to), UDP), "{to:?}");
    }
    for to in ["::10.98.0.1", "64:ff9b:1::9.9.9.9", "64:ff9b:1:2:3:4:909:909"] {
        assert!(!reaches6(&perimeter, to, UDP), "{to}");
    }
    // Frames are not excepted, and a gNB is denied as soon as a session has it.
    let packet = packet6(&nat64(denied[0]), UDP);
    let frame = [&[2; 12][..], &ETHERTYPE_IPV6.to_be_bytes(), &packet].concat();
    assert!(!perimeter.permits_frame(&Flow::of_frame(&frame).expect("a frame"), &frame));
    assert!(reaches6(&perimeter, &nat64([203, 0, 113, 5]), UDP));
    perimeter.set_peers(&[("203.0.113.5".parse().unwrap(), true)]);
    assert!(!reaches6(&perimeter, &nat64([203, 0, 113, 5]), UDP));
}

#[test]
fn translators_for_local_use_are_allowed_by_name_and_checked() {
    let network = |text| Service { network: prefix(text), protocol: None, port: None };
    let perimeter = |denied: &[&str]| {
        Perimeter::new(Policy {
            denied: denied.iter().map(|text| prefix(text)).collect(),
            allowed: vec![
                network("64:ff9b:1:fffe::/96"),
                network("64:ff9b:1:aa00::/56"),
                Service { port: Some(9127), protocol: Some(UDP), ..network("10.0.0.5/32") },
                network("10.9.0.0/16"),
            ],
            ..Policy::default()
        })
    };
    let of = perimeter(&["10.0.0.0/8"]);
    for to in ["64:ff9b:1:fffe::9.9.9.9", "64:ff9b:1:aa09:9:909::", "64:ff9b:1:fffe::10.9.0.1"] {
        assert!(reaches6(&of, to, UDP), "{to}");
    }
    for to in [
        "64:ff9b:1:fffd::9.9.9.9",
        "64:ff9b:1:fffe::127.0.0.1",
        "64:ff9b:1:fffe::10.0.0.1",
        "64:ff9b:1:aa0a:0:1::",
    ] {
        assert!(!reaches6(&of, to, UDP), "{to}");
    }
    let host = Perimeter::new(Policy {
        denied: vec![prefix("192.168.7.0/24")],
        allowed: vec![network("64:ff9b:1:aa00::/56")],
        ..Policy::default()
    });
    // The second one has a bit in the byte that translators ignore.
    for (to, due) in [
        ("64:ff9b:1:aac0:a8:701::", false),
        ("64:ff9b:1:aac0:1a8:701::", false),
        ("64:ff9b:1:aac0:a8:801::", true),
    ] {
        assert_eq!(reaches6(&host, to, UDP), due, "{to}");
    }
    // The port of `packet6` is 9127: a service is open by the translators, too.
    assert!(reaches6(&of, "64:ff9b::10.0.0.5", UDP));
    assert!(!reaches6(&of, "64:ff9b::10.0.0.5", TCP));
    // An allowed IPv4 network does not open what is denied by its IPv6 address.
    assert!(reaches6(&of, "64:ff9b::10.9.0.1", UDP));
    assert!(!reaches6(&perimeter(&["64:ff9b::/96"]), "64:ff9b::10.9.0.1", UDP));
}

#[test]
fn the_gateway_answers_icmp_and_dns_and_what_is_allowed() {
    let perimeter = perimeter();
    assert!(reaches(&perimeter, "10.45.0.1", 53) && !reaches(&perimeter, "10.45.0.1", 38412));
    assert!(!reaches(&perimeter, "10.45.0.1", 9127), "UDP is not allowed");
    let from = Ipv4Addr::new(10, 45, 0, 2);
    let mut packet = udp_packet((from, 4000), ("10.45.0.1".parse().unwrap(), 9127), b"x");
    let permits = |packet: &[u8]| perimeter.permits(&Flow::of(packet).expect("a packet"), packet);
    for (protocol, due) in [(TCP, true), (ICMP, true), (132, false), (UDP, false)] {
        packet[9] = protocol;
        assert_eq!(permits(&packet), due, "{protocol}");
    }
    // A later fragment has no ports; options may route by themselves.
    (packet[7], packet[9]) = (1, UDP);
    assert!(permits(&packet));
    packet[9] = 132;
    assert!(!permits(&packet));
    (packet[0], packet[7], packet[9]) = (0x46, 0, ICMP);
    packet[22] = 0;
    assert!(!permits(&packet));
    assert!(reaches6(&perimeter, "fd45::1", ICMPV6) && !reaches6(&perimeter, "fd45::1", UDP));
}

#[test]
fn gnbs_that_sessions_name_are_peers_and_out_of_reach() {
    let perimeter = perimeter();
    let gnb: IpAddr = "203.0.113.5".parse().unwrap();
    let before = perimeter.generation();
    assert!(reaches(&perimeter, "203.0.113.5", 2152) && perimeter.informs(gnb));
    assert!(perimeter.accepts(gnb, false) && perimeter.accepts(gnb, true));
    assert!(perimeter.set_peers(&[(gnb, true)]) && perimeter.generation() > before);
    assert!(!reaches(&perimeter, "203.0.113.5", 2152) && perimeter.accepts(gnb, true));
    let unknown: IpAddr = "203.0.113.6".parse().unwrap();
    assert!(perimeter.informs(gnb) && !perimeter.informs(unknown));
    assert!(!perimeter.accepts(unknown, true) && perimeter.accepts(unknown, false));
    assert!(perimeter.set_peers(&[(gnb, false)]) && !perimeter.set_peers(&[(gnb, false)]));
    // With configured networks of peers, all others are rejected from the first packet on.
    let named =
        Perimeter::new(Policy { peers: vec![prefix("203.0.113.4/31")], ..Policy::default() });
    assert!(named.accepts(gnb, true) && named.accepts(gnb, false) && named.informs(gnb));
    assert!(!named.accepts(unknown, false) && !named.informs(unknown));
}

#[test]
fn a_session_accepts_the_gnbs_that_receive_its_downlink() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let [a, b, unknown] = ["203.0.113.5", "203.0.113.6", "203.0.113.7"].map(address);
    let (now, mut senders) = (Instant::now(), Senders::default());
    let perimeter = perimeter();
    let of = |senders: &Senders, from, now| perimeter.sender(from, senders, true, now);
    assert_eq!(of(&senders, unknown, now), Sender::Accepted, "no gNB is known");
    perimeter.set_peers(&[(a, true), (b, true)]);
    assert_eq!((perimeter.number(a), perimeter.number(b)), (Some(1), Some(2)));
    senders.update(&session_at(a), now);
    assert_eq!(of(&senders, a, now), Sender::Accepted);
    assert_eq!(of(&senders, b, now), Sender::Early, "a path switch may be in progress");
    assert_eq!(of(&senders, unknown, now), Sender::Early, "it may be a new gNB");
    // Data that a gNB forwards in a handover is not in the tunnel of the session's gNB.
    assert_eq!(perimeter.sender(b, &senders, false, now), Sender::Accepted);
    assert_eq!(perimeter.sender(unknown, &senders, false, now), Sender::Foreign);
    // Packets in flight.
    senders.update(&session_at(b), now);
    assert_eq!([a, b].map(|from| of(&senders, from, now)), [Sender::Accepted; 2]);
    let later = now + crate::senders::PREVIOUS;
    assert_eq!([a, b].map(|from| of(&senders, from, later)), [Sender::Early, Sender::Accepted]);
    // Numbers are not used again.
    perimeter.set_peers(&[(a, false), (unknown, true)]);
    assert_eq!((perimeter.number(a), perimeter.number(unknown)), (Some(1), Some(3)));
    let with = |sources, peers| Perimeter::new(Policy { sources, peers, ..Policy::default() });
    let peers = with(Sources::Peers, Vec::new());
    peers.set_peers(&[(a, true), (b, true)]);
    assert_eq!(peers.sender(a, &senders, true, later), Sender::Accepted);
    assert_eq!(peers.sender(unknown, &senders, true, later), Sender::Foreign);
    let named = with(Sources::Session, vec![prefix("203.0.113.4/31")]);
    assert_eq!(named.sender(unknown, &senders, true, later), Sender::Foreign);
    assert_eq!(named.sender(a, &senders, true, later), Sender::Early);
    assert_eq!(with(Sources::Any, Vec::new()).sender(a, &senders, true, later), Sender::Accepted);
}

/// A session with a downlink tunnel to a gNB.
fn session_at(gnb: IpAddr) -> martlet_upf_rules::Session {
    let end = martlet_pfcp::ie::FSeid::new(1, gnb);
    let mut session = martlet_upf_rules::Session::new(1, end, martlet_pfcp::ie::NodeId::Ip(gnb));
    let far = Far {
        destination: Some(martlet_pfcp::ie::Interface::Access),
        tunnel: Some(Tunnel { teid: 1, peer: gnb }),
        ..Far::new(1, Action::Forward)
    };
    session.fars.insert(1, far);
    session
}

#[test]
fn frames_do_not_reach_the_machine() {
    let perimeter = perimeter();
    let from = Ipv4Addr::new(10, 45, 0, 2);
    let frame = |kind: u16, payload: &[u8]| [&[2; 12], &kind.to_be_bytes()[..], payload].concat();
    let permits =
        |frame: &[u8]| perimeter.permits_frame(&Flow::of_frame(frame).expect("a frame"), frame);
    let to = |to: &str| udp_packet((from, 4000), (to.parse().unwrap(), 4000), b"x");
    assert!(permits(&frame(ETHERTYPE_IPV4, &to("10.98.0.2"))));
    assert!(permits(&frame(ETHERTYPE_IPV4, &to("255.255.255.255"))));
    assert!(!permits(&frame(ETHERTYPE_IPV4, &to("10.98.0.1"))));
    let tagged = [&[0, 5][..], &ETHERTYPE_IPV4.to_be_bytes(), &to("10.98.0.1")].concat();
    assert!(!permits(&frame(0x8100, &tagged)));
    assert!(permits(&frame(ETHERTYPE_IPV6, &packet6("ff02::1", ICMPV6))));
    assert!(!permits(&frame(ETHERTYPE_IPV6, &packet6("2001:db8::1", UDP))));
    assert!(!permits(&frame(ETHERTYPE_IPV4, b"nothing")) && permits(&frame(0x88f7, b"a clock")));
    let arp = |target: [u8; 4]| frame(ETHERTYPE_ARP, &[&[0; 24][..], &target].concat());
    assert!(permits(&arp([10, 98, 0, 2])) && permits(&arp([10, 45, 0, 1])));
    assert!(!permits(&arp([10, 98, 0, 1])) && !permits(&frame(ETHERTYPE_ARP, &[0; 20])));
}

/// Linux removes all tags with the VLAN identifier 0, and takes the packet.
#[test]
fn attack_a_packet_behind_several_tags_reaches_the_machine() {
    let perimeter = perimeter();
    let (from, to) = (Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(10, 98, 0, 1));
    let packet = udp_packet((from, 4000), (to, 4000), b"x");
    let permits = |tags: &[u16]| {
        let tags = tags.iter().flat_map(|tag| [tag.to_be_bytes(), [0, 0]].concat());
        let tags: Vec<u8> = tags.collect();
        let frame = [&[2; 12][..], &tags, &ETHERTYPE_IPV4.to_be_bytes(), &packet].concat();
        perimeter.permits_frame(&Flow::of_frame(&frame).expect("a frame"), &frame)
    };
    let (customer, service) = (ETHERTYPE_C_TAG, ETHERTYPE_S_TAG);
    for tags in [
        &[][..],
        &[customer],
        &[service],
        &[service, customer],
        &[customer; 2],
        &[customer; 5],
        &[service; 2],
        &[customer, service],
        &[service, customer, customer],
    ] {
        assert!(!permits(tags), "{tags:04x?}");
    }
}

/// The option of a source route names the next destination.
#[test]
fn attack_a_source_route_in_a_frame_leads_past_the_gateway() {
    let perimeter = perimeter();
    let (from, gateway) = (Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(10, 45, 0, 1));
    let plain = udp_packet((from, 4000), (gateway, 53), b"x");
    let permits = |packet: &[u8]| {
        let frame = [&[2; 12][..], &ETHERTYPE_IPV4.to_be_bytes(), packet].concat();
        perimeter.permits_frame(&Flow::of_frame(&frame).expect("a frame"), &frame)
    };
    assert!(permits(&plain), "the gateway answers DNS");
    let mut routed = plain;
    // To 192.168.7.10, and the end of the options.
    routed.splice(20..20, [131, 7, 4, 192, 168, 7, 10, 0]);
    (routed[0], routed[3]) = (0x47, routed[3] + 8);
    assert_eq!(Flow::of(&routed).expect("a packet").ports, Some((4000, 53)));
    assert!(!permits(&routed));
}

/// The first fragment ends with extension headers, and the second one has the ports.
#[test]
fn attack_a_first_fragment_without_ports_reaches_other_ports_of_the_gateway() {
    let perimeter = perimeter();
    let permits = |packet: &[u8]| perimeter.permits(&Flow::of(packet).expect("a packet"), packet);
    let fragment = |rest: &[u8]| {
        let mut packet = packet6("fd45::1", 44);
        packet.truncate(40);
        packet.extend(rest);
        packet[5] = rest.len() as u8;
        packet
    };
    // Fragment header, and destination options that are filled.
    let first = |next: u8| fragment(&[60, 0, 0, 1, 0, 0, 0, 7, next, 0, 1, 4, 0, 0, 0, 0]);
    assert!(!permits(&first(UDP)) && !permits(&first(TCP)));
    assert!(permits(&first(ICMPV6)), "it has no ports");
    let later = fragment(&[UDP, 0, 0, 8, 0, 0, 0, 7, 0x10, 0, 0x23, 0xa7, 0, 8, 0, 0]);
    assert!(permits(&later), "it is nothing without the first one");
}

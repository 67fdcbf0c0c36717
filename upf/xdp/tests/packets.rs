//! Packets after the programs, byte for byte (`BPF_PROG_TEST_RUN`).
mod common;
#[path = "packets/filters.rs"]
mod filters;
#[path = "packets/limits.rs"]
mod limits;

use common::bench::{
    Bench, GNB, HOST, Link, OTHER_GNB_TEID, OTHER_TEID, OTHER_UE, UE, ethernet, ip4, udp4,
};
use martlet_pfcp::ie::{GateStatus, Interface, SdfFilter};
use martlet_upf_datapath::conformance::{measure, udp_packet};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::{Change, Datapath, DatapathError, Event, Reached};
use martlet_upf_rules::dns::{Answer, NamePattern};
use martlet_upf_rules::*;
use martlet_upf_testing::{in_namespace, run};
use martlet_upf_xdp::Verdict;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TEID: u32 = 0x0101_0101;
const UP: (Ipv4Addr, u16) = (UE, 9000);
const THERE: (Ipv4Addr, u16) = (HOST, 7000);

/// A G-PDU with flags, and bytes between its fixed header and the packet.
fn g_pdu(teid: u32, flags: u8, between: &[u8], packet: &[u8]) -> Vec<u8> {
    let length = (between.len() + packet.len()) as u16;
    let mut bytes = vec![0x30 | flags, 255];
    bytes.extend(length.to_be_bytes());
    bytes.extend(teid.to_be_bytes());
    bytes.extend(between);
    bytes.extend(packet);
    bytes
}

/// The PDU session container of an uplink packet of QoS flow 9, as the last extension header.
const CONTAINER: [u8; 8] = [0, 0, 0, 0x85, 1, 0x10, 9, 0];

fn uplink(bench: &Bench, gtp: &[u8]) -> Vec<u8> {
    let ip = udp4((GNB, 2152), (bench.n3(), 2152), gtp);
    ethernet(bench.n3.own, bench.n3.peer, 0x0800, &ip)
}

/// The packet after one hop.
fn aged(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match packet[0] >> 4 {
        4 => {
            packet[8] -= 1;
            ip4::set_checksum(&mut packet);
        }
        _ => packet[7] -= 1,
    }
    packet
}

fn leaves(bench: &Bench, link: &Link, packet: &[u8]) -> (Verdict, Vec<u8>) {
    let _ = bench;
    (Verdict::Redirect(0), ethernet(link.peer, link.own, 0x0800, packet))
}

/// The packet in the tunnel to the gNB, as it is sent.
fn tunnelled(bench: &Bench, teid: u32, flags: u8, between: &[u8], packet: &[u8]) -> Vec<u8> {
    let ip = udp4((bench.n3(), 2152), (GNB, 2152), &g_pdu(teid, flags, between, packet));
    ethernet(bench.n3.peer, bench.n3.own, 0x0800, &ip)
}

/// A session whose uplink has a PDR for each filter, and a default one.
fn with_filters(bench: &Bench, filters: &[(&str, SdfFilter)]) -> Session {
    let mut session = bench.session_of(1, TEID, UE);
    for (n, (text, filter)) in filters.iter().enumerate() {
        let id = 10 + n as u16;
        let filter = SdfFilter { flow_description: Some(text.to_string()), ..filter.clone() };
        let pdr = Pdr {
            id,
            precedence: 1 + n as u32,
            filters: vec![filter],
            far: 9,
            ..session.pdrs[&1].clone()
        };
        session.pdrs.insert(id, pdr);
    }
    let drop = Far::new(9, Action::Drop);
    session.fars.insert(9, drop);
    session.resolve(&RuleLimits::default()).expect("valid rules");
    session
}

#[test]
fn uplink_packets_are_decapsulated_with_any_header_form() {
    Bench::each(|mut bench| {
        bench.session();
        let packet = udp_packet(UP, THERE, b"up");
        let due = leaves(&bench, &bench.n6, &aged(&packet));
        // A longer chain: a downlink container with a paging policy indicator, and an unknown
        // header.
        let chain = [&[0, 0, 0, 0x85][..], &[2, 0x10, 9, 0, 0, 0, 0, 0x03], &[1, 1, 2, 0]].concat();
        for (flags, between) in [
            (0, &[][..]),
            (2, &[0, 1, 0, 0]),
            (1, &[0, 0, 7, 0]),
            (3, &[1, 2, 3, 0x85]),
            (4, &CONTAINER),
            (6, &CONTAINER),
            (4, &[0, 0, 0, 0]),
            (4, &chain),
        ] {
            let frame = uplink(&bench, &g_pdu(TEID, flags, between, &packet));
            assert_eq!(bench.run_n3(&frame), due, "{flags} {between:?}");
        }
        // Bytes after the message are cut off.
        let mut long = g_pdu(TEID, 4, &CONTAINER, &packet);
        long.extend([0xff; 9]);
        assert_eq!(bench.run_n3(&uplink(&bench, &long)), due);
        let inner = [&packet[..], &[0xee; 5]].concat();
        assert_eq!(bench.run_n3(&uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &inner))), due);
        // Options of the outer header, and a VLAN tag.
        let gtp = g_pdu(TEID, 4, &CONTAINER, &packet);
        let mut options = udp4((GNB, 2152), (bench.n3(), 2152), &gtp);
        options.splice(20..20, [1; 8]);
        options[0] = 0x47;
        let length = options.len() as u16;
        options[2..4].copy_from_slice(&length.to_be_bytes());
        ip4::set_checksum(&mut options);
        assert_eq!(bench.run_n3(&ethernet(bench.n3.own, bench.n3.peer, 0x0800, &options)), due);
        let mut tagged = uplink(&bench, &gtp);
        tagged.splice(12..12, [0x81, 0, 0, 100]);
        assert_eq!(bench.run_n3(&tagged), due);
    });
}

#[test]
fn downlink_packets_are_encapsulated() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        let packet = udp_packet(THERE, UP, b"down");
        let frame = ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet);
        let container = [0, 0, 0, 0x85, 1, 0, 9, 0];
        let due = tunnelled(&bench, 0xa0a0_a0a0, 4, &container, &aged(&packet));
        assert_eq!(bench.run_n6(&frame), (Verdict::Redirect(0), due.clone()));
        // Ethernet padding is not encapsulated.
        let padded = [&frame[..], &[0; 14]].concat();
        assert_eq!(bench.run_n6(&padded), (Verdict::Redirect(0), due));
        session.qers.get_mut(&1).unwrap().reflective = true;
        bench.apply(&session);
        let due =
            tunnelled(&bench, 0xa0a0_a0a0, 4, &[0, 0, 0, 0x85, 1, 0, 0x49, 0], &aged(&packet));
        assert_eq!(bench.run_n6(&frame), (Verdict::Redirect(0), due));
        session.qers.get_mut(&1).unwrap().qfi = None;
        bench.apply(&session);
        let due = tunnelled(&bench, 0xa0a0_a0a0, 0, &[], &aged(&packet));
        assert_eq!(bench.run_n6(&frame), (Verdict::Redirect(0), due));
    });
}

#[test]
fn foreign_packets_are_not_modified() {
    Bench::each(|mut bench| {
        bench.session();
        let n3 = bench.n3();
        let other = Ipv4Addr::new(10, 45, 0, 99);
        let mut fragment =
            udp4((GNB, 2152), (n3, 2152), &g_pdu(TEID, 0, &[], &udp_packet(UP, THERE, b"x")));
        fragment[6] = 0x20;
        let mut later = fragment.clone();
        later[6..8].copy_from_slice(&[0, 9]);
        for ip in [
            udp4((GNB, 2152), (n3, 53), b"not GTP-U"),
            udp4((GNB, 2152), (HOST, 2152), b"foreign destination"),
            udp4((GNB, 9), (n3, 2152), &martlet_gtpu::echo_request(7)),
            udp4((GNB, 9), (n3, 2152), &martlet_gtpu::end_marker(TEID, None)),
            udp_packet((HOST, 1), (other, 2), b"unknown UE"),
            fragment,
            later,
        ] {
            let frame = ethernet(bench.n3.own, bench.n3.peer, 0x0800, &ip);
            assert_eq!(bench.run_n3(&frame), (Verdict::Pass, frame.clone()));
            assert_eq!(bench.run_n6(&frame), (Verdict::Pass, frame));
        }
        let arp = ethernet([0xff; 6], bench.n3.peer, 0x0806, &[0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(bench.run_n3(&arp), (Verdict::Pass, arp));
        // Packets that need an ICMP error are passed to the kernel: TTL exceeded, or too large.
        let mut old = udp_packet(THERE, UP, b"too far");
        old[8] = 1;
        ip4::set_checksum(&mut old);
        for packet in [old, udp_packet(THERE, UP, &[0; 1373])] {
            let frame = ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet);
            assert_eq!(bench.run_n6(&frame), (Verdict::Pass, frame));
        }
    });
}

#[test]
fn malformed_packets_are_dropped_with_their_reason() {
    Bench::each(|mut bench| {
        bench.session();
        let packet = udp_packet(UP, THERE, b"x");
        let good = g_pdu(TEID, 4, &CONTAINER, &packet);
        let truncated = (0..good.len() - 1).filter(|n| *n != 8).map(|n| good[..n].to_vec());
        let endless =
            g_pdu(TEID, 4, &[[0, 0, 0, 0x03], [1, 0, 0, 0x03], [1, 0, 0, 0x03]].concat(), &[]);
        let mut long_chain = [0, 0, 0, 0x03].to_vec();
        long_chain.extend([1, 0, 0, 0x03].repeat(8));
        let mut nested = g_pdu(TEID, 0, &[], &good);
        let mut version = good.clone();
        version[0] = 0x54;
        let mut prime = good.clone();
        prime[0] &= !0x10;
        let zero = g_pdu(TEID, 4, &[0, 0, 0, 0x85, 0, 0, 0, 0], &packet);
        let cases: Vec<Vec<u8>> = truncated
            .chain([
                endless,
                g_pdu(TEID, 4, &long_chain, &packet),
                std::mem::take(&mut nested),
                version,
                prime,
                zero,
            ])
            .collect();
        let n = cases.len() as u64;
        for bytes in cases {
            let frame = uplink(&bench, &bytes);
            assert_eq!(bench.run_n3(&frame).0, Verdict::Drop, "{bytes:02x?}");
        }
        assert_eq!(bench.drops(DropReason::Malformed), n);
        let foreign = udp_packet((Ipv4Addr::new(10, 45, 0, 77), 9), THERE, b"x");
        assert_eq!(bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], &foreign))).0, Verdict::Drop);
        assert_eq!(bench.drops(DropReason::ForeignSource), 1);
    });
}

#[test]
fn packets_of_unknown_tunnels_are_reported_at_a_limited_rate() {
    Bench::each(|bench| {
        let frame = uplink(&bench, &g_pdu(0xdead, 0, &[], &udp_packet(UP, THERE, b"x")));
        let shown = (0..200).filter(|_| bench.run_n3(&frame).0 == Verdict::Pass).count();
        assert!((100..150).contains(&shown), "{shown}");
        assert_eq!(bench.drops(DropReason::UnknownTunnel), 200 - shown as u64);
    });
}

#[test]
fn unknown_senders_do_not_use_up_what_peers_are_answered() {
    Bench::each(|mut bench| {
        bench.datapath.set_peers(&[(GNB.into(), true)]);
        bench.session();
        let packet = udp_packet(UP, THERE, b"x");
        let unknown = (Ipv4Addr::new(198, 51, 100, 9), 2152);
        let ip = udp4(unknown, (bench.n3(), 2152), &g_pdu(TEID, 0, &[], &packet));
        let frame = ethernet(bench.n3.own, bench.n3.peer, 0x0800, &ip);
        let passed = (0..200).filter(|_| bench.run_n3(&frame).0 == Verdict::Pass).count();
        assert!((100..150).contains(&passed), "{passed}: it may be a new gNB");
        let frame = uplink(&bench, &g_pdu(0xdead, 0, &[], &packet));
        let passed = (0..100).filter(|_| bench.run_n3(&frame).0 == Verdict::Pass).count();
        assert_eq!(passed, 100, "unknown tunnels of the gNB");
    });
}

#[test]
fn a_ue_does_not_use_up_what_others_are_answered() {
    Bench::each(|mut bench| {
        bench.session();
        bench.other_session();
        let mut solicitation = vec![0x60, 0, 0, 0, 0, 8, 58, 255];
        for address in ["fe80::2a", "ff02::2"] {
            let address: Ipv6Addr = address.parse().expect("an address");
            solicitation.extend(address.octets());
        }
        solicitation.extend([133, 0, 0x7b, 0x8a, 0, 0, 0, 0]);
        let passed = |bench: &Bench, teid: u32, packet: &[u8], times: usize| {
            let frame = uplink(bench, &g_pdu(teid, 4, &CONTAINER, packet));
            (0..times).filter(|_| bench.run_n3(&frame).0 == Verdict::Pass).count()
        };
        // Four at once, and one for each second that the test takes.
        let of_one = passed(&bench, TEID, &solicitation, 200);
        assert!((4..50).contains(&of_one), "{of_one}");
        assert_eq!(bench.drops(DropReason::Rate), 200 - of_one as u64);
        assert_eq!(passed(&bench, OTHER_TEID, &solicitation, 4), 4);
        let packet = udp_packet(UP, THERE, b"x");
        assert_eq!(passed(&bench, 0xdead, &packet, 40), 40, "unknown tunnels of the gNB");
    });
}

#[test]
fn a_session_whose_routes_find_no_room_is_rejected() {
    in_namespace(|| {
        let mut bench = Bench::new(|config| config.xdp.sessions = 16);
        let with_routes = |bench: &Bench, seid: u8, teid: u32, ue: Ipv4Addr, count: u8| {
            let mut session = bench.session_of(seid.into(), teid, ue);
            let network = |n: u8| IpAddr::from([10, 60 + seid, n, 0]);
            let routes = (0..count).map(|n| Prefix { network: network(n), length: 24 }).collect();
            let extras = PdrExtras { routes, ..PdrExtras::default() };
            session.pdrs.get_mut(&2).expect("PDR 2").extras = Some(Box::new(extras));
            session
        };
        let first = with_routes(&bench, 1, TEID, UE, 16);
        bench.apply(&first);
        let second = with_routes(&bench, 2, 0x0202, OTHER_UE, 1);
        let error = bench.datapath.apply(&Change::to(&second)).expect_err("no room");
        assert!(matches!(error, DatapathError::NoResources(_)), "{error}");
        assert!(error.to_string().contains("upf.xdp.sessions"), "{error}");
        // Those that are written remain, and nothing of the other session is.
        bench.apply(&first);
        let down = |bench: &Bench, to: Ipv4Addr| {
            let packet = udp_packet(THERE, (to, 9000), b"down");
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)).0
        };
        assert_eq!(down(&bench, Ipv4Addr::new(10, 61, 15, 7)), Verdict::Redirect(0));
        assert_eq!(down(&bench, OTHER_UE), Verdict::Pass);
        let tables = bench.datapath.tables();
        let routes = tables.iter().find(|usage| usage.table == "ipv4_routes").expect("its usage");
        assert_eq!((routes.used, routes.capacity), (16, 16));
        bench.datapath.remove(1);
        bench.apply(&second);
        assert_eq!(down(&bench, Ipv4Addr::new(10, 62, 0, 7)), Verdict::Redirect(0));
    });
}

#[test]
fn packets_are_forwarded_between_tunnels() {
    Bench::each(|mut bench| {
        // An intermediate UPF: from the gNB to the anchor, and back.
        let mut session = bench.session();
        let anchor = Tunnel { teid: 0xbbbb, peer: GNB.into() };
        let far = session.fars.get_mut(&1).unwrap();
        (far.tunnel, far.destination) = (Some(anchor), Some(Interface::Core));
        let local = session.pdrs[&1].local.map(|local| LocalTunnel { teid: 0x0202, ..local });
        let down = session.pdrs.get_mut(&2).unwrap();
        (down.local, down.ue) = (local, vec![]);
        bench.apply(&session);
        let packet = udp_packet(UP, THERE, b"up");
        let frame = uplink(&bench, &g_pdu(TEID, 4, &[0, 0, 0, 0x85, 1, 0x10, 5, 0], &packet));
        // The QoS flow of an uplink packet is preserved.
        let due = tunnelled(&bench, 0xbbbb, 4, &[0, 0, 0, 0x85, 1, 0x10, 5, 0], &packet);
        assert_eq!(bench.run_n3(&frame), (Verdict::Redirect(0), due));
        let packet = udp_packet(THERE, UP, b"down");
        let frame = uplink(&bench, &g_pdu(0x0202, 4, &[0, 0, 0, 0x85, 1, 0, 5, 0], &packet));
        let due = tunnelled(&bench, 0xa0a0_a0a0, 4, &[0, 0, 0, 0x85, 1, 0, 9, 0], &packet);
        assert_eq!(bench.run_n3(&frame), (Verdict::Redirect(0), due));
    });
}

#[test]
fn ues_reach_each_other() {
    Bench::each(|mut bench| {
        bench.session();
        bench.other_session();
        let packet = udp_packet(UP, (OTHER_UE, 1), b"hello");
        let frame = uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &packet));
        let due = tunnelled(&bench, OTHER_GNB_TEID, 4, &[0, 0, 0, 0x85, 1, 0, 9, 0], &packet);
        assert_eq!(bench.run_n3(&frame), (Verdict::Redirect(0), due));
    });
}

/// A UDP packet over IPv6, with a number of destination options.
fn udp6(from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), options: usize) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(((options * 8 + 12) as u16).to_be_bytes());
    bytes.extend([if options > 0 { 60 } else { 17 }, 64]);
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    for n in 1..=options {
        bytes.extend([if n == options { 17 } else { 60 }, 0, 1, 4, 0, 0, 0, 0]);
    }
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    bytes.extend([0, 12, 0, 0, 1, 2, 3, 4]);
    bytes
}

#[test]
fn ipv6_is_forwarded_in_both_directions() {
    Bench::each(|mut bench| {
        let ue: Ipv6Addr = "2001:db8:45::7".parse().unwrap();
        let host: Ipv6Addr = "2001:db8:98::2".parse().unwrap();
        let mut session = with_filters(
            &bench,
            &[("permit out 17 from 2001:db8:98::/48 7001 to assigned", SdfFilter::default())],
        );
        for pdr in session.pdrs.values_mut() {
            pdr.ue = vec![UeAddress::V4(UE), UeAddress::of(IpAddr::V6(ue))];
        }
        bench.apply(&session);
        for options in [0, 3] {
            for (port, passes) in [(7000, true), (7001, false)] {
                let packet = udp6((ue, 9), (host, port), options);
                let verdict = bench.run_n3(&uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &packet)));
                if passes {
                    // The kernel routes IPv6.
                    assert_eq!(verdict.0, Verdict::Redirect(0));
                    assert_eq!(verdict.1[12..], [&[0x86, 0xdd][..], &packet].concat()[..]);
                } else {
                    assert_eq!(verdict.0, Verdict::Drop);
                }
            }
        }
        let foreign = udp6(("2001:db8:46::7".parse().unwrap(), 9), (host, 7000), 0);
        assert_eq!(bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], &foreign))).0, Verdict::Drop);
        assert_eq!(bench.drops(DropReason::ForeignSource), 1);
        // A link-local address stays on the link.
        let own = udp6(("fe80::1".parse().unwrap(), 9), (host, 7000), 0);
        assert_eq!(bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], &own))).0, Verdict::Drop);
        assert_eq!(bench.drops(DropReason::ForeignSource), 2);
        let packet = udp6((host, 7000), (ue, 9), 0);
        let frame = ethernet(bench.n6.own, bench.n6.peer, 0x86dd, &packet);
        let due = tunnelled(&bench, 0xa0a0_a0a0, 4, &[0, 0, 0, 0x85, 1, 0, 9, 0], &aged(&packet));
        assert_eq!(bench.run_n6(&frame), (Verdict::Redirect(0), due));
    });
}

#[test]
fn packets_that_the_kernel_fragments_have_identifications_of_their_own() {
    Bench::each(|mut bench| {
        bench.session();
        run("ip", "link set n3a mtu 1300");
        std::thread::sleep(std::time::Duration::from_millis(2200));
        // 1,328 bytes, and 44 of the tunnel.
        let packet = udp_packet(THERE, UP, &[0; 1300]);
        let frame = ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..8 {
            let (verdict, bytes) = bench.run_n6(&frame);
            assert_eq!((verdict, bytes.len()), (Verdict::Redirect(0), 14 + 44 + packet.len()));
            let mut header = bytes[14..34].to_vec();
            ip4::set_checksum(&mut header);
            assert_eq!(header, bytes[14..34], "the header's checksum");
            seen.insert([header[4], header[5]]);
        }
        assert!(seen.len() > 1, "{seen:?}");
    });
}

#[test]
fn a_changed_next_hop_is_used() {
    Bench::each(|mut bench| {
        bench.session();
        let packet = udp_packet(UP, THERE, b"up");
        let frame = uplink(&bench, &g_pdu(TEID, 0, &[], &packet));
        assert_eq!(bench.run_n3(&frame), leaves(&bench, &bench.n6, &aged(&packet)));
        run("ip", &format!("neigh replace {HOST} lladdr 02:00:00:00:00:99 dev n6a nud permanent"));
        std::thread::sleep(std::time::Duration::from_millis(2200));
        assert_eq!(bench.run_n3(&frame).1[..6], [2, 0, 0, 0, 0, 0x99]);
        // The kernel resolves an unknown neighbour: it gets the unmodified packet, to forward it.
        run("ip", &format!("neigh del {HOST} dev n6a"));
        std::thread::sleep(std::time::Duration::from_millis(2200));
        let (verdict, bytes) = bench.run_n3(&frame);
        assert_eq!((verdict, &bytes[14..]), (Verdict::Redirect(0), &packet[..]));
    });
}

#[test]
fn replaced_rules_free_their_slots() {
    Bench::each(|mut bench| {
        // 60 sessions fill half of the table; each is modified in turn.
        let sessions: Vec<Session> = (0..60u8)
            .map(|n| {
                bench.session_of(
                    1 + u64::from(n),
                    0x100 + u32::from(n),
                    Ipv4Addr::new(10, 45, 1, n),
                )
            })
            .collect();
        sessions.iter().for_each(|session| bench.apply(session));
        for (n, mut session) in sessions.into_iter().enumerate() {
            if n % 20 == 19 {
                std::thread::sleep(std::time::Duration::from_millis(120));
            }
            session.qers.get_mut(&1).unwrap().qfi = Some(5);
            bench.apply(&session);
        }
        // Their slots are free some time later.
        let used = || bench.datapath.details()["tables"]["rules"]["used"].as_u64();
        let are_free = (0..300).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            used() == Some(120)
        });
        assert!(are_free, "{:?} slots are used", used());
    });
}

#[test]
fn every_session_is_found_in_the_cache_or_the_overflow_table() {
    // As many sessions as allowed: some keys hash to the same slot.
    in_namespace(|| {
        let mut bench = Bench::new(|config| config.xdp.rules = 1024);
        let ue = |n: u32| Ipv4Addr::from_bits(UE.to_bits() + n);
        let teid = |n: u32| 0x0101_0101u32.wrapping_add(n.wrapping_mul(0x0100_4001));
        let found = |bench: &Bench, n: u32| {
            let up = udp_packet((ue(n), 9000), THERE, b"up");
            let up = bench.run_n3(&uplink(bench, &g_pdu(teid(n), 4, &CONTAINER, &up))).0;
            let down = udp_packet(THERE, (ue(n), 9000), b"down");
            let down = bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &down)).1;
            // The TEID at the gNB if the packet was sent there: after Ethernet, IP, UDP and four
            // bytes of GTP-U.
            let to = down
                .get(46..50)
                .filter(|_| down.len() > 80)
                .map(|t| u32::from_be_bytes([t[0], t[1], t[2], t[3]]));
            (up == Verdict::Redirect(0), to)
        };
        let mut sessions: Vec<Session> =
            (0..60).map(|n| bench.session_of(u64::from(n) + 1, teid(n), ue(n))).collect();
        for round in 0..4u32 {
            for (n, session) in (0u32..).zip(&mut sessions) {
                let tunnel = Tunnel { teid: round * 1000 + n + 1, peer: GNB.into() };
                session.fars.get_mut(&2).unwrap().tunnel = Some(tunnel);
                bench.apply(session);
                assert_eq!(
                    found(&bench, n),
                    (true, Some(tunnel.teid)),
                    "session {n}, round {round}"
                );
            }
            // All of them, after all have moved.
            for n in 0..60 {
                assert_eq!(
                    found(&bench, n),
                    (true, Some(round * 1000 + n + 1)),
                    "session {n} after round {round}"
                );
            }
        }
        for (n, session) in (0u32..).zip(&sessions) {
            bench.datapath.remove(session.seid);
            assert!(!found(&bench, n).0 && found(&bench, n).1.is_none(), "session {n} is removed");
        }
    });
}

/// The address of a name, from a DNS response.
#[test]
fn networks_behind_a_ue_are_routed_in_both_directions() {
    Bench::each(|mut bench| {
        let routes = ["10.60.0.0/24", "fd60::/48", "fd62::7:0/112"];
        let routed = |session: &mut Session, ids: &[u16], routes: &[&str]| {
            for id in ids {
                let prefix = |text: &&str| {
                    let (network, length) = text.split_once('/').expect("a network");
                    Prefix::of(
                        network.parse().expect("an address"),
                        length.parse().expect("a number"),
                    )
                };
                let extras = PdrExtras {
                    routes: routes.iter().map(prefix).collect(),
                    ..PdrExtras::default()
                };
                session.pdrs.get_mut(id).expect("the PDR").extras = Some(extras.into());
            }
        };
        let mut session = bench.session_of(1, 0x0101_0101, UE);
        routed(&mut session, &[1, 2], &routes);
        bench.apply(&session);
        // To a host there; the longest prefix matches.
        let mut other = bench.session_of(2, 0x0202_0202, Ipv4Addr::new(10, 45, 0, 3));
        for far in other.fars.values_mut() {
            far.tunnel = far.tunnel.map(|tunnel| Tunnel { teid: 0xb0b0_b0b0, ..tunnel });
        }
        routed(&mut other, &[1, 2], &["10.60.0.128/25"]);
        bench.apply(&other);
        let (near, far) = (Ipv4Addr::new(10, 60, 0, 7), Ipv4Addr::new(10, 60, 0, 200));
        for (to, teid) in [(near, 0xa0a0_a0a0), (far, 0xb0b0_b0b0), (UE, 0xa0a0_a0a0)] {
            let packet = udp_packet(THERE, (to, 9000), b"down");
            let frame = ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet);
            let container = [0, 0, 0, 0x85, 1, 0, 9, 0];
            let due = tunnelled(&bench, teid, 4, &container, &aged(&packet));
            assert_eq!(bench.run_n6(&frame), (Verdict::Redirect(0), due), "{to}");
        }
        let six = |host: &str| {
            let packet = udp6(("fd99::1".parse().unwrap(), 7000), (host.parse().unwrap(), 9000), 0);
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x86dd, &packet)).0
        };
        assert_eq!((six("fd60::7:1"), six("fd61::7:1")), (Verdict::Redirect(0), Verdict::Pass));
        assert_eq!((six("fd62::7:1"), six("fd62::8:1")), (Verdict::Redirect(0), Verdict::Pass));
        let nowhere = udp_packet(THERE, (Ipv4Addr::new(10, 60, 1, 7), 9000), b"down");
        assert_eq!(
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &nowhere)).0,
            Verdict::Pass
        );
        // From there: only its own UE may send with that address.
        let from = |teid, from| {
            uplink(&bench, &g_pdu(teid, 4, &CONTAINER, &udp_packet((from, 9000), THERE, b"up")))
        };
        assert!(matches!(bench.run_n3(&from(0x0101_0101, near)).0, Verdict::Redirect(_)));
        assert!(matches!(bench.run_n3(&from(0x0202_0202, far)).0, Verdict::Redirect(_)));
        assert_eq!(bench.drops(DropReason::ForeignSource), 0);
        assert_eq!(bench.run_n3(&from(0x0202_0202, near)).0, Verdict::Drop);
        assert_eq!(bench.drops(DropReason::ForeignSource), 1);
        // The system routes the networks to N6 as long as the session has them.
        let shown = || {
            let shown = std::process::Command::new("ip")
                .args(["route", "show", "10.60.0.0/24"])
                .output()
                .expect("ip");
            String::from_utf8_lossy(&shown.stdout).trim().to_string()
        };
        assert!(shown().contains("martlet-n6"), "{}", shown());
        let taken = {
            let mut third = bench.session_of(3, 0x0303_0303, Ipv4Addr::new(10, 45, 0, 4));
            routed(&mut third, &[1, 2], &["10.60.0.0/24"]);
            bench
                .datapath
                .apply(&Change::to(&third))
                .expect_err("the network belongs to another session")
                .to_string()
        };
        assert!(taken.contains("10.60.0.0/24"), "{taken}");
        routed(&mut session, &[1, 2], &[]);
        bench.apply(&session);
        assert_eq!(shown(), "");
        let packet = udp_packet(THERE, (near, 9000), b"down");
        assert_eq!(
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)).0,
            Verdict::Pass
        );
        bench.datapath.remove(2);
        let packet = udp_packet(THERE, (far, 9000), b"down");
        assert_eq!(
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)).0,
            Verdict::Pass
        );
    });
}

fn dns_answer(name: &str, address: [u8; 4]) -> Vec<u8> {
    let labels =
        name.split('.').flat_map(|label| [&[label.len() as u8][..], label.as_bytes()].concat());
    let labels: Vec<u8> = labels.chain([0]).collect();
    let header = [0x1234u16, 0x8180, 1, 1, 0, 0].map(u16::to_be_bytes).concat();
    [&header[..], &labels, &[0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4], &address]
        .concat()
}

#[test]
fn dns_responses_are_copied_if_an_application_has_domain_names() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        let run = |bench: &Bench, port: u16, message: &[u8]| {
            let packet = udp_packet((HOST, port), UP, message);
            bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)).0
        };
        let message = dns_answer("a.video.example", [192, 0, 2, 1]);
        assert_eq!(run(&bench, 53, &message), Verdict::Redirect(0));
        assert_eq!(bench.event(), None);
        let names = vec![NamePattern::read(b"*.video.example").unwrap()];
        let urls = vec![];
        let application = Application { id: b"video".to_vec(), rules: vec![], names, urls };
        session.pdrs.get_mut(&1).unwrap().application = Some(application.into());
        bench.apply(&session);
        // It is forwarded to the UE, and only this one is copied to user space.
        assert_eq!(run(&bench, 54, &message), Verdict::Redirect(0));
        assert_eq!(run(&bench, 53, &message[..9]), Verdict::Redirect(0));
        assert_eq!(run(&bench, 53, &message), Verdict::Redirect(0));
        let names = vec!["a.video.example".to_string()];
        let answer = Answer { names, addresses: vec![(IpAddr::from([192, 0, 2, 1]), 30)] };
        assert_eq!(
            bench.event(),
            Some(Event::Answer { server: HOST.into(), answer: answer.into() })
        );
        assert_eq!(bench.event(), None);
    });
}

//! From capture file to capture file, for every action of every table of the program; and the
//! switch process with capture files as ports.
mod common;
mod process;
mod testbed;

use common::*;
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::tables::Tables;
use martlet_switch_target::pcap::{Carrier, Files, Reader, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use testbed::*;

const OWN: &str = "
    decap teid 0x1001 ue 10.60.0.1 via 1 counter 1
    encap ue 10.60.0.1 teid 0x2001 from 192.168.70.1 to 192.168.70.2 qfi 9 via 2 counter 2
    decap teid 0x1005 ue 10.60.0.5 via 99 counter 14
    encap-filtered ue 10.60.0.8 session 8
    application application 1 session 8 protocol udp priority 5
    downlink6 session 8 application 1 teid 0x2008 peer 3 qfi 6 via 2 counter 17
    encap6-v6 prefix 2001:db8:45:c::/64 teid 0x200c peer 3 qfi 5 via 2 counter 26
";

/// Entries that are not rules in RPI's language: table, key, action, arguments.
const OTHERS: &[(&str, u64, &str, &[u64])] = &[
    ("gtp_decap", 0x1003, "hold_uplink", &[]),
    ("gtp_encap", 0x0a3c_0003, "hold_downlink", &[]),
    ("gtp_encap_v6", 0x2001_0db8_0045_000d, "hold_downlink", &[]),
    ("l2_forward", 7, "drop", &[]),
    (
        "interfaces",
        4,
        "access_checked",
        &[0xffff_ffff, 0xffff_ffff, u64::MAX, u64::MAX, 0, 0, 0, 1],
    ),
    ("gtp_default_forward", 4, "to_controller", &[]),
    ("ip_default_forward", 4, "to_controller", &[]),
    ("interfaces", 5, "access", &[0xffff_ffff, 0xffff_ffff, u64::MAX, u64::MAX, 0, 0, 0]),
    ("gtp_default_forward", 5, "drop", &[]),
    ("ip_default_forward", 5, "drop", &[]),
    ("interfaces", 6, "drop", &[]),
    ("ipv6_peers", 7, "drop", &[]),
    ("blocks", 0x0909_0000, "isolate", &[]),
    ("blocks", 0x0a0b_0000, "look_closer", &[]),
    ("blocks_24", 0x0a0b_0c00, "isolate", &[]),
    ("hosts", 0x0a0b_0d05, "isolate", &[]),
    ("blocks_v6", 0x2001_0db8_00aa_0000, "isolate", &[]),
    ("blocks_v6", 0x2001_0db8_00bb_0000, "look_closer", &[]),
    // Of gNB 77 only.
    ("gtp_decap", 0x1010, "decap", &[0x0a3c_0001, 30, 0, 1, 0, 77]),
];

/// The same with an IPv6 address as key: table, address, action, arguments.
const OF_ADDRESSES: &[(&str, Ipv6Addr, &str, &[u64])] =
    &[("hosts_v6", HIDDEN6, "isolate", &[]), ("ipv6_gnbs", GNB6, "gnb_number", &[77])];

/// An isolated host.
const HIDDEN6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xbb, 0, 0, 0, 0, 5);

const N_PORTS: u32 = 8;

fn entry(
    tables: &Tables,
    (table, key, action, arguments): (&str, u64, &str, &[u64]),
) -> TableEntry {
    let info = &tables.program().info;
    let table = info.table(table).expect(table);
    let action = info.action(action).expect(action);
    let key = Key { fields: vec![FieldMatch::Exact(key)], priority: 0 };
    TableEntry {
        table,
        key,
        call: Call { action, arguments: arguments.to_vec() },
        metadata: vec![],
    }
}

/// An entry of a table whose key is an address, the lower half first.
fn entry_of_address(
    tables: &Tables,
    (table, address, action, arguments): (&str, Ipv6Addr, &str, &[u64]),
) -> TableEntry {
    let half = |bits: u128| FieldMatch::Ternary(bits as u64, u64::MAX);
    let fields = vec![half(address.to_bits()), half(address.to_bits() >> 64)];
    let entry = entry(tables, (table, 0, action, arguments));
    TableEntry { key: Key { fields, priority: 1 }, ..entry }
}

fn write_file(path: &Path, frames: &[Vec<u8>]) {
    let mut writer = Writer::create(path).expect("a file");
    frames.iter().for_each(|frame| writer.write(SystemTime::UNIX_EPOCH, frame).expect("written"));
    writer.flush().expect("written");
}

fn read_file(path: &Path) -> Vec<Vec<u8>> {
    Reader::open(path).expect("a capture").map(|frame| frame.expect("whole")).collect()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("martlet-captures-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, side: &str, port: u32) -> PathBuf {
        self.0.join(format!("{side}{port}.pcap"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A payload that identifies the packet, long enough to need no padding.
fn payload(n: u8) -> Vec<u8> {
    vec![n; 70]
}

/// With a TCP header.
fn tcp_packet(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), ttl: u8, n: u8) -> Vec<u8> {
    ipv4(6, ttl, source, destination, &[tcp(ports.0, ports.1), payload(n)].concat())
}

fn udp_packet(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), ttl: u8, n: u8) -> Vec<u8> {
    ipv4(17, ttl, source, destination, &udp(ports.0, ports.1, &payload(n)))
}

fn in_tunnel(teid: u32, inner: &[u8]) -> Vec<u8> {
    ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(teid, 1, 9, inner))))
}

fn for_controller(port: u32, frame: &[u8]) -> Vec<u8> {
    [&port.to_be_bytes()[..], frame].concat()
}

const UE2: [u8; 4] = [10, 60, 0, 2];
const UE3: [u8; 4] = [10, 60, 0, 3];
const UE5: [u8; 4] = [10, 60, 0, 5];
const UE6: [u8; 4] = [10, 60, 0, 6];
const UE7: [u8; 4] = [10, 60, 0, 7];
const UE8: [u8; 4] = [10, 60, 0, 8];
const UE10: [u8; 4] = [10, 60, 0, 10];
const NO_UE: [u8; 4] = [10, 60, 0, 9];

/// The n-th UE's IPv6 address, and the host's.
fn ue6(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0x45, n, 0, 0, 0, 7)
}
const HOST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x98, 0, 0, 0, 0, 2);

/// A TCP packet.
fn tcp6(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    ports: (u16, u16),
    hop_limit: u8,
    n: u8,
) -> Vec<u8> {
    let mut packet =
        ipv6(hop_limit, source, destination, &[tcp(ports.0, ports.1), payload(n)].concat());
    packet[6] = 6;
    packet
}

fn udp6(source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8, n: u8) -> Vec<u8> {
    ipv6(hop_limit, source, destination, &udp(1000, 53, &payload(n)))
}

/// A case: description, ingress port and frame, and the expected output.
type Case = (&'static str, u32, Vec<u8>, Vec<(u32, Vec<u8>)>);

fn cases() -> Vec<Case> {
    let up = |ue, ttl, n| udp_packet(ue, REMOTE, (1000, 53), ttl, n);
    let down = |ue, ttl, n| udp_packet(REMOTE, ue, (53, 1000), ttl, n);
    let web = |ttl, n| tcp_packet(UE2, REMOTE, (1000, 85), ttl, n);
    let web_down = |ttl, n| tcp_packet(REMOTE, UE2, (85, 1000), ttl, n);
    let as_is =
        |port, to, frame: Vec<u8>, what| -> Case { (what, port, frame.clone(), vec![(to, frame)]) };
    let to_controller = |frame: Vec<u8>, what| -> Case {
        (what, 4, frame.clone(), vec![(7, for_controller(4, &frame))])
    };
    vec![
        (
            "gtp_decap.decap, l2_forward.l2",
            0,
            in_tunnel(0x1001, &up(UE, 64, 1)),
            vec![(1, to_network(&up(UE, 63, 1)))],
        ),
        (
            "gtp_encap.encap",
            1,
            ethernet(&down(UE, 64, 2)),
            vec![(0, to_gnb(0x2001, 9, &down(UE, 63, 2)))],
        ),
        (
            "gtp_decap.decap_filtered, applications.application, \
             uplink_terminations.uplink_forward",
            0,
            in_tunnel(0x1002, &web(64, 3)),
            vec![(1, to_network(&web(63, 3)))],
        ),
        ("uplink_terminations.gate_closed", 0, in_tunnel(0x1002, &up(UE2, 64, 4)), vec![]),
        (
            "gtp_encap.encap_filtered, downlink_terminations.downlink_forward",
            1,
            ethernet(&web_down(64, 5)),
            vec![(0, to_gnb(0x2002, 7, &web_down(63, 5)))],
        ),
        ("downlink_terminations.gate_closed", 1, ethernet(&down(UE2, 64, 6)), vec![]),
        as_is(
            0,
            2,
            in_tunnel(0x1002, &tcp_packet(UE2, REMOTE, (1000, 91), 64, 7)),
            "applications: a miss",
        ),
        as_is(
            0,
            2,
            in_tunnel(0x1003, &up(UE3, 64, 8)),
            "gtp_decap.hold_uplink: back to the native side at the end",
        ),
        as_is(1, 3, ethernet(&down(UE3, 64, 9)), "gtp_encap.hold_downlink"),
        ("l2_forward: a miss drops", 0, in_tunnel(0x1005, &up(UE5, 64, 10)), vec![]),
        as_is(
            0,
            2,
            in_tunnel(0x7777, &up(NO_UE, 64, 11)),
            "gtp_default_forward.to_native, gtp_decap: a miss",
        ),
        as_is(0, 2, ethernet(&down(NO_UE, 64, 12)), "ip_default_forward.to_native from the access"),
        as_is(
            1,
            3,
            ethernet(&down(NO_UE, 64, 13)),
            "ip_default_forward.to_native, gtp_encap: a miss",
        ),
        as_is(2, 0, ethernet(&down(NO_UE, 64, 14)), "interfaces.native"),
        as_is(3, 1, ethernet(&up(UE, 64, 15)), "interfaces.native"),
        to_controller(in_tunnel(0x7777, &up(NO_UE, 64, 16)), "gtp_default_forward.to_controller"),
        to_controller(ethernet(&down(NO_UE, 64, 17)), "ip_default_forward.to_controller"),
        ("gtp_default_forward.drop", 5, in_tunnel(0x7777, &up(NO_UE, 64, 18)), vec![]),
        (
            "gtp_decap.decap over IPv6",
            0,
            in_tunnel6(0x1001, &up(UE, 64, 20)),
            vec![(1, to_network(&up(UE, 63, 20)))],
        ),
        (
            "gtp_encap.encap6, ipv6_peers.tunnel6",
            1,
            ethernet(&down(UE6, 64, 21)),
            vec![(0, to_gnb6(0x2006, 5, &down(UE6, 63, 21)))],
        ),
        ("ipv6_peers: a miss drops", 1, ethernet(&down(UE7, 64, 22)), vec![]),
        (
            "downlink_terminations.downlink_forward6",
            1,
            ethernet(&down(UE8, 64, 23)),
            vec![(0, to_gnb6(0x2008, 6, &down(UE8, 63, 23)))],
        ),
        as_is(
            0,
            2,
            in_tunnel6(0x7777, &up(NO_UE, 64, 24)),
            "gtp_default_forward.to_native over IPv6",
        ),
        as_is(
            0,
            2,
            ethernet6(&ipv6(64, GNB6, N36, &udp(1, 2, &payload(25)))),
            "ip_default_forward.to_native of IPv6",
        ),
        (
            "gtp_decap.decap_v6: IPv6 leaves through its own next hop",
            0,
            in_tunnel(0x100a, &udp6(ue6(10), HOST6, 64, 30)),
            vec![(1, to_network6(&udp6(ue6(10), HOST6, 63, 30)))],
        ),
        (
            "gtp_decap.decap_v6: IPv4 of the same UE",
            0,
            in_tunnel(0x100a, &up(UE10, 64, 31)),
            vec![(1, to_network(&up(UE10, 63, 31)))],
        ),
        (
            "gtp_encap_v6.encap",
            1,
            ethernet6(&udp6(HOST6, ue6(10), 64, 32)),
            vec![(0, to_gnb(0x200a, 9, &udp6(HOST6, ue6(10), 63, 32)))],
        ),
        (
            "gtp_decap.decap_filtered_v6, applications_v6.application, \
             uplink_terminations.uplink_forward_v6",
            0,
            in_tunnel6(0x100b, &tcp6(ue6(11), HOST6, (1000, 85), 64, 33)),
            vec![(1, to_network6(&tcp6(ue6(11), HOST6, (1000, 85), 63, 33)))],
        ),
        (
            "gtp_encap_v6.encap_filtered",
            1,
            ethernet6(&tcp6(HOST6, ue6(11), (85, 1000), 64, 34)),
            vec![(0, to_gnb(0x200b, 7, &tcp6(HOST6, ue6(11), (85, 1000), 63, 34)))],
        ),
        (
            "uplink_terminations.gate_closed of IPv6",
            0,
            in_tunnel(0x100b, &udp6(ue6(11), HOST6, 64, 35)),
            vec![],
        ),
        (
            "downlink_terminations.gate_closed of IPv6",
            1,
            ethernet6(&udp6(HOST6, ue6(11), 64, 36)),
            vec![],
        ),
        (
            "gtp_encap_v6.encap6",
            1,
            ethernet6(&udp6(HOST6, ue6(12), 64, 37)),
            vec![(0, to_gnb6(0x200c, 5, &udp6(HOST6, ue6(12), 63, 37)))],
        ),
        as_is(
            0,
            2,
            in_tunnel(0x1003, &udp6(ue6(13), HOST6, 64, 38)),
            "gtp_decap.hold_uplink of IPv6",
        ),
        as_is(1, 3, ethernet6(&udp6(HOST6, ue6(13), 64, 39)), "gtp_encap_v6.hold_downlink"),
        as_is(0, 2, in_tunnel(0x100a, &udp6(ue6(11), HOST6, 64, 40)), "the prefix of another UE"),
        as_is(
            0,
            2,
            in_tunnel(0x1001, &udp6(ue6(10), HOST6, 64, 41)),
            "IPv6 of a UE with an IPv4 address only",
        ),
        as_is(0, 2, in_tunnel(0x100b, &up([0; 4], 64, 42)), "IPv4 of a UE with a prefix only"),
        as_is(0, 2, in_tunnel(0x100a, &udp6(ue6(10), HOST6, 1, 43)), "hop limit 1"),
        as_is(1, 3, ethernet6(&udp6(HOST6, ue6(10), 1, 44)), "hop limit 1"),
        as_is(
            0,
            2,
            in_tunnel(0x100a, &udp6(ue6(10), "ff02::2".parse().unwrap(), 64, 45)),
            "multicast",
        ),
        as_is(
            0,
            2,
            in_tunnel(0x100a, &udp6(ue6(10), "fe80::1".parse().unwrap(), 64, 46)),
            "link-local",
        ),
        as_is(0, 2, in_tunnel(0x100b, &udp_without_ports(ue6(11), 47)), "truncated ports"),
        as_is(
            0,
            2,
            in_tunnel(0x100b, &behind_options(ue6(11), 48)),
            "applications_v6: behind an extension header",
        ),
        (
            "gtp_decap.decap_v6: extension headers without filters",
            0,
            in_tunnel(0x100a, &behind_options(ue6(10), 49)),
            vec![(1, to_network6(&aged6(&behind_options(ue6(10), 49))))],
        ),
        to_controller(
            in_tunnel(0x1001, &udp_packet(UE, [9, 9, 1, 1], (1000, 53), 64, 60)),
            "interfaces.access_checked, blocks.isolate",
        ),
        to_controller(
            in_tunnel(0x1001, &udp_packet(UE, [10, 11, 12, 1], (1000, 53), 64, 61)),
            "blocks.look_closer, blocks_24.isolate",
        ),
        to_controller(
            in_tunnel(0x1001, &udp_packet(UE, [10, 11, 13, 5], (1000, 53), 64, 62)),
            "hosts.isolate",
        ),
        to_controller(
            in_tunnel(
                0x100a,
                &udp6(ue6(10), Ipv6Addr::new(0x2001, 0xdb8, 0xaa, 0, 0, 0, 0, 1), 64, 63),
            ),
            "blocks_v6.isolate",
        ),
        to_controller(
            in_tunnel(0x100a, &udp6(ue6(10), HIDDEN6, 64, 64)),
            "blocks_v6.look_closer, hosts_v6.isolate",
        ),
        (
            "ipv6_gnbs.gnb_number",
            0,
            in_tunnel6(0x1010, &up(UE, 64, 65)),
            vec![(1, to_network(&up(UE, 63, 65)))],
        ),
        as_is(0, 2, in_tunnel(0x1010, &up(UE, 64, 66)), "gtp_decap.decap: another gNB"),
        ("ip_default_forward.drop", 5, ethernet(&down(NO_UE, 64, 19)), vec![]),
    ]
}

/// A datagram that ends within its ports; the rest of the frame is padding.
fn udp_without_ports(source: Ipv6Addr, n: u8) -> Vec<u8> {
    ipv6(64, source, HOST6, &[n; 3])
}

/// A datagram behind destination options.
fn behind_options(source: Ipv6Addr, n: u8) -> Vec<u8> {
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let mut packet = ipv6(64, source, HOST6, &[&options[..], &udp(1000, 53, &payload(n))].concat());
    packet[6] = 60;
    packet
}

fn aged6(packet: &[u8]) -> Vec<u8> {
    let mut aged = packet.to_vec();
    aged[7] -= 1;
    aged
}

/// Through next hop 3.
fn to_network6(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 6, 2, 0, 0, 0, 0, 5, 0x86, 0xdd][..], packet].concat()
}

/// Every action that an entry of a table may have occurs in an entry here.
fn check_all_actions_occur(tables: &Tables) {
    let info = &tables.program().info;
    let name = |id: u32| {
        info.actions.iter().find(|action| action.id == id).map_or("", |action| &action.alias)
    };
    let mut wanted = BTreeSet::new();
    for table in &info.tables {
        for (action, default_only, _) in &table.actions {
            if !default_only && name(*action) != "NoAction" {
                wanted.insert(format!("{}.{}", table.alias, name(*action)));
            }
        }
    }
    let entries = (0..info.tables.len()).flat_map(|table| tables.entries(table));
    let present: BTreeSet<String> = entries
        .map(|entry| {
            format!("{}.{}", info.tables[entry.table].alias, info.actions[entry.call.action].alias)
        })
        .collect();
    let missing: Vec<_> = wanted.difference(&present).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn every_action_of_every_table() {
    for engine in engines() {
        let testbed = Testbed::new(engine, &[HOPS, KINDS, OWN].concat());
        let Testbed { switch, tables, .. } = &testbed;
        let others = OTHERS
            .iter()
            .map(|of| Update { operation: Operation::Insert, entry: entry(tables, *of) });
        let of_addresses = OF_ADDRESSES.iter().map(|of| Update {
            operation: Operation::Insert,
            entry: entry_of_address(tables, *of),
        });
        tables.write(&others.chain(of_addresses).collect::<Vec<_>>()).expect("all of them");
        check_all_actions_occur(tables);

        let folder = Folder::new("actions");
        let cases = cases();
        let mut expected: BTreeMap<u32, Vec<Vec<u8>>> =
            (0..N_PORTS).map(|port| (port, vec![])).collect();
        for (_, _, _, out) in &cases {
            out.iter()
                .for_each(|(port, frame)| expected.entry(*port).or_default().push(frame.clone()));
        }
        let mut ports = Vec::new();
        for port in 0..N_PORTS {
            let frames: Vec<_> =
                cases.iter().filter(|case| case.1 == port).map(|case| case.2.clone()).collect();
            let read = (!frames.is_empty()).then(|| folder.file("in", port));
            if let Some(path) = &read {
                write_file(path, &frames);
            }
            // Frames held at port 6 stay in the switch.
            let write = (port != 6).then(|| folder.file("out", port));
            if read.is_some() || write.is_some() {
                ports.push((port, Files { read, write }));
            }
        }
        (0..4).for_each(|port| switch.bypass(port, [2, 3, 0, 1][port as usize]));
        switch.start().expect("packet loop");
        let carrier = Carrier::start(switch, &ports).expect("the files");
        let until = Instant::now() + Duration::from_secs(60);
        while !carrier.at_end() {
            assert!(Instant::now() < until, "the files are not read");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(50));
        switch.stop();
        drop(carrier);
        for (port, mut wanted) in expected.into_iter().filter(|(port, _)| *port != 6) {
            let mut received = read_file(&folder.file("out", port));
            received.sort();
            wanted.sort();
            let of = |frame: &Vec<u8>| {
                let found = cases.iter().find(|case| case.3.iter().any(|(_, out)| out == frame));
                found.map_or("an unexpected frame", |case| case.0)
            };
            let lost: Vec<_> =
                wanted.iter().filter(|frame| !received.contains(frame)).map(of).collect();
            let more: Vec<_> = received.iter().filter(|frame| !wanted.contains(frame)).collect();
            assert!(
                received == wanted,
                "{engine:?}, port {port}: missing {lost:?}, too much {more:x?}"
            );
        }
        // The counters: packets, and bytes as a URR counts them.
        let count = |counter: &str, index| testbed.count(counter, index);
        assert_eq!([count("rules", 1), count("rules", 2)], [(2, 196), (1, 98)]);
        assert_eq!(
            [count("rules", 15), count("rules", 17), count("rules", 16)],
            [(1, 98), (1, 98), (0, 0)]
        );
        assert_eq!([count("rules", 10), count("rules", 12)], [(1, 110); 2]);
        // IPv6 packets have a longer header; both versions use one counter.
        assert_eq!([count("rules", 20), count("rules", 21)], [(3, 118 + 98 + 126), (1, 118)]);
        assert_eq!(
            [count("rules", 22), count("rules", 24), count("rules", 26)],
            [(1, 130), (1, 130), (1, 118)]
        );
        assert_eq!([count("dropped", 23), count("dropped", 25)], [(1, 118); 2]);
        assert_eq!([count("dropped", 11), count("dropped", 13)], [(1, 98); 2]);
        assert_eq!([count("rules", 11), count("rules", 13)], [(0, 0); 2]);
    }
}

#[test]
fn a_switch_process_forwards_captures() {
    const FRAMES: u32 = 20_000;
    let folder = Folder::new("process");
    let rules = folder.0.join("rules");
    let text =
        HOPS.lines().chain(OWN.lines().filter(|line| line.contains(" 0x1001 "))).map(str::trim);
    std::fs::write(&rules, text.collect::<Vec<_>>().join("\n")).expect("a file");
    let inner = |n: u32, ttl| {
        ipv4(17, ttl, UE, REMOTE, &udp(1000, 53, &[&payload(0)[..], &n.to_be_bytes()].concat()))
    };
    // Every other frame has no rule.
    let teid = |n: u32| if n.is_multiple_of(2) { 0x1001 } else { 0x7777 };
    let all: Vec<Vec<u8>> = (0..FRAMES).map(|n| in_tunnel(teid(n), &inner(n, 64))).collect();
    write_file(&folder.file("in", 0), &all);
    write_file(&folder.file("in", 1), &[]);
    let pcap = |read: Option<u32>, write: u32| {
        let read = read.map_or(String::new(), |port| folder.file("in", port).display().to_string());
        format!("pcap:{read},{}", folder.file("out", write).display())
    };
    let (access, native3, core, native6) =
        (pcap(Some(0), 0), pcap(None, 2), pcap(Some(1), 1), pcap(None, 3));
    let words = [
        ["--rules", rules.to_str().expect("text")],
        ["--access", &access],
        ["--native-n3", &native3],
        ["--core", &core],
        ["--native-n6", &native6],
        ["--memory", "360"],
    ];
    let mut switch = process::Process::start(&words.concat());
    let bytes = |port: u32| std::fs::metadata(folder.file("out", port)).map_or(0, |of| of.len());
    let half = u64::from(FRAMES / 2);
    let until = Instant::now() + Duration::from_secs(60);
    while bytes(2) < 24 + half * (16 + all[0].len() as u64) {
        assert!(Instant::now() < until, "{} and {} bytes", bytes(1), bytes(2));
        std::thread::sleep(Duration::from_millis(10));
    }
    switch.end();
    let by_rule: Vec<Vec<u8>> = (0..FRAMES).step_by(2).map(|n| to_network(&inner(n, 63))).collect();
    let native: Vec<Vec<u8>> = all.iter().skip(1).step_by(2).cloned().collect();
    assert!(read_file(&folder.file("out", 1)) == by_rule, "all frames, in order");
    assert!(read_file(&folder.file("out", 2)) == native, "all frames, in order");
    assert_eq!(
        (read_file(&folder.file("out", 0)), read_file(&folder.file("out", 3))),
        (vec![], vec![])
    );
}

#[test]
fn wrong_ports_and_rules_are_reported() {
    let folder = Folder::new("wrong");
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.0.join(name), bytes).expect("a file");
        folder.0.join(name).display().to_string()
    };
    let (not, rules) = (file("not.pcap", &[0; 40]), file("rules", b"decap teid 1 ue 10.60.0.1\n"));
    let absent = "pcap:/nowhere/in.pcap";
    let wire = |port: &str| {
        ["--access", port, "--native-n3", "pcap:,/dev/null"].map(String::from).to_vec()
    };
    for (words, expected) in [
        (wire(&format!("pcap:{not}")), "not a pcap file"),
        (wire(absent), "/nowhere/in.pcap"),
        (wire("tap:eth0"), "not a kind of port"),
        (vec!["--rules".into(), rules.clone()], "rules:1:26: decap needs via"),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_martlet-switch"));
        command.args(["run", "--once", "--listen", "127.0.0.1:0", "--memory", "360"]).args(words);
        let output = command.stdin(std::process::Stdio::null()).output().expect("the switch");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(expected), "{expected}: {text}");
    }
}

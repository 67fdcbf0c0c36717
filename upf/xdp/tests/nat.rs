//! Packets after address translation by the programs, byte for byte (`BPF_PROG_TEST_RUN`).
mod common;
#[path = "nat/rule_cache.rs"]
mod rule_cache;

use common::bench::{
    Bench, GNB, HOST, OTHER_GNB_TEID, OTHER_TEID, OTHER_UE, UE, ethernet, ip4, udp4,
};
use martlet_pfcp::ie::SdfFilter;
use martlet_upf_config::{AllowedService, N6Mode, ServiceProtocol, UpfConfig};
use martlet_upf_datapath::Datapath;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_rules::RuleLimits;
use martlet_upf_xdp::Verdict;
use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::time::Duration;

const TEID: u32 = 0x0101_0101;
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

/// A datapath that translates to [`PUBLIC`], with the UE's session.
fn each(
    change: impl FnOnce(&mut UpfConfig) + Send + 'static,
    test: impl FnOnce(Bench) + Send + 'static,
) {
    martlet_upf_testing::in_namespace(|| {
        let mut bench = Bench::new(|config| {
            config.n6.mode = N6Mode::Nat;
            config.xdp.nat.addresses = vec![PUBLIC];
            (config.xdp.nat.first_port, config.xdp.nat.last_port) = (1024, 65_535);
            (config.xdp.nat.flows, config.xdp.nat.flows_per_ue) = (256, 64);
            change(config);
        });
        bench.session();
        test(bench);
    });
}

/// An address, and a port or identifier.
type End = (Ipv4Addr, u16);

/// The Internet checksum (RFC 1071).
fn sum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An IPv4 packet with its checksum.
fn ip(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + body.len() as u16).to_be_bytes());
    packet.extend([0x12, 0x34, 0, 0, 64, protocol, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(body);
    ip4::set_checksum(&mut packet);
    packet
}

/// Sets the checksum of a transport header.
fn complete(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, body: &mut [u8], at: usize) {
    body[at..at + 2].fill(0);
    let pseudo =
        [&from.octets()[..], &to.octets(), &[0, protocol], &(body.len() as u16).to_be_bytes()]
            .concat();
    let mut value = sum(&[&pseudo, body]);
    if protocol == 17 && value == 0 {
        value = 0xffff;
    }
    body[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn udp(from: End, to: End, payload: &[u8]) -> Vec<u8> {
    let mut body = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    body.extend((8 + payload.len() as u16).to_be_bytes());
    body.extend([0, 0]);
    body.extend(payload);
    complete(17, from.0, to.0, &mut body, 6);
    ip(17, from.0, to.0, &body)
}

const FIN: u8 = 0x11;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 0x10;

fn tcp(from: End, to: End, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    body.extend([0, 0, 0, 7, 0, 0, 0, 9, 0x50, flags, 0x10, 0, 0, 0, 0, 0]);
    body.extend(payload);
    complete(6, from.0, to.0, &mut body, 16);
    ip(6, from.0, to.0, &body)
}

/// An ICMP message; `word` is its second word, `rest` what follows.
fn icmp(from: Ipv4Addr, to: Ipv4Addr, kind: [u8; 2], word: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut body = [&kind[..], &[0, 0], &word, rest].concat();
    let value = sum(&[&body]);
    body[2..4].copy_from_slice(&value.to_be_bytes());
    ip(1, from, to, &body)
}

fn ping(from: End, to: Ipv4Addr) -> Vec<u8> {
    let id = from.1.to_be_bytes();
    icmp(from.0, to, [8, 0], [id[0], id[1], 0, 5], b"ping")
}

fn pong(from: Ipv4Addr, to: End) -> Vec<u8> {
    let id = to.1.to_be_bytes();
    icmp(from, to.0, [0, 0], [id[0], id[1], 0, 5], b"ping")
}

fn aged(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] -= 1;
    ip4::set_checksum(&mut packet);
    packet
}

/// Runs the programs on a packet of a UE.
fn up(bench: &Bench, teid: u32, packet: &[u8]) -> (Verdict, Vec<u8>) {
    let mut gtp = vec![0x34, 255];
    gtp.extend((8 + packet.len() as u16).to_be_bytes());
    gtp.extend(teid.to_be_bytes());
    gtp.extend([0, 0, 0, 0x85, 1, 0x10, 9, 0]);
    gtp.extend(packet);
    let frame =
        ethernet(bench.n3.own, bench.n3.peer, 0x0800, &udp4((GNB, 2152), (bench.n3(), 2152), &gtp));
    bench.run_n3(&frame)
}

/// The translated packet of a UE on N6.
fn out(bench: &Bench, packet: &[u8]) -> Vec<u8> {
    let (verdict, frame) = up(bench, TEID, packet);
    assert_eq!(verdict, Verdict::Redirect(0), "{packet:02x?}");
    assert_eq!(frame[..14], ethernet(bench.n6.peer, bench.n6.own, 0x0800, &[]));
    frame[14..].to_vec()
}

/// Runs the programs on a packet from the data network.
fn down(bench: &Bench, packet: &[u8]) -> (Verdict, Vec<u8>) {
    bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, packet))
}

/// The packet to the UE, behind its tunnel header.
fn inward(bench: &Bench, packet: &[u8]) -> Vec<u8> {
    let (verdict, frame) = down(bench, packet);
    assert_eq!(verdict, Verdict::Redirect(0), "{packet:02x?}");
    assert_eq!(frame[42..50], [0x34, 255, 0, (frame.len() - 50) as u8, 0xa0, 0xa0, 0xa0, 0xa0]);
    frame[58..].to_vec()
}

/// The public source port of a TCP or UDP packet.
fn port(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[20], packet[21]])
}

#[test]
fn udp_and_tcp_are_translated_in_both_directions() {
    each(
        |_| {},
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            assert_eq!(out(&bench, &udp(ue, host, b"odd")), aged(udp(public, host, b"odd")));
            assert_eq!(inward(&bench, &udp(host, public, b"back")), aged(udp(host, ue, b"back")));
            assert_eq!(out(&bench, &tcp(ue, host, SYN, b"")), aged(tcp(public, host, SYN, b"")));
            assert_eq!(
                inward(&bench, &tcp(host, public, SYN | ACK, b"")),
                aged(tcp(host, ue, SYN | ACK, b""))
            );
            assert_eq!(
                out(&bench, &tcp(ue, host, ACK, b"data")),
                aged(tcp(public, host, ACK, b"data"))
            );
            // UDP without a checksum stays without one.
            let mut bare = udp(ue, host, b"bare");
            bare[26..28].fill(0);
            let mut due = udp(public, host, b"bare");
            due[26..28].fill(0);
            assert_eq!(out(&bench, &bare), aged(due));
            // All checksums: some are 0, which UDP encodes as 0xffff.
            for n in 0..=u16::MAX {
                let payload = n.to_be_bytes();
                if n % 251 == 0 || sum(&[&udp(public, host, &payload)[26..28]]) == 0 {
                    assert_eq!(
                        out(&bench, &udp(ue, host, &payload)),
                        aged(udp(public, host, &payload))
                    );
                }
            }
        },
    );
}

#[test]
fn a_port_keeps_its_public_port_which_is_unique() {
    each(
        |_| {},
        |mut bench| {
            bench.other_session();
            let first = out(&bench, &udp((UE, 9000), (HOST, 7000), b"x"));
            let elsewhere = out(&bench, &udp((UE, 9000), (HOST, 7001), b"x"));
            assert_eq!((port(&first), port(&elsewhere)), (9000, 9000));
            let (verdict, frame) =
                up(&bench, OTHER_TEID, &udp((OTHER_UE, 9000), (HOST, 7000), b"x"));
            assert_eq!(verdict, Verdict::Redirect(0));
            let other = port(&frame[14..]);
            assert!(other != 9000 && other.is_multiple_of(2) && other >= 1024, "{other}");
            // Responses reach the right UE, and only from the destination of the flow.
            let (_, frame) = down(&bench, &udp((HOST, 7000), (PUBLIC, other), b"to the other"));
            assert_eq!(frame[46..50], OTHER_GNB_TEID.to_be_bytes());
            assert_eq!(frame[58..], aged(udp((HOST, 7000), (OTHER_UE, 9000), b"to the other")));
            let unknown_peer = udp((HOST, 7777), (PUBLIC, 9000), b"x");
            assert_eq!(
                down(&bench, &unknown_peer),
                (Verdict::Pass, ethernet(bench.n6.own, bench.n6.peer, 0x0800, &unknown_peer))
            );
        },
    );
}

#[test]
fn each_cpu_has_ports_of_its_own_until_they_are_used_up() {
    each(
        |config| {
            (config.xdp.nat.first_port, config.xdp.nat.last_port) = (1024, 1279);
            (config.xdp.nat.flows, config.xdp.nat.flows_per_ue) = (512, 256);
        },
        |bench| {
            // 256 ports are four slices at most.
            let slices = libbpf_rs::num_possible_cpus().expect("CPUs").min(4) as u16;
            let width = (256 / slices) & !1;
            let cpu = sched_getcpu().expect("the CPU");
            let mut only = CpuSet::new();
            only.set(cpu).expect("a CPU");
            sched_setaffinity(Pid::from_raw(0), &only).expect("the thread stays there");
            let first = 1024 + (cpu % usize::from(slices)) as u16 * width;
            let own = first..first + width;
            let public = |near: u16| port(&out(&bench, &tcp((UE, near), (HOST, 7000), SYN, b"")));
            let ports: Vec<u16> = (2000..2160).map(public).collect();
            assert!(ports[..32].iter().all(|port| own.contains(port)), "{own:?}: {ports:?}");
            // The rest is of other slices, where the own one has fewer ports.
            assert!(ports.iter().all(|port| (1024..1280).contains(port)), "{ports:?}");
            assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 160, "{ports:?}");
            // A free port of the UE itself is preserved, of whichever slice.
            let near = (1024..1280).find(|near| !ports.contains(near)).expect("a free port");
            assert_eq!(public(near), near);
        },
    );
}

#[test]
fn with_a_full_cone_any_host_reaches_the_port_of_a_ue() {
    each(
        |config| config.xdp.nat.full_cone = true,
        |bench| {
            out(&bench, &udp((UE, 9000), (HOST, 7000), b"x"));
            let unknown_peer = Ipv4Addr::new(10, 98, 0, 77);
            let packet = udp((unknown_peer, 7777), (PUBLIC, 9000), b"hello");
            assert_eq!(
                inward(&bench, &packet),
                aged(udp((unknown_peer, 7777), (UE, 9000), b"hello"))
            );
            // Another port has no flow.
            assert_eq!(
                down(&bench, &udp((unknown_peer, 7777), (PUBLIC, 9001), b"x")).0,
                Verdict::Pass
            );
        },
    );
}

#[test]
fn hosts_leave_half_of_the_flows_to_the_ue() {
    each(
        |config| config.xdp.nat.full_cone = true,
        |bench| {
            out(&bench, &udp((UE, 9000), (HOST, 7000), b"x"));
            let begins = |n: &u8| {
                let sender = Ipv4Addr::new(10, 98, 1, *n);
                let packet = udp((sender, 7777), (PUBLIC, 9000), b"forged");
                down(&bench, &packet).0 == Verdict::Redirect(0)
            };
            // Of 64 flows, one is the UE's own.
            assert_eq!((0..200).filter(begins).count(), 31);
            for n in 0..32 {
                let (verdict, _) = up(&bench, TEID, &udp((UE, 9000), (HOST, 7100 + n), b"x"));
                assert_eq!(verdict, Verdict::Redirect(0), "{n}");
            }
        },
    );
}

#[test]
fn pings_have_a_unique_identifier() {
    each(
        |_| {},
        |bench| {
            assert_eq!(
                out(&bench, &ping((UE, 77), HOST)),
                aged(ping((PUBLIC, first_id(&bench)), HOST))
            );
            let id = first_id(&bench);
            assert_eq!(inward(&bench, &pong(HOST, (PUBLIC, id))), aged(pong(HOST, (UE, 77))));
            // A ping to the public address is the kernel's, as is an unsolicited echo reply.
            assert_eq!(down(&bench, &ping((HOST, 77), PUBLIC)).0, Verdict::Pass);
            assert_eq!(down(&bench, &pong(HOST, (PUBLIC, id.wrapping_add(1)))).0, Verdict::Pass);
            // An echo reply of a UE without a request is dropped.
            assert_eq!(up(&bench, TEID, &pong(UE, (HOST, 9))).0, Verdict::Drop);
            assert_eq!(bench.drops(DropReason::Nat), 1);
        },
    );
}

/// The public identifier of the UE's ping 77, which is below the first port.
fn first_id(bench: &Bench) -> u16 {
    let packet = out(bench, &ping((UE, 77), HOST));
    u16::from_be_bytes([packet[24], packet[25]])
}

#[test]
fn icmp_errors_are_translated_with_the_packet_that_they_quote() {
    each(
        |_| {},
        |bench| {
            let router = Ipv4Addr::new(10, 98, 0, 9);
            let (ue, host, public) = ((UE, 700), (HOST, 7000), (PUBLIC, 7001));
            // The UE's port is below the first one, so the public port differs.
            let sent = out(&bench, &udp(ue, host, b"too long"));
            let public = (public.0, port(&sent));
            assert_ne!(public.1, 700);
            for (there, here) in [
                (udp(public, host, b"too long"), udp(ue, host, b"too long")),
                (udp(public, host, b"")[..28].to_vec(), udp(ue, host, b"")[..28].to_vec()),
            ] {
                let error = icmp(router, PUBLIC, [3, 4], [0, 0, 5, 0], &there);
                assert_eq!(
                    inward(&bench, &error),
                    aged(icmp(router, UE, [3, 4], [0, 0, 5, 0], &here))
                );
            }
            // With the first 8 bytes of TCP only, or with all of them.
            let sent = out(&bench, &tcp(ue, host, SYN, b"abc"));
            let public = (public.0, port(&sent));
            let (there, here) = (tcp(public, host, SYN, b"abc"), tcp(ue, host, SYN, b"abc"));
            for length in [28, there.len()] {
                let error = icmp(HOST, PUBLIC, [11, 0], [0; 4], &there[..length]);
                assert_eq!(
                    inward(&bench, &error),
                    aged(icmp(HOST, UE, [11, 0], [0; 4], &here[..length]))
                );
            }
            // About a ping.
            let sent = out(&bench, &ping((UE, 77), HOST));
            let id = u16::from_be_bytes([sent[24], sent[25]]);
            let error = icmp(router, PUBLIC, [11, 0], [0; 4], &ping((PUBLIC, id), HOST));
            assert_eq!(
                inward(&bench, &error),
                aged(icmp(router, UE, [11, 0], [0; 4], &ping((UE, 77), HOST)))
            );
            // An error of the UE about a packet that it received.
            let public = (public.0, port(&out(&bench, &udp(ue, host, b"x"))));
            let error = icmp(UE, HOST, [3, 3], [0; 4], &udp(host, ue, b"refused"));
            let due = icmp(PUBLIC, HOST, [3, 3], [0; 4], &udp(host, public, b"refused"));
            assert_eq!(out(&bench, &error), aged(due));
            // About an unknown flow, or about another UE's packet.
            let unknown = icmp(router, PUBLIC, [3, 1], [0; 4], &udp((PUBLIC, 4444), host, b"x"));
            assert_eq!(down(&bench, &unknown).0, Verdict::Pass);
            let foreign = icmp(UE, HOST, [3, 3], [0; 4], &udp(host, (OTHER_UE, 700), b"x"));
            assert_eq!(up(&bench, TEID, &foreign).0, Verdict::Drop);
            for length in 0..36 {
                let cut =
                    icmp(router, PUBLIC, [3, 1], [0; 4], &udp(public, host, b"12345678")[..length]);
                assert_eq!(down(&bench, &cut).0 == Verdict::Redirect(0), length >= 28, "{length}");
            }
        },
    );
}

/// Splits a packet at an offset of its IP payload.
fn divided(packet: &[u8], at: usize) -> [Vec<u8>; 2] {
    let part = |bytes: &[u8], field: u16| {
        let mut part = packet[..20].to_vec();
        part.extend(bytes);
        let length = part.len() as u16;
        part[2..4].copy_from_slice(&length.to_be_bytes());
        part[6..8].copy_from_slice(&field.to_be_bytes());
        ip4::set_checksum(&mut part);
        part
    };
    [part(&packet[20..20 + at], 0x2000), part(&packet[20 + at..], at as u16 / 8)]
}

#[test]
fn fragments_are_translated() {
    each(
        |_| {},
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            let payload = [7; 40];
            let [first, second] = divided(&udp(ue, host, &payload), 24);
            let [due_first, due_second] = divided(&udp(public, host, &payload), 24);
            assert_eq!(
                (out(&bench, &first), out(&bench, &second)),
                (aged(due_first), aged(due_second))
            );
            let [first, second] = divided(&udp(host, public, &payload), 24);
            let [due_first, due_second] = divided(&udp(host, ue, &payload), 24);
            // A later fragment before the first one has no flow.
            assert_eq!(down(&bench, &second).0, Verdict::Pass);
            assert_eq!(
                (inward(&bench, &first), inward(&bench, &second)),
                (aged(due_first), aged(due_second))
            );
        },
    );
}

/// A UE and a host with which it talks fill the table of fragments to UEs.
#[test]
fn attack_a_ue_displaces_the_translated_fragments_of_another() {
    each(
        |_| {},
        |mut bench| {
            bench.other_session();
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            out(&bench, &udp(ue, host, b"x"));
            let [first, second] = divided(&udp(host, public, &[7; 40]), 24);
            assert_eq!(down(&bench, &first).0, Verdict::Redirect(0));
            up(&bench, OTHER_TEID, &udp((OTHER_UE, 9100), host, b"x"));
            let [mut other, _] = divided(&udp(host, (PUBLIC, 9100), &[7; 40]), 24);
            for id in 10_000_u16..20_000 {
                other[4..6].copy_from_slice(&id.to_be_bytes());
                ip4::set_checksum(&mut other);
                assert_eq!(down(&bench, &other).0, Verdict::Redirect(0), "{id}");
            }
            assert_eq!(down(&bench, &second).0, Verdict::Redirect(0));
            assert!(bench.datapath.counters().replaced_fragments.get() > 9_000);
        },
    );
}

/// Waits until the slots of ended flows are freed. The number of flows is counted from time to
/// time, and is 0 before the first time.
fn until_no_flow_is_left(bench: &Bench) {
    std::thread::sleep(Duration::from_millis(3500));
    let is_free = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        bench.datapath.details()["tables"]["translatedFlows"]["used"] == 0
    });
    assert!(is_free, "{}", bench.datapath.details());
}

#[test]
fn flows_expire() {
    each(
        |config| {
            (
                config.xdp.nat.udp_s,
                config.xdp.nat.udp_unanswered_s,
                config.xdp.nat.tcp_transitory_s,
            ) = (4, 1, 1)
        },
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            let passes = |packet: &[u8]| down(&bench, packet).0 == Verdict::Redirect(0);
            out(&bench, &udp(ue, host, b"unanswered"));
            out(&bench, &udp(ue, (HOST, 7001), b"answered"));
            assert!(passes(&udp((HOST, 7001), public, b"answer")));
            out(&bench, &tcp(ue, host, SYN, b""));
            out(&bench, &tcp(ue, (HOST, 7001), SYN, b""));
            assert!(passes(&tcp((HOST, 7001), public, SYN | ACK, b"")));
            out(&bench, &tcp(ue, (HOST, 7001), ACK, b""));
            std::thread::sleep(Duration::from_millis(1300));
            assert!(!passes(&udp(host, public, b"too late")));
            assert!(!passes(&tcp(host, public, SYN | ACK, b"")));
            assert!(passes(&udp((HOST, 7001), public, b"in time")));
            // An established connection lives until both sides close it or one resets it.
            assert!(passes(&tcp((HOST, 7001), public, ACK, b"")));
            out(&bench, &tcp(ue, (HOST, 7001), FIN, b""));
            std::thread::sleep(Duration::from_millis(1300));
            assert!(passes(&tcp((HOST, 7001), public, FIN, b"")));
            std::thread::sleep(Duration::from_millis(1300));
            assert!(!passes(&tcp((HOST, 7001), public, ACK, b"")));
            // The same ports again.
            out(&bench, &tcp(ue, (HOST, 7001), SYN, b""));
            assert!(passes(&tcp((HOST, 7001), public, RST, b"")));
            until_no_flow_is_left(&bench);
        },
    );
}

#[test]
fn flows_are_limited_per_ue_and_in_total() {
    each(
        |config| {
            (config.xdp.nat.flows, config.xdp.nat.flows_per_ue, config.xdp.nat.udp_unanswered_s) =
                (40, 30, 1)
        },
        |mut bench| {
            bench.other_session();
            let send = |bench: &Bench, teid, ue, port| {
                up(bench, teid, &udp((ue, port), (HOST, 7000), b"x")).0
            };
            let of = |bench: &Bench, teid, ue| {
                (2000..2050)
                    .filter(|port| send(bench, teid, ue, *port) == Verdict::Redirect(0))
                    .count()
            };
            assert_eq!(of(&bench, TEID, UE), 30);
            assert_eq!(bench.drops(DropReason::Nat), 20);
            assert_eq!(of(&bench, OTHER_TEID, OTHER_UE), 10);
            assert_eq!(bench.drops(DropReason::Nat), 60);
            // Slots of expired flows are free again, for the other UE too.
            until_no_flow_is_left(&bench);
            assert_eq!(of(&bench, OTHER_TEID, OTHER_UE), 30);
        },
    );
}

#[test]
fn flows_of_a_removed_session_are_not_reused() {
    each(
        |_| {},
        |mut bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            out(&bench, &udp(ue, host, b"x"));
            bench.datapath.remove(1);
            assert_eq!(down(&bench, &udp(host, public, b"x")).0, Verdict::Drop);
            // Now another session has the address.
            bench.apply(&bench.session_of(2, TEID, UE));
            assert_eq!(down(&bench, &udp(host, public, b"x")).0, Verdict::Drop);
            out(&bench, &udp(ue, host, b"x"));
            assert_eq!(inward(&bench, &udp(host, public, b"x")), aged(udp(host, ue, b"x")));
            assert!(
                (2..=3)
                    .contains(&(bench.drops(DropReason::Nat) + bench.drops(DropReason::UnknownUe)))
            );
        },
    );
}

#[test]
fn icmp_errors_of_the_upf_have_the_public_address() {
    each(
        |_| {},
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            out(&bench, &udp(ue, host, b"x"));
            let mut large = udp(host, public, &[0; 1380]);
            large[6] = 0x40;
            ip4::set_checksum(&mut large);
            let mut answer = icmp(PUBLIC, HOST, [3, 4], [0, 0, 5, 0x78], &large[..28]);
            answer[4..6].fill(0);
            ip4::set_checksum(&mut answer);
            let due =
                (Verdict::Redirect(0), ethernet(bench.n6.peer, bench.n6.own, 0x0800, &answer));
            assert_eq!(down(&bench, &large), due);
            let mut old = udp(host, public, b"old");
            old[8] = 1;
            ip4::set_checksum(&mut old);
            let mut answer = icmp(PUBLIC, HOST, [11, 0], [0; 4], &old[..28]);
            answer[4..6].fill(0);
            ip4::set_checksum(&mut answer);
            let due =
                (Verdict::Redirect(0), ethernet(bench.n6.peer, bench.n6.own, 0x0800, &answer));
            assert_eq!(down(&bench, &old), due);
            // The kernel fragments a packet without DF.
            let may = udp(host, public, &[0; 1380]);
            let translated = udp(host, ue, &[0; 1380]);
            assert_eq!(
                down(&bench, &may),
                (Verdict::Pass, ethernet(bench.n6.own, bench.n6.peer, 0x0800, &translated))
            );
        },
    );
}

/// The kernel would answer with the UE's address.
#[test]
fn icmp_and_fragments_that_cannot_be_forwarded_do_not_reach_the_kernel() {
    each(
        |_| {},
        |bench| {
            let id = first_id(&bench);
            let old = |mut packet: Vec<u8>| {
                packet[8] = 1;
                ip4::set_checksum(&mut packet);
                packet
            };
            let large = |mut packet: Vec<u8>| {
                packet[6] |= 0x40;
                ip4::set_checksum(&mut packet);
                packet
            };
            let id_bytes = id.to_be_bytes();
            let long_pong =
                icmp(HOST, PUBLIC, [0, 0], [id_bytes[0], id_bytes[1], 0, 5], &[0; 1380]);
            for (packet, kind, word) in [
                (old(pong(HOST, (PUBLIC, id))), [11, 0], [0; 4]),
                (large(long_pong), [3, 4], [0, 0, 5, 0x78]),
            ] {
                let mut answer = icmp(PUBLIC, HOST, kind, word, &packet[..28]);
                answer[4..6].fill(0);
                ip4::set_checksum(&mut answer);
                let due =
                    (Verdict::Redirect(0), ethernet(bench.n6.peer, bench.n6.own, 0x0800, &answer));
                assert_eq!(down(&bench, &packet), due);
            }
            // No error answers an error or a later fragment.
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            out(&bench, &udp(ue, host, b"x"));
            let error = icmp(HOST, PUBLIC, [3, 3], [0; 4], &udp(public, host, b"x"));
            assert_eq!(down(&bench, &old(error)).0, Verdict::Drop);
            let [first, second] = divided(&udp(host, public, &[7; 40]), 24);
            inward(&bench, &first);
            assert_eq!(down(&bench, &old(second)).0, Verdict::Drop);
            assert_eq!(bench.drops(DropReason::Nat), 2);
        },
    );
}

#[test]
fn ues_reach_each_other_by_their_public_ports() {
    each(
        |config| config.xdp.nat.full_cone = true,
        |mut bench| {
            bench.other_session();
            // The other UE has a public port.
            let (_, frame) = up(&bench, OTHER_TEID, &udp((OTHER_UE, 5000), (HOST, 7000), b"x"));
            assert_eq!(port(&frame[14..]), 5000);
            let (verdict, frame) = up(&bench, TEID, &udp((UE, 9000), (PUBLIC, 5000), b"hello"));
            assert_eq!(verdict, Verdict::Redirect(0));
            assert_eq!(frame[46..50], OTHER_GNB_TEID.to_be_bytes());
            assert_eq!(frame[58..], udp((PUBLIC, 9000), (OTHER_UE, 5000), b"hello"));
            // A port without a flow belongs to the machine, which the UE does not reach.
            let (verdict, _) = up(&bench, TEID, &udp((UE, 9000), (PUBLIC, 5001), b"x"));
            assert_eq!((verdict, bench.drops(DropReason::N6Isolation)), (Verdict::Drop, 1));
        },
    );
}

#[test]
fn filters_of_a_ue_see_the_public_end_of_another_one() {
    each(
        |config| config.xdp.nat.full_cone = true,
        |mut bench| {
            let mut session = bench.session_of(2, OTHER_TEID, OTHER_UE);
            let text = format!("permit out 17 from {PUBLIC} 9000 to assigned");
            let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
            session.pdrs.get_mut(&2).expect("PDR 2").filters = vec![filter];
            session.resolve(&RuleLimits::default()).expect("valid rules");
            bench.apply(&session);
            let opened = up(&bench, OTHER_TEID, &udp((OTHER_UE, 5000), (HOST, 7000), b"x"));
            assert_eq!(opened.0, Verdict::Redirect(0));
            let (verdict, frame) = up(&bench, TEID, &udp((UE, 9000), (PUBLIC, 5000), b"hello"));
            assert_eq!(verdict, Verdict::Redirect(0));
            assert_eq!(frame[58..], udp((PUBLIC, 9000), (OTHER_UE, 5000), b"hello"));
            let (verdict, _) = up(&bench, TEID, &udp((UE, 9001), (PUBLIC, 5000), b"no filter"));
            assert_eq!((verdict, bench.drops(DropReason::NoRule)), (Verdict::Drop, 1));
        },
    );
}

#[test]
fn what_the_machine_itself_takes_is_not_translated() {
    let machine = Ipv4Addr::new(10, 98, 0, 1);
    each(
        move |config| {
            let address = std::net::IpAddr::V4(machine).into();
            let protocol = Some(ServiceProtocol::Udp);
            let port = Some(7000);
            config.n6.allow.push(AllowedService { address, protocol, port });
        },
        move |bench| {
            let packet = udp((UE, 9000), (machine, 7000), b"x");
            let (verdict, frame) = up(&bench, TEID, &packet);
            assert_eq!((verdict, &frame[14..]), (Verdict::Redirect(0), &packet[..]));
            // Only what is allowed gets there.
            let (verdict, _) = up(&bench, TEID, &udp((UE, 9000), (machine, 7001), b"x"));
            assert_eq!((verdict, bench.drops(DropReason::N6Isolation)), (Verdict::Drop, 1));
        },
    );
}

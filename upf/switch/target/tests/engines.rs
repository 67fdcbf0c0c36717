//! Both engines, DPDK's pipeline and the XDP programs, with the same rules and frames: output and
//! counters have to be equal, byte for byte.
mod common;
mod testbed;

use common::*;
use martlet_switch_control::Target;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::tables::Tables;
use martlet_switch_target::Engine;
use martlet_switch_target::serve::base;
use martlet_switch_xdp::{Outcome, XdpSwitch};
use std::sync::Arc;
use testbed::*;

const OWN: &str = "
    decap teid 0x1000 ue 10.60.0.1 via 1 counter 5
    encap ue 10.60.0.1 teid 0x2000 from 192.168.70.1 to 192.168.70.2 qfi 9 via 2 counter 6
";
/// The counters.
const COUNTERS: u32 = 32;

struct Both {
    swx: Testbed,
    xdp: Arc<XdpSwitch>,
    tables: Tables,
}

impl Both {
    fn new(text: &str) -> Option<Both> {
        let xdp = match XdpSwitch::new() {
            Ok(xdp) => Arc::new(xdp),
            Err(error) => {
                // SAFETY: `sysconf` accesses no memory of ours.
                assert!(unsafe { libc::geteuid() } != 0, "{error}");
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let swx = Testbed::new(Engine::best(), text);
        let tables = Tables::new(swx.tables.program().clone(), xdp.clone());
        tables.write(&base(swx.tables.program())).expect("the ports");
        let both = Both { swx, xdp, tables };
        write(&both.tables, Operation::Insert, text).expect("rules");
        Some(both)
    }

    fn write(&self, operation: Operation, text: &str) {
        assert_eq!(self.swx.write(operation, text), write(&self.tables, operation, text));
    }

    /// The output of both: port and frame; none for frames that are dropped or bypass the pipeline.
    fn run_frame(&self, what: &str, port: u32, frame: &[u8]) -> Option<(u32, Vec<u8>)> {
        let swx = self.swx.run_frame(port, frame);
        let (outcome, bytes) = self.xdp.run_frame(port, frame).expect("the program runs");
        let xdp = match outcome {
            Outcome::Out(port) => Some((port, bytes)),
            Outcome::Dropped | Outcome::Bypassed => None,
        };
        let mut one = swx.into_iter().next();
        // A held frame still has its padding.
        if let (Some((6, frame)), Some((6, other))) = (&mut one, &xdp) {
            frame.truncate(other.len());
        }
        assert_eq!(xdp, one, "{what}: in by port {port}: {frame:02x?}");
        one
    }

    fn counters_are_the_same(&self) {
        for index in 0..COUNTERS {
            for (n, counter) in ["rules", "dropped"].into_iter().enumerate() {
                assert_eq!(
                    self.xdp.counter(n, index),
                    Ok(self.swx.count(counter, index)),
                    "{counter} {index}"
                );
            }
        }
    }
}

/// Frames that match rules, one per case.
fn frames() -> Vec<(u32, Vec<u8>)> {
    let ue = |n: u8| [10, 60, 0, n];
    let v6 = |n: u16| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0x45, n, 0, 0, 0, 7);
    let host = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0x98, 0, 0, 0, 0, 2);
    let in_tunnel = |teid, inner: &[u8]| {
        ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(teid, 1, 9, inner))))
    };
    let tcp6 = |source, destination, ports: (u16, u16)| {
        let mut packet = ipv6(64, source, destination, &tcp(ports.0, ports.1));
        packet[6] = 6;
        packet
    };
    let mut all = Vec::new();
    for n in [1, 2, 6, 7, 9, 10] {
        for teid in [0x1000, 0x1002, 0x100a, 0x7777] {
            let web = ipv4(6, 64, ue(n), REMOTE, &tcp(1000, 85));
            let dns = ipv4(17, 64, ue(n), REMOTE, &udp(1000, 53, &[n; 70]));
            all.extend([&web, &dns].map(|inner| (0, in_tunnel(teid, inner))));
            all.extend([&web, &dns].map(|inner| (0, in_tunnel6(teid, inner))));
        }
        all.push((1, ethernet(&ipv4(6, 64, REMOTE, ue(n), &tcp(85, 1000)))));
        all.push((1, ethernet(&ipv4(17, 64, REMOTE, ue(n), &udp(53, 1000, &[n; 9])))));
        all.push((0, ethernet(&ipv4(17, 64, REMOTE, ue(n), &udp(53, 1000, &[n; 9])))));
        all.push((2, ethernet(&ipv4(17, 64, REMOTE, ue(n), &udp(53, 1000, &[n; 9])))));
    }
    for n in [0xa, 0xb, 0xc] {
        for inner in
            [tcp6(v6(n), host, (1000, 85)), ipv6(64, v6(n), host, &udp(1000, 53, &[7; 40]))]
        {
            all.extend([0x100a, 0x100b, 0x1000].map(|teid| (0, in_tunnel(teid, &inner))));
            all.extend([0x100a, 0x100b].map(|teid| (0, in_tunnel6(teid, &inner))));
        }
        all.push((1, ethernet6(&tcp6(host, v6(n), (85, 1000)))));
        all.push((1, ethernet6(&ipv6(64, host, v6(n), &udp(53, 1000, &[7; 40])))));
        all.push((3, ethernet6(&ipv6(64, host, v6(n), &udp(53, 1000, &[7; 40])))));
    }
    all.push((0, [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &[8, 6], &[1; 28]].concat()));
    all
}

#[test]
fn both_engines_agree_on_every_case() {
    let Some(both) = Both::new(&[HOPS, KINDS, OWN].concat()) else { return };
    let out: Vec<_> =
        frames().iter().map(|(port, frame)| both.run_frame("whole", *port, frame)).collect();
    for port in 0..4 {
        assert!(out.iter().flatten().any(|(by, _)| *by == port), "output at port {port}");
    }
    // Short frames are padded on their links; the padding does not leave.
    for (port, frame) in frames() {
        both.run_frame("padded", port, &[&frame[..], &[0xee; 30]].concat());
    }
    both.counters_are_the_same();
    both.write(Operation::Delete, "uplink session 4 application 1");
    both.write(Operation::Delete, "application application 2 session 4 protocol udp priority 5");
    both.write(Operation::Delete, "decap teid 0x1000");
    for (port, frame) in frames() {
        both.run_frame("with fewer rules", port, &frame);
    }
    both.counters_are_the_same();
}

/// The port settings that the UPF writes: our N3 addresses of both versions.
fn with_own_end(both: &Both) {
    let [high, low] = [(N36.to_bits() >> 64) as u64, N36.to_bits() as u64];
    let own = [
        u32::MAX.into(),
        u32::MAX.into(),
        u64::MAX,
        u64::MAX,
        u32::from_be_bytes(N3).into(),
        high,
        low,
    ];
    for tables in [&both.swx.tables, &both.tables] {
        let mut entry = base(tables.program()).remove(0).entry;
        entry.call.arguments = own.to_vec();
        tables.write(&[Update { operation: Operation::Modify, entry }]).expect("the port");
    }
}

#[test]
fn packets_from_ues_to_our_n3_address_go_to_the_native_side() {
    let Some(both) = Both::new(&[HOPS, KINDS, OWN].concat()) else { return };
    let of_v6 = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0xa, 0, 0, 0, 7);
    let adjacent = |address: std::net::Ipv6Addr, bit: u32| {
        std::net::Ipv6Addr::from_bits(address.to_bits() ^ 1 << bit)
    };
    let to = |address| ipv4(17, 64, UE, address, &udp(2152, 2152, &gtp(0x1000, 1, 9, &[0x45; 30])));
    let to6 = |address| ipv6(64, of_v6, address, &udp(2152, 2152, &gtp(0x1000, 1, 9, &[0x45; 30])));
    let tunnelled = |teid, inner: &[u8]| {
        [
            in_tunnel6(teid, inner),
            ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(teid, 1, 9, inner)))),
        ]
    };
    let all = |inner: &[u8], teid, port| {
        for frame in tunnelled(teid, inner) {
            let (by, left) = both.run_frame("to our N3 address", 0, &frame).expect("output");
            assert_eq!(by, port, "{inner:02x?}");
            // The native side gets the frame unchanged.
            assert_eq!(port == 2, left == frame);
        }
    };
    // Without port settings, no address is ours.
    all(&to(N3), 0x1000, 1);
    all(&to6(N36), 0x100a, 1);
    with_own_end(&both);
    all(&to(N3), 0x1000, 2);
    all(&to6(N36), 0x100a, 2);
    // Addresses next to ours are ordinary hosts.
    all(&to(GNB), 0x1000, 1);
    for bit in [0, 63, 64, 127] {
        all(&to6(adjacent(N36, bit)), 0x100a, 1);
    }
    both.counters_are_the_same();
}

#[test]
fn tunnels_to_other_hosts_go_to_the_native_side() {
    let Some(both) = Both::new(&[HOPS, KINDS, OWN].concat()) else { return };
    with_own_end(&both);
    let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"in a tunnel"));
    let datagram = udp(2152, 2152, &gtp(0x1000, 1, 9, &inner));
    let to = |address| ethernet(&ipv4(17, 64, GNB, address, &datagram));
    let to6 = |bits: u128| {
        let address = std::net::Ipv6Addr::from_bits(N36.to_bits() ^ bits);
        ethernet6(&ipv6(64, GNB6, address, &datagram))
    };
    for (frame, port) in
        [(to(N3), 1), (to(REMOTE), 2), (to6(0), 1), (to6(1 << 1), 2), (to6(1 << 64), 2)]
    {
        let (by, left) = both.run_frame("in a tunnel", 0, &frame).expect("output");
        assert_eq!((by, left == frame), (port, port == 2), "{frame:02x?}");
    }
    both.counters_are_the_same();
}

/// The next pseudo-random number.
fn next(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 11) as usize
}

/// Corrects the checksum of the outer header after changes.
fn with_sum(mut frame: Vec<u8>) -> Vec<u8> {
    if frame.len() >= 34 && frame[12..15] == [8, 0, 0x45] {
        frame[24..26].fill(0);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

#[test]
fn both_engines_agree_on_damaged_frames() {
    let Some(both) = Both::new(&[HOPS, KINDS, OWN].concat()) else { return };
    let mut random = std::env::var("MARTLET_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x5eed_5eed);
    let rounds =
        std::env::var("MARTLET_DIFFERENTIAL").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for _ in 0..rounds {
        for (port, frame) in frames() {
            let mut frame = frame.clone();
            for _ in 0..=next(&mut random) % 2 {
                let at = match next(&mut random) % 3 {
                    0 => next(&mut random) % frame.len(),
                    // Headers have up to 122 bytes.
                    _ => 12 + next(&mut random) % (frame.len().min(122) - 12),
                };
                frame[at] = match next(&mut random) % 4 {
                    0 => frame[at].wrapping_add(1),
                    1 => frame[at].wrapping_sub(1),
                    2 => frame[at] ^ 1 << (next(&mut random) % 8),
                    _ => next(&mut random) as u8,
                };
            }
            if next(&mut random).is_multiple_of(8) {
                frame.truncate(14 + next(&mut random) % (frame.len() - 14));
            }
            both.run_frame("damaged", port, &with_sum(frame));
        }
    }
    both.counters_are_the_same();
}

#[test]
fn both_engines_agree_on_truncated_packets() {
    let Some(both) = Both::new(&[HOPS, KINDS, OWN].concat()) else { return };
    for (port, frame) in frames() {
        for length in (14 + 20..frame.len()).step_by(3) {
            // The IP header agrees with the length, so that the parser reads to the end.
            let mut short = frame[..length].to_vec();
            match short[12..14] {
                [8, 0] => short[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes()),
                [0x86, 0xdd] if length >= 54 => {
                    short[18..20].copy_from_slice(&((length - 54) as u16).to_be_bytes())
                }
                _ => {}
            }
            both.run_frame("truncated", port, &with_sum(short));
        }
    }
    both.counters_are_the_same();
}

#[test]
fn the_engine_xdp_has_no_benchmark_in_memory() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_martlet-switch"));
    let output = command.args(["bench", "decap", "--engine", "xdp"]).output().expect("it starts");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && output.stdout.is_empty() && why.contains("martlet lab switch"),
        "{why}"
    );
}

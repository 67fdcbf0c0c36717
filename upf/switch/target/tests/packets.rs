//! Frames in and out of ports for each table and action, through the P4 program's pipeline.
mod common;
mod testbed;

use common::*;
use martlet_switch_control::model::Operation;
use martlet_switch_target::serve::base;
use martlet_switch_target::{Engine, Ports, bench};
use testbed::*;

const RULES: &str = "
    decap teid 0x1000 ue 10.60.0.1 via 1 counter 5
    encap ue 10.60.0.1 teid 0x2000 from 192.168.70.1 to 192.168.70.2 qfi 9 via 2 counter 6
";
const FILTERED: &str = "
    decap-filtered teid 0x1000 ue 10.60.0.1 session 4
    encap-filtered ue 10.60.0.1 session 4
    application application 1 session 4 remote 8.8.0.0/16 ports 80-90 protocol tcp priority 10
    application application 2 session 4 protocol udp priority 5
    uplink session 4 application 1 via 1 counter 10
    uplink-closed session 4 application 2 counter 11
    downlink session 4 application 1 teid 0x2001 from 192.168.70.1 to 192.168.70.2 qfi 7 via 2 \
                        counter 12
    downlink-closed session 4 application 2 counter 13
";

fn with(rules: &str) -> String {
    [HOPS, rules].concat()
}

fn out_1(packet: &[u8]) -> Vec<(u32, Vec<u8>)> {
    vec![(1, to_network(packet))]
}

#[test]
fn packets_are_decapsulated_and_encapsulated() {
    for engine in engines() {
        let testbed = Testbed::new(engine, &with(RULES));
        for length in [0, 1, 5, 18, 100, 1372] {
            let inner = |ttl| ipv4(17, ttl, UE, REMOTE, &udp(1000, 53, &vec![7; length]));
            assert_eq!(
                testbed.run_frame(0, &uplink(&inner(64))),
                out_1(&inner(63)),
                "{engine:?} {length}"
            );
            let packet = |ttl| ipv4(17, ttl, REMOTE, UE, &udp(53, 1000, &vec![8; length]));
            let expected = vec![(0, to_gnb(0x2000, 9, &packet(63)))];
            assert_eq!(
                testbed.run_frame(1, &ethernet(&packet(64))),
                expected,
                "{engine:?} {length}"
            );
        }
        // Bytes of IP packets without tunnel headers, as a URR counts them.
        let bytes: u64 = [0, 1, 5, 18, 100, 1372].iter().map(|length| length + 28).sum();
        assert_eq!(
            (testbed.count("rules", 5), testbed.count("rules", 6)),
            ((6, bytes), (6, bytes))
        );
    }
}

#[test]
fn checksums_are_correct_for_all_values() {
    let testbed = Testbed::new(Engine::best(), &with(RULES));
    // The identification varies the checksum over all values, including those with a carry.
    for identification in (0..=u16::MAX).step_by(97).chain(0xb900..0xbb00) {
        let mut inner = ipv4(17, 64, UE, REMOTE, &udp(1, 2, b""));
        inner[4..6].copy_from_slice(&identification.to_be_bytes());
        inner[10..12].fill(0);
        let sum = checksum(&inner[..20]);
        inner[10..12].copy_from_slice(&sum.to_be_bytes());
        let out = testbed.run_frame(0, &uplink(&inner));
        let [(1, frame)] = &out[..] else { panic!("{out:?}") };
        assert_eq!(checksum(&frame[14..34]), 0, "identification {identification:#x}");
    }
}

#[test]
fn packets_without_a_rule_take_the_native_path_unchanged() {
    for engine in engines() {
        let testbed = Testbed::new(engine, &with(RULES));
        let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello"));
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = uplink(&inner);
            change(&mut frame);
            let sum = {
                frame[24..26].fill(0);
                checksum(&frame[14..34])
            };
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        let foreign = uplink(&ipv4(17, 64, [10, 60, 0, 2], REMOTE, &udp(1000, 53, b"hello")));
        let fragment = with(&|frame| frame[14 + 6] = 0x20);
        for (what, frame) in [
            ("an unknown tunnel", with(&|frame| frame[14 + 28 + 7] = 9)),
            ("an echo request", with(&|frame| frame[14 + 28 + 1] = 1)),
            ("a sequence number", with(&|frame| frame[14 + 28] = 0x36)),
            ("another extension", with(&|frame| frame[14 + 28 + 11] = 0x20)),
            ("a downlink container", with(&|frame| frame[14 + 28 + 13] = 0)),
            ("a second extension", with(&|frame| frame[14 + 28 + 15] = 0x85)),
            ("a wrong GTP-U length", with(&|frame| frame[14 + 28 + 3] += 1)),
            ("a wrong UDP length", with(&|frame| frame[14 + 20 + 5] -= 1)),
            ("a wrong inner length", with(&|frame| frame[14 + 44 + 3] += 1)),
            ("a source address of another UE", foreign),
            ("a packet with TTL 1", uplink(&ipv4(17, 1, UE, REMOTE, &udp(1000, 53, b"")))),
            ("a fragment", fragment),
            ("ARP", [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &[8, 6], &[1; 28]].concat()),
            ("a truncated IPv6 packet", [&[2; 12][..], &[0x86, 0xdd], &[0x60; 90]].concat()),
            ("an unknown tunnel over IPv6", in_tunnel6(9, &inner)),
            ("an extension header of IPv6", {
                let mut frame = in_tunnel6(0x1000, &inner);
                frame[14 + 6] = 0;
                frame
            }),
            ("a wrong UDP length over IPv6", {
                let mut frame = in_tunnel6(0x1000, &inner);
                frame[14 + 40 + 5] -= 1;
                frame
            }),
            ("a wrong header checksum", {
                let mut frame = uplink(&inner);
                frame[24] ^= 1;
                frame
            }),
            ("options", {
                let mut frame = uplink(&inner);
                frame[14] = 0x46;
                frame
            }),
        ] {
            // Frames that must not enter the pipeline are bypassed if a wire is bound; here they
            // are dropped and counted.
            let before = testbed.switch.port(0).bypassed;
            let out = testbed.run_frame(0, &frame);
            if testbed.switch.port(0).bypassed == before {
                assert_eq!(out, vec![(2, frame)], "{engine:?}: {what}");
            } else {
                let expected = ["a wrong header checksum", "a truncated IPv6 packet"];
                assert!(expected.contains(&what), "{engine:?}: {what}");
                assert_eq!(out, vec![]);
            }
        }
        assert_eq!(testbed.count("rules", 5), (0, 0));
        let other = ethernet(&ipv4(17, 64, REMOTE, [10, 60, 0, 7], &udp(53, 1000, &[1; 60])));
        assert_eq!(testbed.run_frame(1, &other), vec![(3, other.clone())]);
        // And back, to the other side of each wire.
        assert_eq!(testbed.run_frame(2, &other), vec![(0, other.clone())]);
        assert_eq!(testbed.run_frame(3, &other), vec![(1, other.clone())]);
        // An unknown port.
        assert_eq!(testbed.run_frame(5, &other), vec![]);
    }
}

#[test]
fn a_tunnel_may_be_over_ipv6() {
    const OVER_IPV6: &str = "
        decap teid 0x1000 ue 10.60.0.1 via 1 counter 5
        peer6 number 7 from fd70::1 to fd70::2
        encap6 ue 10.60.0.1 teid 0x2000 peer 7 qfi 9 via 2 counter 6
    ";
    for engine in engines() {
        let testbed = Testbed::new(engine, &with(OVER_IPV6));
        for length in [0, 1, 5, 18, 100, 1352] {
            let inner = |ttl| ipv4(17, ttl, UE, REMOTE, &udp(1000, 53, &vec![7; length]));
            assert_eq!(
                testbed.run_frame(0, &in_tunnel6(0x1000, &inner(64))),
                out_1(&inner(63)),
                "{engine:?} {length}"
            );
            let packet = |ttl| ipv4(17, ttl, REMOTE, UE, &udp(53, 1000, &vec![8; length]));
            let expected = vec![(0, to_gnb6(0x2000, 9, &packet(63)))];
            assert_eq!(
                testbed.run_frame(1, &ethernet(&packet(64))),
                expected,
                "{engine:?} {length}"
            );
        }
        // Bytes as a URR counts them exclude the tunnel headers of either version.
        let bytes: u64 = [0, 1, 5, 18, 100, 1352].iter().map(|length| length + 28).sum();
        assert_eq!(
            (testbed.count("rules", 5), testbed.count("rules", 6)),
            ((6, bytes), (6, bytes))
        );
        // A packet truncated anywhere must not be forwarded by a rule.
        let whole = in_tunnel6(0x1000, &ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello")));
        for length in 0..whole.len() {
            let out = testbed.run_frame(0, &whole[..length]);
            assert!(out.iter().all(|(port, _)| *port == 2), "{length}: {out:?}");
        }
        assert_eq!(testbed.count("rules", 5).0, 6);
    }
}

#[test]
fn frames_of_every_length_are_handled() {
    let testbed = Testbed::new(Engine::best(), &with(RULES));
    let whole = uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello")));
    for length in 0..whole.len() {
        // The length of a truncated packet does not agree with its headers: no rule may forward it.
        let out = testbed.run_frame(0, &whole[..length]);
        assert!(out.iter().all(|(port, _)| *port == 2), "{length}: {out:?}");
    }
    assert_eq!(testbed.count("rules", 5), (0, 0));
    assert!(testbed.switch.port(0).bypassed > 0 && testbed.switch.port(0).runts > 0);
    assert_eq!(testbed.run_frame(0, &whole).len(), 1);
    // The padding of a short frame does not leave with the packet.
    let padded = [&whole[..], &[0xee; 30]].concat();
    let [(1, frame)] = &testbed.run_frame(0, &padded)[..] else { panic!("no packet") };
    assert_eq!(frame.len(), 14 + 33);
}

#[test]
fn applications_are_distinguished_and_gates_close() {
    for engine in engines() {
        let testbed = Testbed::new(engine, &with(FILTERED));
        let web = |ttl| ipv4(6, ttl, UE, REMOTE, &tcp(1000, 85));
        assert_eq!(testbed.run_frame(0, &uplink(&web(64))), out_1(&web(63)));
        let dns = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"who"));
        assert_eq!(testbed.run_frame(0, &uplink(&dns)), vec![], "a closed gate");
        let other = uplink(&ipv4(6, 64, UE, REMOTE, &tcp(1000, 91)));
        assert_eq!(
            testbed.run_frame(0, &other),
            vec![(2, other.clone())],
            "no application: the native path"
        );
        let elsewhere = uplink(&ipv4(6, 64, UE, [9, 9, 9, 9], &tcp(1000, 85)));
        assert_eq!(testbed.run_frame(0, &elsewhere), vec![(2, elsewhere.clone())]);
        let down = ethernet(&ipv4(6, 64, REMOTE, UE, &tcp(85, 1000)));
        let [(0, frame)] = &testbed.run_frame(1, &down)[..] else { panic!("no packet") };
        assert_eq!(
            (&frame[14 + 28 + 4..14 + 28 + 8], frame[14 + 28 + 14]),
            (&[0, 0, 0x20, 1][..], 7)
        );
        assert_eq!(
            testbed.run_frame(1, &ethernet(&ipv4(17, 64, REMOTE, UE, &udp(53, 1000, b"you")))),
            vec![]
        );
        assert_eq!(testbed.count("rules", 10), (1, 40));
        assert_eq!(testbed.count("dropped", 11), (1, 31));
        assert_eq!(testbed.count("rules", 11), (0, 0));
        assert_eq!((testbed.count("rules", 12), testbed.count("dropped", 13)), ((1, 40), (1, 31)));
        // Packets of a deleted rule return to the native path.
        testbed.write(Operation::Delete, "uplink session 4 application 1").expect("deleted");
        assert_eq!(testbed.run_frame(0, &uplink(&web(64))), vec![(2, uplink(&web(64)))]);
    }
}

#[test]
fn a_meter_limits_the_rate() {
    for engine in engines() {
        let testbed =
            Testbed::new(engine, &with("decap teid 0x1000 ue 10.60.0.1 via 1 counter 5 meter 3"));
        // 10 packets of 128 bytes at once, then almost none.
        testbed.tables.set_meter(0, 3, Some((1, 1280))).expect("a meter");
        let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &[0; 100]));
        let passed: usize = (0..30).map(|_| testbed.run_frame(0, &uplink(&inner)).len()).sum();
        assert_eq!(passed, 10, "{engine:?}");
        assert_eq!(
            (testbed.count("rules", 5), testbed.count("dropped", 5)),
            ((10, 1280), (20, 2560))
        );
        testbed.tables.set_meter(0, 3, None).expect("no meter");
        assert_eq!(testbed.run_frame(0, &uplink(&inner)).len(), 1);
    }
}

#[test]
fn the_controller_receives_and_sends_packets() {
    let testbed = Testbed::new(Engine::best(), &with(RULES));
    let target = testbed.tables.target().clone();
    let frame = ethernet(&ipv4(17, 64, REMOTE, UE, &udp(53, 1000, &[3; 70])));
    target.send(3, &frame).expect("sent");
    testbed.switch.settle();
    assert_eq!(testbed.switch.collect(3), Some(frame.clone()));
    let info = &testbed.tables.program().info;
    let at = |table: &str| info.table(table).expect("a table");
    let action = info.action("to_controller").expect("an action");
    let mut update =
        base(testbed.tables.program()).pop().expect("the default entry of the core port");
    assert_eq!(update.entry.table, at("ip_default_forward"));
    update.operation = Operation::Modify;
    update.entry.call.action = action;
    update.entry.call.arguments.clear();
    testbed.tables.write(&[update]).expect("written");
    let unknown = ethernet(&ipv4(17, 64, REMOTE, [10, 60, 9, 9], &udp(53, 1000, &[3; 70])));
    testbed.switch.inject(1, &unknown).expect("space in the ring");
    testbed.switch.settle();
    assert_eq!(target.receive(), Some((1, unknown)));
}

#[test]
fn a_batch_is_atomic() {
    let testbed = Testbed::new(Engine::best(), &with(RULES));
    for (text, why) in [
        ("decap teid 7 ue 10.60.0.7 via 1\ndecap teid 0x1000 ue 10.60.0.1 via 1", "already has"),
        (
            "decap teid 7 ue 10.60.0.7 via 1\nhop number 9 source 02:00:00:00:00:01 destination \
             02:00:00:00:00:02 port 7",
            "no port 7",
        ),
    ] {
        let error = testbed.write(Operation::Insert, text).expect_err(text);
        assert!(error.contains(why), "{error}");
        assert_eq!(testbed.tables.len(testbed.table("gtp_decap")), 1);
    }
    // Other controllers can send values that RPI rejects.
    for (parameter, value, why) in [
        ("counter", 262_144, "beyond rules"),
        ("meter", 262_144, "beyond session_meter"),
        ("qfi", 64, "from 0 to 63"),
    ] {
        let mut updates = ["decap teid 7 ue 10.60.0.7 via 1", "decap teid 8 ue 10.60.0.8 via 1"]
            .map(|line| testbed.update(Operation::Insert, line));
        let call = &mut updates[1].entry.call;
        let parameters = &testbed.tables.program().info.actions[call.action].parameters;
        call.arguments
            [parameters.iter().position(|of| of.name == parameter).expect("a parameter")] = value;
        let error = testbed.tables.write(&updates).expect_err(parameter).to_string();
        assert!(error.starts_with("update 2: ") && error.contains(why), "{error}");
        assert_eq!(testbed.tables.len(testbed.table("gtp_decap")), 1);
    }
    assert!(
        testbed
            .write(Operation::Delete, "decap teid 99")
            .expect_err("not there")
            .contains("no entry")
    );
    // A table accepts as many entries as its size, and no more.
    let many: String = (0..131_072)
        .map(|n| format!("decap teid {} ue 10.60.0.1 via 1 counter 1\n", 0x10_0000 + n))
        .collect();
    assert!(
        testbed.write(Operation::Insert, &many).expect_err("too many").contains("space for 131072")
    );
    let fits: String = many.lines().take(131_071).map(|line| format!("{line}\n")).collect();
    testbed.write(Operation::Insert, &fits).expect("as many as its size");
    let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello"));
    assert_eq!(testbed.run_frame(0, &uplink(&inner)).len(), 1);
    let last =
        ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(0x10_0000 + 131_070, 1, 9, &inner))));
    assert_eq!(testbed.run_frame(0, &last)[0].0, 1);
}

#[test]
fn from_pcap_to_pcap() {
    // The same packets from a file through DPDK's source, repeated.
    let path =
        std::env::temp_dir().join(format!("martlet-switch-test-{}.pcap", std::process::id()));
    bench::write_pcap(
        &path,
        (0..3).map(|n| uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &[n; 30])))),
    )
    .expect("a file");
    let testbed = Testbed::of(Engine::best(), Ports::Memory { pcap: &path, packets: 3 });
    let switch = &testbed.switch;
    switch.measure(2_000_000);
    assert!(switch.sunk(2).0 > 0, "without rules, to the native path");
    testbed.write(Operation::Insert, &with(RULES)).expect("rules");
    let before = switch.sunk(2).0;
    switch.measure(2_000_000);
    let (packets, bytes) = switch.sunk(1);
    assert!(packets > 0 && bytes == packets * (14 + 58), "{packets} {bytes}");
    // At most the packets in flight when the rules were written.
    assert!(switch.sunk(2).0 - before <= 16);
    // And those that were counted and have not left yet.
    let (counted, bytes) = testbed.count("rules", 5);
    assert!(
        (packets..=packets + 16).contains(&counted) && bytes == counted * 58,
        "{counted} {bytes} {packets}"
    );
    let _ = std::fs::remove_file(&path);
}

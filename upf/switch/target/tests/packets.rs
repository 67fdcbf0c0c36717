//! Frames in at a port, out at a port, for each table and action; from and to pcap files, so that
//! what runs is the P4 program and nothing that a test made for itself.
mod bed;
mod common;

use bed::*;
use common::*;
use martlet_switch_control::model::Operation;
use martlet_switch_target::serve::base;
use martlet_switch_target::{Engine, Ports, bench};

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
fn a_packet_leaves_its_tunnel_and_enters_it() {
    for engine in engines() {
        let bed = Bed::new(engine, &with(RULES));
        for length in [0, 1, 5, 18, 100, 1372] {
            let inner = |ttl| ipv4(17, ttl, UE, REMOTE, &udp(1000, 53, &vec![7; length]));
            assert_eq!(
                bed.through(0, &uplink(&inner(64))),
                out_1(&inner(63)),
                "{engine:?} {length}"
            );
            let packet = |ttl| ipv4(17, ttl, REMOTE, UE, &udp(53, 1000, &vec![8; length]));
            let expected = vec![(0, to_gnb(0x2000, 9, &packet(63)))];
            assert_eq!(bed.through(1, &ethernet(&packet(64))), expected, "{engine:?} {length}");
        }
        // Octets of IP packets without tunnel headers, as a URR counts them.
        let octets: u64 = [0, 1, 5, 18, 100, 1372].iter().map(|length| length + 28).sum();
        assert_eq!((bed.count("rules", 5), bed.count("rules", 6)), ((6, octets), (6, octets)));
    }
}

#[test]
fn checksums_hold_for_all_values_of_the_field() {
    let bed = Bed::new(Engine::best(), &with(RULES));
    // The identification makes the checksum what it likes; the carry comes round at some of them.
    for identification in (0..=u16::MAX).step_by(97).chain(0xb900..0xbb00) {
        let mut inner = ipv4(17, 64, UE, REMOTE, &udp(1, 2, b""));
        inner[4..6].copy_from_slice(&identification.to_be_bytes());
        inner[10..12].fill(0);
        let sum = checksum(&inner[..20]);
        inner[10..12].copy_from_slice(&sum.to_be_bytes());
        let out = bed.through(0, &uplink(&inner));
        let [(1, frame)] = &out[..] else { panic!("{out:?}") };
        assert_eq!(checksum(&frame[14..34]), 0, "identification {identification:#x}");
    }
}

#[test]
fn what_has_no_rule_goes_to_the_native_path_as_it_is_and_comes_back() {
    for engine in engines() {
        let bed = Bed::new(engine, &with(RULES));
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
            ("a container of the other way", with(&|frame| frame[14 + 28 + 13] = 0)),
            ("a second extension", with(&|frame| frame[14 + 28 + 15] = 0x85)),
            ("a GTP-U length that is wrong", with(&|frame| frame[14 + 28 + 3] += 1)),
            ("a UDP length that is wrong", with(&|frame| frame[14 + 20 + 5] -= 1)),
            ("an inner length that is wrong", with(&|frame| frame[14 + 44 + 3] += 1)),
            ("a source that the UE does not have", foreign),
            ("a packet at its last hop", uplink(&ipv4(17, 1, UE, REMOTE, &udp(1000, 53, b"")))),
            ("a fragment", fragment),
            ("ARP", [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &[8, 6], &[1; 28]].concat()),
            (
                "a packet of IPv6 that is cut off",
                [&[2; 12][..], &[0x86, 0xdd], &[0x60; 90]].concat(),
            ),
            ("an unknown tunnel over IPv6", in_tunnel6(9, &inner)),
            ("an extension header of IPv6", {
                let mut frame = in_tunnel6(0x1000, &inner);
                frame[14 + 6] = 0;
                frame
            }),
            ("a UDP length that is wrong, over IPv6", {
                let mut frame = in_tunnel6(0x1000, &inner);
                frame[14 + 40 + 5] -= 1;
                frame
            }),
            ("a header that does not add up", {
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
            // What the pipeline must not see goes by it, where a wire is bound; here it is dropped
            // and counted.
            let before = bed.switch.port(0).bypassed;
            let out = bed.through(0, &frame);
            if bed.switch.port(0).bypassed == before {
                assert_eq!(out, vec![(2, frame)], "{engine:?}: {what}");
            } else {
                let expected =
                    ["a header that does not add up", "a packet of IPv6 that is cut off"];
                assert!(expected.contains(&what), "{engine:?}: {what}");
                assert_eq!(out, vec![]);
            }
        }
        assert_eq!(bed.count("rules", 5), (0, 0));
        let other = ethernet(&ipv4(17, 64, REMOTE, [10, 60, 0, 7], &udp(53, 1000, &[1; 60])));
        assert_eq!(bed.through(1, &other), vec![(3, other.clone())]);
        // And back, to the other side of each wire.
        assert_eq!(bed.through(2, &other), vec![(0, other.clone())]);
        assert_eq!(bed.through(3, &other), vec![(1, other.clone())]);
        // A port that nothing is known of.
        assert_eq!(bed.through(5, &other), vec![]);
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
        let bed = Bed::new(engine, &with(OVER_IPV6));
        for length in [0, 1, 5, 18, 100, 1352] {
            let inner = |ttl| ipv4(17, ttl, UE, REMOTE, &udp(1000, 53, &vec![7; length]));
            assert_eq!(
                bed.through(0, &in_tunnel6(0x1000, &inner(64))),
                out_1(&inner(63)),
                "{engine:?} {length}"
            );
            let packet = |ttl| ipv4(17, ttl, REMOTE, UE, &udp(53, 1000, &vec![8; length]));
            let expected = vec![(0, to_gnb6(0x2000, 9, &packet(63)))];
            assert_eq!(bed.through(1, &ethernet(&packet(64))), expected, "{engine:?} {length}");
        }
        // Octets as a URR counts them have nothing of the tunnel, of whichever version.
        let octets: u64 = [0, 1, 5, 18, 100, 1352].iter().map(|length| length + 28).sum();
        assert_eq!((bed.count("rules", 5), bed.count("rules", 6)), ((6, octets), (6, octets)));
        // Cut off anywhere, nothing comes out by a rule.
        let whole = in_tunnel6(0x1000, &ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello")));
        for length in 0..whole.len() {
            let out = bed.through(0, &whole[..length]);
            assert!(out.iter().all(|(port, _)| *port == 2), "{length}: {out:?}");
        }
        assert_eq!(bed.count("rules", 5).0, 6);
    }
}

#[test]
fn frames_of_every_length_do_no_harm() {
    let bed = Bed::new(Engine::best(), &with(RULES));
    let whole = uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello")));
    for length in 0..whole.len() {
        // Cut off, its length does not agree with its headers: nothing may come out by a rule.
        let out = bed.through(0, &whole[..length]);
        assert!(out.iter().all(|(port, _)| *port == 2), "{length}: {out:?}");
    }
    assert_eq!(bed.count("rules", 5), (0, 0));
    assert!(bed.switch.port(0).bypassed > 0 && bed.switch.port(0).runts > 0);
    assert_eq!(bed.through(0, &whole).len(), 1);
    // The padding of a short frame does not leave with the packet.
    let padded = [&whole[..], &[0xee; 30]].concat();
    let [(1, frame)] = &bed.through(0, &padded)[..] else { panic!("no packet") };
    assert_eq!(frame.len(), 14 + 33);
}

#[test]
fn applications_are_told_apart_and_gates_close() {
    for engine in engines() {
        let bed = Bed::new(engine, &with(FILTERED));
        let web = |ttl| ipv4(6, ttl, UE, REMOTE, &tcp(1000, 85));
        assert_eq!(bed.through(0, &uplink(&web(64))), out_1(&web(63)));
        let dns = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"who"));
        assert_eq!(bed.through(0, &uplink(&dns)), vec![], "a closed gate");
        let other = uplink(&ipv4(6, 64, UE, REMOTE, &tcp(1000, 91)));
        assert_eq!(
            bed.through(0, &other),
            vec![(2, other.clone())],
            "no application: the native path"
        );
        let elsewhere = uplink(&ipv4(6, 64, UE, [9, 9, 9, 9], &tcp(1000, 85)));
        assert_eq!(bed.through(0, &elsewhere), vec![(2, elsewhere.clone())]);
        let down = ethernet(&ipv4(6, 64, REMOTE, UE, &tcp(85, 1000)));
        let [(0, frame)] = &bed.through(1, &down)[..] else { panic!("no packet") };
        assert_eq!(
            (&frame[14 + 28 + 4..14 + 28 + 8], frame[14 + 28 + 14]),
            (&[0, 0, 0x20, 1][..], 7)
        );
        assert_eq!(
            bed.through(1, &ethernet(&ipv4(17, 64, REMOTE, UE, &udp(53, 1000, b"you")))),
            vec![]
        );
        assert_eq!(bed.count("rules", 10), (1, 40));
        assert_eq!(bed.count("dropped", 11), (1, 31));
        assert_eq!(bed.count("rules", 11), (0, 0));
        assert_eq!((bed.count("rules", 12), bed.count("dropped", 13)), ((1, 40), (1, 31)));
        // A rule that goes gives its packets back to the native path.
        bed.write(Operation::Delete, "uplink session 4 application 1").expect("deleted");
        assert_eq!(bed.through(0, &uplink(&web(64))), vec![(2, uplink(&web(64)))]);
    }
}

#[test]
fn a_meter_lets_through_what_it_says() {
    for engine in engines() {
        let bed = Bed::new(engine, &with("decap teid 0x1000 ue 10.60.0.1 via 1 counter 5 meter 3"));
        // 10 packets of 128 octets at once, and then hardly any.
        bed.tables.set_meter(0, 3, Some((1, 1280))).expect("a meter");
        let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &[0; 100]));
        let passed: usize = (0..30).map(|_| bed.through(0, &uplink(&inner)).len()).sum();
        assert_eq!(passed, 10, "{engine:?}");
        assert_eq!((bed.count("rules", 5), bed.count("dropped", 5)), ((10, 1280), (20, 2560)));
        bed.tables.set_meter(0, 3, None).expect("no meter");
        assert_eq!(bed.through(0, &uplink(&inner)).len(), 1);
    }
}

#[test]
fn the_controller_takes_and_sends_packets() {
    let bed = Bed::new(Engine::best(), &with(RULES));
    let target = bed.tables.target().clone();
    let frame = ethernet(&ipv4(17, 64, REMOTE, UE, &udp(53, 1000, &[3; 70])));
    target.send(3, &frame).expect("sent");
    bed.switch.settle();
    assert_eq!(bed.switch.collect(3), Some(frame.clone()));
    let info = &bed.tables.program().info;
    let at = |table: &str| info.tables.iter().position(|of| of.alias == table).expect("a table");
    let action = info.actions.iter().position(|of| of.alias == "to_controller").expect("an action");
    let mut update = base(bed.tables.program()).pop().expect("the way of packets from the core");
    assert_eq!(update.entry.table, at("ip_default_forward"));
    update.operation = Operation::Modify;
    update.entry.call.action = action;
    update.entry.call.arguments.clear();
    bed.tables.write(&[update]).expect("written");
    let unknown = ethernet(&ipv4(17, 64, REMOTE, [10, 60, 9, 9], &udp(53, 1000, &[3; 70])));
    bed.switch.inject(1, &unknown).expect("room");
    bed.switch.settle();
    assert_eq!(target.receive(), Some((1, unknown)));
}

#[test]
fn a_batch_is_written_whole_or_not_at_all() {
    let bed = Bed::new(Engine::best(), &with(RULES));
    for (text, why) in [
        ("decap teid 7 ue 10.60.0.7 via 1\ndecap teid 0x1000 ue 10.60.0.1 via 1", "already has"),
        (
            "decap teid 7 ue 10.60.0.7 via 1\nhop number 9 source 02:00:00:00:00:01 destination \
             02:00:00:00:00:02 port 7",
            "no port 7",
        ),
    ] {
        let error = bed.write(Operation::Insert, text).expect_err(text);
        assert!(error.contains(why), "{error}");
        assert_eq!(bed.tables.len(bed.table("gtp_decap")), 1);
    }
    // What RPI does not let through, other controllers may write.
    for (parameter, value, why) in [
        ("counter", 262_144, "beyond rules"),
        ("meter", 262_144, "beyond session_meter"),
        ("qfi", 64, "from 0 to 63"),
    ] {
        let mut updates = ["decap teid 7 ue 10.60.0.7 via 1", "decap teid 8 ue 10.60.0.8 via 1"]
            .map(|line| bed.update(Operation::Insert, line));
        let call = &mut updates[1].entry.call;
        let parameters = &bed.tables.program().info.actions[call.action].parameters;
        call.arguments
            [parameters.iter().position(|of| of.name == parameter).expect("a parameter")] = value;
        let error = bed.tables.write(&updates).expect_err(parameter).to_string();
        assert!(error.starts_with("update 2: ") && error.contains(why), "{error}");
        assert_eq!(bed.tables.len(bed.table("gtp_decap")), 1);
    }
    assert!(
        bed.write(Operation::Delete, "decap teid 99").expect_err("not there").contains("no entry")
    );
    // A table takes as many entries as it says, and not one more.
    let many: String = (0..131_072)
        .map(|n| format!("decap teid {} ue 10.60.0.1 via 1 counter 1\n", 0x10_0000 + n))
        .collect();
    assert!(bed.write(Operation::Insert, &many).expect_err("too many").contains("room for 131072"));
    let fits: String = many.lines().take(131_071).map(|line| format!("{line}\n")).collect();
    bed.write(Operation::Insert, &fits).expect("as many as it says");
    let inner = ipv4(17, 64, UE, REMOTE, &udp(1000, 53, b"hello"));
    assert_eq!(bed.through(0, &uplink(&inner)).len(), 1);
    let last =
        ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(0x10_0000 + 131_070, 1, 9, &inner))));
    assert_eq!(bed.through(0, &last)[0].0, 1);
}

#[test]
fn from_pcap_to_pcap() {
    // The same packets from a file, through DPDK's own source, as many times as the file has them.
    let path =
        std::env::temp_dir().join(format!("martlet-switch-test-{}.pcap", std::process::id()));
    bench::write_pcap(
        &path,
        (0..3).map(|n| uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &[n; 30])))),
    )
    .expect("a file");
    let bed = Bed::of(Engine::best(), Ports::Memory { pcap: &path, packets: 3 });
    let switch = &bed.switch;
    switch.measure(2_000_000);
    assert!(switch.sunk(2).0 > 0, "without rules, to the native path");
    bed.write(Operation::Insert, &with(RULES)).expect("rules");
    let before = switch.sunk(2).0;
    switch.measure(2_000_000);
    let (packets, octets) = switch.sunk(1);
    assert!(packets > 0 && octets == packets * (14 + 58), "{packets} {octets}");
    // At most those that were under way when the rules came.
    assert!(switch.sunk(2).0 - before <= 16);
    // And those that are counted and have not left yet.
    let (counted, octets) = bed.count("rules", 5);
    assert!(
        (packets..=packets + 16).contains(&counted) && octets == counted * 58,
        "{counted} {octets} {packets}"
    );
    let _ = std::fs::remove_file(&path);
}

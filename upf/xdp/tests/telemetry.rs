//! Packet telemetry: each packet is counted on input and output, drops are traced to their rules,
//! and the counters add up.
mod common;

use common::bench::{Bench, GNB, HOST, UE, ethernet, udp4};
use common::{peers_rig, socket_rig};
use martlet_pfcp::ie::GateStatus;
use martlet_upf_config::DatapathChoice;
use martlet_upf_datapath::conformance::{Rig, g_pdu, measure, session, udp_packet};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::telemetry::{TraceRequest, balance, summary};
use martlet_upf_datapath::{Change, Datapath, Shaping};
use martlet_upf_rules::{Action, BitRate, UeAddress};
use martlet_upf_testing::{in_namespace, peers, rig};
use martlet_upf_xdp::Verdict;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const TEID: u32 = 0x0101_0101;

fn uplink(bench: &Bench, teid: u32, packet: &[u8]) -> Vec<u8> {
    let ip = udp4((GNB, 2152), (bench.n3(), 2152), &g_pdu(teid, Some(9), packet));
    ethernet(bench.n3.own, bench.n3.peer, 0x0800, &ip)
}

fn up(length: usize) -> Vec<u8> {
    udp_packet((UE, 9000), (HOST, 7000), &vec![0; length])
}

fn waiting(datapath: &dyn Datapath) -> u64 {
    datapath.tables().iter().find(|fill| fill.table == "waiting").map_or(0, |fill| fill.used)
}

/// Checks that packets in equal packets out plus drops.
fn check_sum(datapath: &dyn Datapath) {
    let counters = datapath.counters();
    let (received, sent_or_dropped) = balance(&counters, waiting(datapath));
    assert_eq!(received, sent_or_dropped, "{:?}", counters.named());
    assert!(received > 0);
}

#[test]
fn a_session_counts_its_traffic_and_drops() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        for _ in 0..3 {
            assert_eq!(bench.run_n3(&uplink(&bench, TEID, &up(72))).0, Verdict::Redirect(0));
        }
        let down = ethernet(
            bench.n6.own,
            bench.n6.peer,
            0x0800,
            &udp_packet((HOST, 7000), (UE, 9000), &[0; 22]),
        );
        assert_eq!(bench.run_n6(&down).0, Verdict::Redirect(0));
        session.qers.get_mut(&1).expect("the QER").gate =
            GateStatus { uplink_closed: true, downlink_closed: false };
        bench.apply(&session);
        assert_eq!(bench.run_n3(&uplink(&bench, TEID, &up(72))).0, Verdict::Drop);
        let foreign = udp_packet((Ipv4Addr::new(10, 45, 0, 9), 9000), (HOST, 7000), &[0; 10]);
        assert_eq!(bench.run_n3(&uplink(&bench, TEID, &foreign)).0, Verdict::Drop);
        let traffic = bench.datapath.traffic(&[1, 2]);
        assert_eq!((traffic[0].uplink.packets, traffic[0].uplink.bytes), (3, 300));
        assert_eq!((traffic[0].downlink.packets, traffic[0].downlink.bytes), (1, 50));
        assert_eq!(traffic[0].drops, [(DropReason::ForeignSource, 1), (DropReason::Gate, 1)]);
        assert_eq!(traffic[1], Default::default(), "session 2 does not exist");
        // Removed rules have been counted too; and the next session of the slot starts at zero.
        std::thread::sleep(Duration::from_millis(150));
        bench.apply(&session);
        assert_eq!(bench.datapath.traffic(&[1])[0].uplink.packets, 3);
        bench.datapath.remove(1);
        let next = bench.session_of(2, TEID, UE);
        bench.apply(&next);
        assert_eq!(bench.datapath.traffic(&[2])[0], Default::default());
        check_sum(&bench.datapath);
    });
}

#[test]
fn the_duration_of_sampled_packets_is_measured() {
    in_namespace(|| {
        let mut bench = Bench::new(|config| config.telemetry.sample = 4);
        bench.session();
        for _ in 0..64 {
            bench.run_n3(&uplink(&bench, TEID, &up(10)));
        }
        let counters = bench.datapath.counters();
        let taken: u64 =
            counters.latency.classes.iter().map(martlet_upf_datapath::counters::Count::get).sum();
        // Each CPU may be one sample short.
        assert!((8..=16).contains(&taken), "{taken} of 64 with a sampling rate of 1 in 4");
        let p50 = counters.latency.quantile(0.5).expect("a time");
        assert!((32..1_000_000).contains(&p50), "{p50} ns");
        assert!(counters.latency.sum.get() > 0);
    });
}

#[test]
fn a_drop_is_traced_to_its_rule() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        let dropped = TraceRequest { forwarded: false };
        bench.run_n3(&uplink(&bench, TEID, &up(10)));
        assert_eq!(
            bench.datapath.trace(dropped).expect("it traces").packets,
            [],
            "no trace was requested"
        );
        bench.run_n3(&uplink(&bench, TEID, &up(10)));
        bench.run_n3(&uplink(&bench, 0x7777, &up(10)));
        session.fars.get_mut(&1).expect("the FAR").action = Action::Drop;
        bench.apply(&session);
        let frame = uplink(&bench, TEID, &up(400));
        bench.run_n3(&frame);
        let trace = bench.datapath.trace(dropped).expect("it traces");
        assert_eq!(
            (trace.packets.len(), trace.missed),
            (1, 0),
            "packets of unknown tunnels go to user space: {trace:?}"
        );
        let packet = &trace.packets[0];
        assert_eq!(
            (packet.drop, packet.seid, packet.pdr),
            (Some(DropReason::Action), Some(1), Some(1))
        );
        assert_eq!((packet.length, packet.ifindex), (frame.len() as u32, bench.n3.ifindex));
        assert_eq!(packet.frame, frame[..256]);
        let line = summary(&packet.frame, packet.length);
        assert!(
            line.ends_with("TEID 0x01010101: UDP 10.45.0.2:9000 > 10.98.0.2:7000, 428 bytes"),
            "{line}"
        );
        let json = packet.describe(Some(&session));
        assert_eq!((&json["reason"], &json["why"]), (&"action".into(), &"FAR 1 drops it".into()));
        assert_eq!((&json["far"], &json["qers"]), (&1.into(), &serde_json::json!([1])));
        // Forwarded packets are traced too, on request.
        let all = TraceRequest { forwarded: true };
        bench.datapath.trace(all).expect("it traces");
        session.fars.get_mut(&1).expect("the FAR").action = Action::Forward;
        bench.apply(&session);
        bench.run_n3(&uplink(&bench, TEID, &up(10)));
        let trace = bench.datapath.trace(all).expect("it traces").packets;
        assert_eq!((trace.len(), trace[0].drop, trace[0].pdr), (1, None, Some(1)));
        // Without a trace the tracing programs are detached: after a hold time of three seconds,
        // within two more, or later if the UPF is not scheduled.
        session.fars.get_mut(&1).expect("the FAR").action = Action::Drop;
        bench.apply(&session);
        let stopped = (0..3).any(|_| {
            std::thread::sleep(Duration::from_millis(5500));
            bench.run_n3(&uplink(&bench, TEID, &up(10)));
            bench.datapath.trace(all).expect("it traces").packets.is_empty()
        });
        assert!(stopped, "still tracing without a request");
    });
}

/// Traffic of every kind over real links; each packet is counted once.
fn mixed_traffic(rig: &mut impl Rig) {
    let mut first = session(rig, 1, 7, rig.ue());
    let prefix = UeAddress::V6(0xfd45_0000_0000_0077);
    first.pdrs.values_mut().for_each(|pdr| pdr.ue.push(prefix));
    let other = Ipv4Addr::new(10, 45, 0, 3);
    let second = session(rig, 2, 8, other);
    rig.datapath().apply(&Change::to(&first)).expect("the session");
    rig.datapath().apply(&Change::to(&second)).expect("the session");
    let (ue, remote) = (rig.ue(), rig.remote());
    let send_all = |rig: &mut dyn FnMut(&[u8])| {
        let to = |from, to| udp_packet((from, 9000), to, b"x");
        rig(&g_pdu(7, Some(9), &to(ue, (remote, 7000))));
        rig(&g_pdu(7, Some(9), &to(ue, (other, 9000))));
        rig(&g_pdu(7, Some(9), &to(other, (remote, 7000))));
        rig(&g_pdu(99, Some(9), &to(ue, (remote, 7000))));
        rig(&g_pdu(7, Some(9), &[0xff; 20]));
        rig(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
        rig(&[0x00; 7]);
        rig(&[]);
        // Larger than a frame: it is fragmented.
        rig(&g_pdu(7, Some(9), &udp_packet((ue, 9000), (remote, 7001), &[b'l'; 1900])));
    };
    let settle = |rig: &mut dyn FnMut() -> (u64, u64)| {
        for _ in 0..1500 {
            std::thread::sleep(Duration::from_millis(20));
            let (received, sent_or_dropped) = rig();
            if received == sent_or_dropped {
                return;
            }
        }
    };
    for round in 0..4 {
        let mut send = |bytes: &[u8]| rig.send_n3(bytes);
        send_all(&mut send);
        for port in [7000, 7001] {
            rig.send_n6(port, &[0; 200]);
        }
        rig.datapath().advertise(1);
        match round {
            0 => {
                let rate = BitRate { uplink: 1, downlink: 1 };
                first.qers.get_mut(&1).expect("the QER").mbr = Some(rate);
            }
            1 => first.fars.get_mut(&2).expect("the FAR").action = Action::Buffer { notify: true },
            _ => first.fars.get_mut(&2).expect("the FAR").action = Action::Forward,
        }
        std::thread::sleep(Duration::from_millis(50));
        rig.datapath().apply(&Change::to(&first)).expect("the session");
    }
    settle(&mut || {
        let datapath = rig.datapath();
        balance(&datapath.counters(), waiting(datapath))
    });
    check_sum(rig.datapath());
    let counters = rig.datapath().counters();
    for (name, value) in counters.named() {
        if [
            "uplink_packets",
            "downlink_packets",
            "received_packets",
            "switched_packets",
            "originated_packets",
        ]
        .contains(&name)
        {
            assert!(value > 0, "{name}");
        }
    }
    assert!(counters.drops(DropReason::ForeignSource).get() >= 4);
    let taken: u64 =
        counters.latency.classes.iter().map(martlet_upf_datapath::counters::Count::get).sum();
    assert!(taken > 0 || rig.datapath().name() == "xdp", "few packets, one in 128 of them sampled");
}

#[test]
fn counters_add_up_in_the_kernel_datapath() {
    in_namespace(|| mixed_traffic(&mut socket_rig(rig::config())));
}

#[test]
fn counters_add_up_in_xdp_between_peers() {
    in_namespace(|| {
        let mut config = rig::config();
        config.datapath = DatapathChoice::Xdp;
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
        config.n3.address = (peers::N3, 2152).into();
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        mixed_traffic(&mut *peers_rig(config));
    });
}

#[test]
fn counters_add_up_in_xdp_on_loopback() {
    in_namespace(|| {
        let mut config = rig::config();
        config.datapath = DatapathChoice::Xdp;
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
        mixed_traffic(&mut socket_rig(config));
    });
}

#[test]
fn flows_of_the_lowest_priority_are_shaped_and_others_are_not() {
    in_namespace(|| {
        let mut bench = Bench::new(|config| config.governor.lowest = vec![9]);
        let first = bench.session();
        let other = Ipv4Addr::new(10, 45, 0, 3);
        let mut second = bench.session_of(2, 0x0202_0202, other);
        second.qers.get_mut(&1).expect("the QER").qfi = Some(5);
        bench.apply(&second);
        let shaping = Shaping { limits: [None, Some(80_000), None], batching: true };
        bench.datapath.shape(&shaping);
        let passed = |bench: &Bench| {
            let mut passed = [0; 2];
            for _ in 0..200 {
                let frame = uplink(bench, TEID, &up(972));
                passed[0] += u32::from(bench.run_n3(&frame).0 == Verdict::Redirect(0));
                let frame =
                    uplink(bench, 0x0202_0202, &udp_packet((other, 9000), (HOST, 7000), &[0; 972]));
                passed[1] += u32::from(bench.run_n3(&frame).0 == Verdict::Redirect(0));
            }
            passed
        };
        // A bucket holds at least 65,535 bytes, and is filled with 10,000 per second.
        let [shaped, free] = passed(&bench);
        assert!((65..100).contains(&shaped) && free == 200, "{shaped} and {free}");
        assert_eq!(bench.drops(DropReason::Thermal), 200 - u64::from(shaped));
        assert_eq!(bench.datapath.class_bytes(), [0, u64::from(shaped) * 1000, 200_000]);
        // New rules of a shaped class are shaped too.
        bench.apply(&first);
        assert!(passed(&bench)[0] < 40);
        bench.datapath.shape(&Shaping::default());
        assert_eq!(passed(&bench), [200, 200]);
        check_sum(&bench.datapath);
    });
}

/// A random frame from a gNB or the data network: of an existing session or not; sometimes
/// truncated, with a modified byte, or of random bytes.
fn any_frame(bench: &Bench, random: &mut StdRng) -> (bool, Vec<u8>) {
    let n = random.random_range(0..10u8);
    let ue = Ipv4Addr::new(10, 45, 0, 10 + n);
    let payload = vec![0; random.random_range(0..1300)];
    let uplink_way = random.random();
    let mut frame = match (uplink_way, random.random_range(0..12)) {
        (_, 0) => (0..random.random_range(0..200)).map(|_| random.random()).collect(),
        (true, 1) => {
            uplink(bench, TEID + u32::from(n), &udp_packet((HOST, 1), (HOST, 7000), &payload))
        }
        (true, _) => {
            uplink(bench, TEID + u32::from(n), &udp_packet((ue, 9000), (HOST, 7000), &payload))
        }
        (false, _) => {
            let packet = udp_packet((HOST, 7000), (ue, 9000), &payload);
            ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)
        }
    };
    match random.random_range(0..8) {
        0 => frame.truncate(random.random_range(0..=frame.len())),
        1 => {
            let at = random.random_range(0..frame.len().max(1));
            frame.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.random());
        }
        _ => {}
    }
    // The kernel accepts no frame without a link header.
    frame.resize(frame.len().max(14), 0);
    (uplink_way, frame)
}

/// Adds, removes or modifies a session.
fn change(bench: &mut Bench, random: &mut StdRng) {
    let n = random.random_range(0..8u8);
    let seid = u64::from(n) + 1;
    if random.random_range(0..4) == 0 {
        bench.datapath.remove(seid);
        return;
    }
    let mut session = bench.session_of(seid, TEID + u32::from(n), Ipv4Addr::new(10, 45, 0, 10 + n));
    let qer = session.qers.get_mut(&1).expect("the QER");
    qer.gate = GateStatus {
        uplink_closed: random.random_range(0..5) == 0,
        downlink_closed: random.random_range(0..5) == 0,
    };
    let rate = [None, Some(100_000), Some(1 << 40)][random.random_range(0..3)];
    qer.mbr = rate.map(|rate| BitRate { uplink: rate, downlink: rate });
    if random.random_range(0..5) == 0 {
        session.fars.get_mut(&random.random_range(1..3)).expect("a FAR").action = Action::Drop;
    }
    if random.random() {
        measure(
            &mut session,
            Some(random.random_range(1..100_000)),
            Some(random.random_range(1..1_000_000)),
        );
    }
    bench.apply(&session);
}

/// For MARTLET_COUNT_SECONDS (2), with the frames of MARTLET_SEED (1): input equals output, drops
/// and foreign packets, and equals the frames that were run.
#[test]
fn counters_add_up_while_rules_change() {
    let number = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (seconds, seed) = (number("MARTLET_COUNT_SECONDS", 2), number("MARTLET_SEED", 1));
    in_namespace(move || {
        let mut random = StdRng::seed_from_u64(seed);
        let mut bench = Bench::new(|_| {});
        let until = Instant::now() + Duration::from_secs(seconds);
        let (mut frames, mut dropped, mut left, mut checked) = (0u64, 0u64, 0u64, Instant::now());
        while Instant::now() < until {
            if random.random_range(0..200) == 0 {
                change(&mut bench, &mut random);
            }
            let (from_n3, frame) = any_frame(&bench, &mut random);
            let (verdict, _) = if from_n3 { bench.run_n3(&frame) } else { bench.run_n6(&frame) };
            frames += 1;
            dropped += u64::from(verdict == Verdict::Drop);
            left += u64::from(matches!(verdict, Verdict::Redirect(_)));
            if checked.elapsed() > Duration::from_secs(10) {
                check_sum(&bench.datapath);
                checked = Instant::now();
            }
        }
        check_sum(&bench.datapath);
        let counters = bench.datapath.counters();
        let counted: u64 =
            DropReason::ALL.into_iter().map(|reason| counters.drops(reason).get()).sum();
        assert_eq!(
            counters.uplink_packets.get() + counters.downlink_packets.get(),
            left,
            "seed {seed}"
        );
        assert_eq!(counted, dropped, "seed {seed}: {:?}", counters.named());
        // The programs also see the kernel's own packets, such as neighbour solicitations, and pass
        // them.
        let own =
            counters.received_packets.get().checked_sub(frames).expect("every frame was received");
        assert_eq!(
            counters.passed_packets.get(),
            frames - dropped - left + own,
            "seed {seed}: {:?}",
            counters.named()
        );
        assert!(left > 0 && dropped > 0);
        println!("{frames} frames: {left} forwarded, {dropped} dropped, the rest was foreign");
    });
}

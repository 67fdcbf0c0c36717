//! Several CPUs process the packets of one gNB, in the order of each flow.
mod common;

use common::{open_datapath, peers_rig};
use martlet_upf_config::{DatapathChoice, UpfConfig, XdpMode};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::{Rig, g_pdu, session, udp_packet};
use martlet_upf_datapath::telemetry::balance;
use martlet_upf_rules::Action;
use martlet_upf_testing::in_namespace;
use martlet_upf_testing::peers::{HOST, N3, PeersRig, UE, set_receive_buffer};
use martlet_upf_testing::rig::config;
use std::net::UdpSocket;
use std::time::Duration;

const PORT: u16 = 7005;
const FLOWS: u16 = 64;
/// Packets of each flow that are sent before the first of them is awaited: with those of all flows
/// fewer than the ring of a veth holds.
const AT_ONCE: u32 = 3;

fn on_two_cpus(mode: XdpMode) -> UpfConfig {
    let mut config = config();
    config.datapath = DatapathChoice::Xdp;
    config.n3.address = (N3, 2152).into();
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    (config.xdp.mode, config.xdp.uplink_cpus) = (mode, 2);
    assert_eq!(config.check(), []);
    config
}

/// Runs a test in a network namespace, if there is a second CPU.
fn with_two_cpus(test: impl FnOnce() + Send + 'static) {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("SKIPPED: there is one CPU; a second one is needed");
        return;
    }
    in_namespace(test);
}

fn open(mode: XdpMode) -> PeersRig {
    let mut rig = peers_rig(on_two_cpus(mode));
    let session = session(&*rig, 1, 7, UE);
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    // Resolves the neighbours.
    rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7000), b"first")));
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"first"[..]));
    rig
}

/// Packets that each CPU has processed.
fn of_cpus(rig: &mut PeersRig) -> Vec<u64> {
    let details = rig.datapath().details();
    let cpus = details["uplinkCpus"].as_array().expect("CPUs");
    cpus.iter().map(|cpu| cpu["packets"].as_u64().expect("a number")).collect()
}

/// Sends packets of all flows, and awaits each in the order of its flow.
fn pass_in_order(rig: &mut PeersRig, host: &UdpSocket, numbers: std::ops::Range<u32>) {
    let mut buffer = [0; 2048];
    let mut next = [numbers.start; FLOWS as usize];
    for first in numbers.clone().step_by(AT_ONCE as usize) {
        let sent = first..numbers.end.min(first + AT_ONCE);
        for number in sent.clone() {
            for flow in 0..FLOWS {
                let ports = ((UE, 9000 + flow), (HOST, PORT));
                let packet = udp_packet(ports.0, ports.1, &number.to_be_bytes());
                rig.send_n3(&g_pdu(7, Some(9), &packet));
            }
        }
        for received in 0..sent.len() * usize::from(FLOWS) {
            let (length, from) = host
                .recv_from(&mut buffer)
                .unwrap_or_else(|error| panic!("{received} packets of {sent:?}: {error}"));
            let flow = usize::from(from.port() - 9000);
            assert_eq!(buffer[..length], next[flow].to_be_bytes(), "flow {flow}");
            next[flow] += 1;
        }
    }
    assert_eq!(next, [numbers.end; FLOWS as usize]);
}

#[test]
fn two_cpus_process_the_flows_of_a_gnb_each_in_order() {
    with_two_cpus(|| {
        let mut rig = open(XdpMode::Native);
        let host = rig.network.within(|| UdpSocket::bind((HOST, PORT)).expect("a port"));
        host.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        set_receive_buffer(&host, 16 << 20);
        pass_in_order(&mut rig, &host, 0..60);
        // With the program of a new queue, too.
        rig.datapath().renew(None).expect("new programs");
        pass_in_order(&mut rig, &host, 60..120);
        let packets = 120 * u64::from(FLOWS) + 1;
        let cpus = of_cpus(&mut rig);
        assert_eq!((cpus.len(), cpus.iter().sum::<u64>()), (2, packets), "{cpus:?}");
        assert!(cpus.iter().all(|of_cpu| *of_cpu > packets / 10), "{cpus:?}");
        let counters = rig.datapath().counters();
        assert_eq!(counters.uplink_packets.get(), packets);
        // Packets of the kernel, such as those of ARP, may be in flight.
        let are_equal = (0..1500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let (received, sent_or_dropped) = balance(&rig.datapath().counters(), 0);
            received == sent_or_dropped
        });
        assert!(are_equal, "{:?}", counters.named());
    });
}

#[test]
fn user_space_answers_packets_from_the_queue_of_a_cpu() {
    with_two_cpus(|| {
        let mut rig = open(XdpMode::Native);
        let before: u64 = of_cpus(&mut rig).iter().sum();
        let packet = udp_packet((UE, 9000), (HOST, 7000), b"unknown");
        rig.send_n3(&g_pdu(99, Some(9), &packet));
        let answer = rig.receive_n3().expect("an answer");
        assert_eq!(answer[1], 26, "an Error Indication: {answer:?}");
        assert_eq!(of_cpus(&mut rig).iter().sum::<u64>(), before + 1);
        // The CPU that receives an Echo Request passes it on.
        rig.send_n3(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
        let answer = rig.receive_n3().expect("an answer");
        assert_eq!(answer[1], 2, "an Echo Response: {answer:?}");
        assert_eq!(of_cpus(&mut rig).iter().sum::<u64>(), before + 1);
    });
}

#[test]
fn packets_from_the_queue_of_a_cpu_are_buffered_in_order() {
    with_two_cpus(|| {
        const PACKETS: u8 = 20;
        let mut rig = open(XdpMode::Native);
        let mut session = session(&*rig, 1, 7, UE);
        session.fars.get_mut(&1).expect("FAR 1").action = Action::Buffer { notify: false };
        rig.datapath().apply(&Change::to(&session)).expect("it buffers");
        for n in 0..PACKETS {
            rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7000), &[n])));
        }
        let are_buffered = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            rig.datapath().buffered(1).packets == usize::from(PACKETS)
        });
        assert!(are_buffered, "{} packets", rig.datapath().buffered(1).packets);
        session.fars.get_mut(&1).expect("FAR 1").action = Action::Forward;
        rig.datapath().apply(&Change::to(&session)).expect("it forwards");
        for n in 0..PACKETS {
            assert_eq!(rig.receive_n6(), Some(vec![n]));
        }
    });
}

#[test]
fn in_generic_mode_the_receiving_cpu_processes_packets() {
    with_two_cpus(|| {
        // The other ends of the veths accept no redirected frames.
        let mut rig = PeersRig::plain(&on_two_cpus(XdpMode::Auto), open_datapath);
        let session = session(&*rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let details = rig.datapath().details();
        assert!(details["interfaces"].to_string().contains("generic"), "{details}");
        assert!(details["uplinkCpus"].is_null(), "{details}");
        rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7000), b"first")));
        assert_eq!(rig.receive_n6().as_deref(), Some(&b"first"[..]));
    });
}

//! Buffered packets reach user space over AF_XDP or the ring buffer, and are sent unmodified and in
//! order.
mod common;

use common::{peers_rig, socket_rig};
use martlet_gtpu::Message;
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{DatapathChoice, N6Mode, XdpMode};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::{Rig, payload_of, session};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_rules::{Action, Session};
use martlet_upf_testing::in_namespace;
use martlet_upf_testing::peers::{HOST, N3, PeersRig, UE};
use std::net::UdpSocket;
use std::time::Duration;

fn config(mode: XdpMode, sockets: u32) -> UpfConfig {
    let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
    config.n3.address = (N3, 2152).into();
    config.n3.restoration_s = 0;
    config.n6.mode = N6Mode::Routing;
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
    (config.xdp.mode, config.xdp.sockets) = (mode, sockets);
    config.xdp.buffer_packets_per_session = 100_000;
    config
}

/// The UE's session, whose packets are buffered or forwarded.
fn change(rig: &mut PeersRig, waits: bool) -> Session {
    let mut session = session(&**rig, 1, 7, UE);
    for far in session.fars.values_mut().filter(|far| far.tunnel.is_some() && waits) {
        far.action = Action::Buffer { notify: true };
    }
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    session
}

/// The payload of the n-th packet: of varying length and distinct bytes.
fn payload(n: u32) -> Vec<u8> {
    let rest = (0..(n as usize * 37) % 1300).map(|at| (at as u32 ^ n) as u8);
    n.to_be_bytes().into_iter().chain(rest).collect()
}

/// Sends packets of a host to the UE at full rate, from a detached thread.
fn send(
    rig: &PeersRig,
    numbers: std::ops::Range<u32>,
    pause: Duration,
) -> std::thread::JoinHandle<()> {
    let socket = rig.network.within(|| UdpSocket::bind((HOST, 0)).expect("a port"));
    std::thread::spawn(move || {
        for n in numbers {
            socket.send_to(&payload(n), (UE, 9000)).expect("sent");
            if !pause.is_zero() && n % 16 == 0 {
                std::thread::sleep(pause);
            }
        }
    })
}

/// The next packet at the gNB.
fn receive(rig: &mut PeersRig) -> Option<Vec<u8>> {
    let bytes = rig.receive_n3()?;
    let Ok(Message::GPdu(pdu)) = martlet_gtpu::decode(&bytes) else { panic!("no G-PDU") };
    Some(payload_of(pdu.payload).expect("a UDP packet").to_vec())
}

/// A number of the datapath's socket status.
fn sockets(rig: &mut PeersRig, what: &str) -> u64 {
    rig.datapath().details()["tables"]["sockets"][what].as_u64().expect("a number")
}

fn waits(rig: &mut PeersRig, packets: usize) {
    let come = (0..3000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        rig.datapath().buffered(1).packets == packets
    });
    assert!(come, "{} buffered instead of {packets}", rig.datapath().buffered(1).packets);
}

/// Packets are buffered, continue to arrive during the release, and are all sent, byte for byte and
/// in order.
fn arrive_in_order(mode: XdpMode, room: u32, due: u64) {
    in_namespace(move || {
        let mut rig = peers_rig(config(mode, room));
        assert_eq!(sockets(&mut rig, "open"), due, "AF_XDP sockets");
        change(&mut rig, true);
        send(&rig, 0..200, Duration::from_millis(1)).join().expect("sent");
        waits(&mut rig, 200);
        let still = send(&rig, 200..400, Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(3));
        change(&mut rig, false);
        for n in 0..400 {
            assert_eq!(receive(&mut rig), Some(payload(n)), "the {n}-th");
        }
        still.join().expect("sent");
        assert_eq!(rig.datapath().buffered(1).packets, 0);
        // Buffering has ended: packets are forwarded directly.
        let counters = rig.datapath().counters();
        let buffered = counters.buffered_packets.get();
        assert!(buffered >= 200, "{buffered}");
        match (due, room) {
            (0, _) => assert_eq!(sockets(&mut rig, "frames"), 0),
            // On a busy machine the ring may be full before it is read.
            (_, 16) => assert!(sockets(&mut rig, "frames") >= 16),
            _ => assert_eq!(sockets(&mut rig, "frames"), buffered),
        }
        send(&rig, 400..410, Duration::ZERO).join().expect("sent");
        for n in 400..410 {
            assert_eq!(receive(&mut rig), Some(payload(n)), "the {n}-th");
        }
        assert_eq!(rig.datapath().counters().buffered_packets.get(), buffered);
        let dropped =
            |reason: &DropReason| (*reason, rig.datapath().counters().drops(*reason).get());
        let dropped: Vec<(DropReason, u64)> =
            DropReason::ALL.iter().map(dropped).filter(|(_, n)| *n > 0).collect();
        assert_eq!(dropped, []);
    });
}

#[test]
fn buffered_packets_arrive_over_af_xdp_in_native_mode() {
    arrive_in_order(XdpMode::Native, 512, 3);
}

#[test]
fn buffered_packets_arrive_over_af_xdp_in_generic_mode() {
    arrive_in_order(XdpMode::Generic, 512, 3);
}

#[test]
fn without_af_xdp_they_arrive_over_the_ring_buffer() {
    arrive_in_order(XdpMode::Native, 0, 0);
}

#[test]
fn packets_that_overflow_a_socket_use_the_ring_buffer_in_order() {
    arrive_in_order(XdpMode::Native, 16, 3);
}

#[test]
fn the_ring_buffer_is_used_if_another_socket_has_the_queue() {
    in_namespace(|| {
        // The rig creates the interfaces only later, so a socket at lo blocks the queue there.
        let index = nix::net::if_::if_nametoindex("lo").expect("lo");
        let held = martlet_upf_xdp::Receiver::open(index, 0, 16).expect("a socket");
        let mut config = martlet_upf_testing::rig::config();
        config.datapath = DatapathChoice::Xdp;
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
        let mut rig = socket_rig(config);
        // The socket at the link to the kernel exists all the same.
        assert_eq!(rig.datapath().details()["tables"]["sockets"]["open"], 1);
        let (_, check) =
            martlet_upf_datapath::conformance::checks::<martlet_upf_testing::rig::SocketRig>()
                .into_iter()
                .find(|(name, _)| *name == "packets are buffered and released in order")
                .expect("a check of buffering");
        check(&mut rig);
        drop(held);
    });
}

#[test]
fn losses_are_counted() {
    in_namespace(|| {
        let mut config = config(XdpMode::Native, 16);
        // A small queue, and a limit of buffered packets.
        (config.xdp.ring, config.xdp.buffer_packets) = (1 << 16, 1000);
        let mut rig = peers_rig(config);
        change(&mut rig, true);
        send(&rig, 0..3000, Duration::ZERO).join().expect("sent");
        let is_complete = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let waiting = rig.datapath().buffered(1).packets as u64;
            waiting + rig.datapath().counters().drops(DropReason::BufferFull).get()
                == received_by_programs(&mut rig)
        });
        let waiting = rig.datapath().buffered(1).packets as u64;
        let dropped = rig.datapath().counters().drops(DropReason::BufferFull).get();
        assert!(
            is_complete,
            "{waiting} buffered, {dropped} dropped, {} received",
            received_by_programs(&mut rig)
        );
        assert!(dropped > 0);
        change(&mut rig, false);
        let mut last = None;
        for n in 0..waiting {
            let packet = receive(&mut rig).unwrap_or_else(|| panic!("the {n}-th of {waiting}"));
            let number = u32::from_be_bytes(*packet.first_chunk().expect("a number"));
            assert_eq!(packet, payload(number));
            assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
            last = Some(number);
        }
    });
}

/// Packets that the programs have received. A link of the test may lose some before.
fn received_by_programs(rig: &mut PeersRig) -> u64 {
    let counters = rig.datapath().counters();
    counters.received_packets.get() - counters.passed_packets.get()
}

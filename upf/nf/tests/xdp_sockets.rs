//! Packets that wait come to user space over AF_XDP, or by the ring, and leave as they came, in
//! their order.
mod common;

use common::in_namespace;
use common::peers::{HOST, N3, PeersRig, UE};
use martlet_gtpu::Message;
use martlet_upf::UpfConfig;
use martlet_upf::config::{DatapathChoice, N6Mode, XdpMode};
use martlet_upf::conformance::{Rig, payload_of, session};
use martlet_upf::counters::DropReason;
use martlet_upf::datapath::Change;
use martlet_upf::rules::{Action, Session};
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

/// The session of the UE, whose packets wait, or leave.
fn change(rig: &mut PeersRig, waits: bool) -> Session {
    let mut session = session(&**rig, 1, 7, UE);
    for far in session.fars.values_mut().filter(|far| far.tunnel.is_some() && waits) {
        far.action = Action::Buffer { notify: true };
    }
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    session
}

/// What the n-th packet carries: of any length, and of bytes that tell it from others.
fn payload(n: u32) -> Vec<u8> {
    let rest = (0..(n as usize * 37) % 1300).map(|at| (at as u32 ^ n) as u8);
    n.to_be_bytes().into_iter().chain(rest).collect()
}

/// Sends packets of a host to the UE as fast as it goes, from a thread of its own that nobody waits
/// for.
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

/// A number that the datapath tells of its sockets.
fn sockets(rig: &mut PeersRig, what: &str) -> u64 {
    rig.datapath().details()["tables"]["sockets"][what].as_u64().expect("a number")
}

fn waits(rig: &mut PeersRig, packets: usize) {
    let come = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        rig.datapath().buffered(1).packets == packets
    });
    assert!(come, "{} wait, and not {packets}", rig.datapath().buffered(1).packets);
}

/// Packets wait, go on coming while they are let go, and arrive all, byte for byte and in their
/// order.
fn come_in_order(mode: XdpMode, room: u32, due: u64) {
    in_namespace(move || {
        let mut rig = PeersRig::new(config(mode, room));
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
        // None waits any more: packets pass without a detour.
        let counters = rig.datapath().counters();
        let buffered = counters.buffered_packets.get();
        assert!(buffered >= 200, "{buffered}");
        match (due, room) {
            (0, _) => assert_eq!(sockets(&mut rig, "frames"), 0),
            // On a busy machine nobody makes room before all have come.
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
fn packets_that_wait_come_over_af_xdp_in_native_mode() {
    come_in_order(XdpMode::Native, 512, 3);
}

#[test]
fn packets_that_wait_come_over_af_xdp_in_generic_mode() {
    come_in_order(XdpMode::Generic, 512, 3);
}

#[test]
fn without_af_xdp_they_come_by_the_ring() {
    come_in_order(XdpMode::Native, 0, 0);
}

#[test]
fn those_that_find_no_room_in_a_socket_come_by_the_ring_and_keep_their_place() {
    come_in_order(XdpMode::Native, 16, 3);
}

#[test]
fn where_another_socket_is_at_the_queue_the_ring_is_used() {
    in_namespace(|| {
        // The namespace's interfaces do not exist before the rig makes them: a socket at lo stands
        // in the way there.
        let index = nix::net::if_::if_nametoindex("lo").expect("lo");
        let held = martlet_upf_xdp::Receiver::open(index, 0, 16).expect("a socket");
        let mut config = common::rig::config();
        config.datapath = DatapathChoice::Xdp;
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
        let mut rig = common::rig::SocketRig::new(config);
        // The one at the link with the kernel is there all the same.
        assert_eq!(rig.datapath().details()["tables"]["sockets"]["open"], 1);
        let (_, check) = martlet_upf::conformance::checks::<common::rig::SocketRig>()
            .into_iter()
            .find(|(name, _)| *name == "packets wait and leave in order")
            .expect("a check of buffering");
        check(&mut rig);
        drop(held);
    });
}

#[test]
fn what_is_lost_is_counted() {
    in_namespace(|| {
        let mut config = config(XdpMode::Native, 16);
        // Little room on the way, and not for all at its end.
        (config.xdp.ring, config.xdp.buffer_packets) = (1 << 16, 1000);
        let mut rig = PeersRig::new(config);
        change(&mut rig, true);
        send(&rig, 0..3000, Duration::ZERO).join().expect("sent");
        let adds_up = (0..300).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let waiting = rig.datapath().buffered(1).packets as u64;
            waiting + rig.datapath().counters().drops(DropReason::BufferFull).get()
                == came(&mut rig)
        });
        let waiting = rig.datapath().buffered(1).packets as u64;
        let dropped = rig.datapath().counters().drops(DropReason::BufferFull).get();
        assert!(adds_up, "{waiting} wait, {dropped} were dropped, {} came", came(&mut rig));
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

/// Packets that programs have seen. A link of the test may lose some before.
fn came(rig: &mut PeersRig) -> u64 {
    let counters = rig.datapath().counters();
    counters.received_packets.get() - counters.passed_packets.get()
}

//! N3 and N9 over IPv6: packets after the programs, byte for byte (`BPF_PROG_TEST_RUN`), and those
//! that the socket sends.
mod common;

use common::bench::{Bench, GNB, HOST, UE, ethernet, ip4, udp4};
use martlet_upf_datapath::conformance::udp_packet;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_rules::*;
use martlet_upf_testing::{in_namespace, run};
use martlet_upf_xdp::Verdict;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const TEID: u32 = 0x0101_0101;
const UP: (Ipv4Addr, u16) = (UE, 9000);
const THERE: (Ipv4Addr, u16) = (HOST, 7000);
const N3: Ipv6Addr = Ipv6Addr::new(0xfd70, 0, 0, 0, 0, 0, 0, 1);
const GNB6: Ipv6Addr = Ipv6Addr::new(0xfd70, 0, 0, 0, 0, 0, 0, 2);

/// A datapath with both IP versions on N3, and the UE's session, whose gNB has IPv6.
fn each(test: impl FnOnce(Bench, Session) + Send + 'static) {
    in_namespace(|| {
        let mut bench = Bench::new(|config| {
            run("ip", &format!("-6 addr add {N3}/64 dev n3a nodad"));
            run(
                "ip",
                &format!("-6 neigh add {GNB6} lladdr 02:00:00:00:01:02 dev n3a nud permanent"),
            );
            config.n3.address6 = Some(N3);
        });
        let mut session = bench.session_of(1, TEID, UE);
        session.fars.get_mut(&2).unwrap().tunnel =
            Some(Tunnel { teid: 0xa0a0_a0a0, peer: GNB6.into() });
        bench.apply(&session);
        test(bench, session);
    });
}

fn aged(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] -= 1;
    ip4::set_checksum(&mut packet);
    packet
}

/// A G-PDU with a PDU session container of the uplink (1) or the downlink (0), QoS flow 9.
fn g_pdu(teid: u32, kind: u8, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x34, 255];
    bytes.extend((8 + packet.len() as u16).to_be_bytes());
    bytes.extend(teid.to_be_bytes());
    bytes.extend([0, 0, 0, 0x85, 1, kind << 4, 9, 0]);
    bytes.extend(packet);
    bytes
}

/// GTP-U over IPv6 with extension headers; UDP has no checksum.
fn outer(from: Ipv6Addr, to: Ipv6Addr, extensions: &[u8], gtp: &[u8]) -> Vec<u8> {
    let udp = 8 + gtp.len() as u16;
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((udp + 8 * extensions.len() as u16).to_be_bytes());
    packet.extend([*extensions.first().unwrap_or(&17), 64]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    for n in 0..extensions.len() {
        packet.extend([*extensions.get(n + 1).unwrap_or(&17), 0, 1, 4, 0, 0, 0, 0]);
    }
    packet.extend([0x08, 0x68, 0x08, 0x68]);
    packet.extend(udp.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(gtp);
    packet
}

fn from_gnb(bench: &Bench, packet: &[u8]) -> (Verdict, Vec<u8>) {
    bench.run_n3(&ethernet(bench.n3.own, bench.n3.peer, 0x86dd, packet))
}

#[test]
fn packets_are_forwarded_in_both_directions() {
    each(|bench, _| {
        let packet = udp_packet(UP, THERE, b"up");
        let due = (
            Verdict::Redirect(0),
            ethernet(bench.n6.peer, bench.n6.own, 0x0800, &aged(packet.clone())),
        );
        for extensions in [&[][..], &[60], &[0, 43, 60]] {
            let frame = outer(GNB6, N3, extensions, &g_pdu(TEID, 1, &packet));
            assert_eq!(from_gnb(&bench, &frame), due, "{extensions:?}");
        }
        // By the UE's IPv4 address, too.
        let frame = udp4((GNB, 2152), (bench.n3(), 2152), &g_pdu(TEID, 1, &packet));
        assert_eq!(bench.run_n3(&ethernet(bench.n3.own, bench.n3.peer, 0x0800, &frame)), due);

        let packet = udp_packet(THERE, UP, b"down");
        let due = outer(N3, GNB6, &[], &g_pdu(0xa0a0_a0a0, 0, &aged(packet.clone())));
        let due = (Verdict::Redirect(0), ethernet(bench.n3.peer, bench.n3.own, 0x86dd, &due));
        assert_eq!(bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet)), due);
        // Ethernet padding is not encapsulated.
        let padded = [ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet), vec![0; 9]].concat();
        assert_eq!(bench.run_n6(&padded), due);
    });
}

#[test]
fn packets_are_forwarded_between_ip_versions() {
    each(|mut bench, mut session| {
        // An intermediate UPF, whose anchor has IPv4 and whose gNB IPv6.
        let far = session.fars.get_mut(&1).unwrap();
        far.tunnel = Some(Tunnel { teid: 0xbbbb, peer: GNB.into() });
        let local = session.pdrs[&1].local.map(|local| LocalTunnel { teid: 0x0202, ..local });
        let down = session.pdrs.get_mut(&2).unwrap();
        (down.local, down.ue) = (local, vec![]);
        bench.apply(&session);
        let packet = udp_packet(UP, THERE, b"up");
        let due = udp4((bench.n3(), 2152), (GNB, 2152), &g_pdu(0xbbbb, 1, &packet));
        let due = (Verdict::Redirect(0), ethernet(bench.n3.peer, bench.n3.own, 0x0800, &due));
        assert_eq!(from_gnb(&bench, &outer(GNB6, N3, &[], &g_pdu(TEID, 1, &packet))), due);
        let packet = udp_packet(THERE, UP, b"down");
        let frame = udp4((GNB, 2152), (bench.n3(), 2152), &g_pdu(0x0202, 0, &packet));
        let due = outer(N3, GNB6, &[], &g_pdu(0xa0a0_a0a0, 0, &packet));
        let due = (Verdict::Redirect(0), ethernet(bench.n3.peer, bench.n3.own, 0x86dd, &due));
        assert_eq!(bench.run_n3(&ethernet(bench.n3.own, bench.n3.peer, 0x0800, &frame)), due);
    });
}

#[test]
fn foreign_and_malformed_packets_are_not_forwarded() {
    each(|bench, _| {
        let packet = udp_packet(UP, THERE, b"up");
        let whole = outer(GNB6, N3, &[], &g_pdu(TEID, 1, &packet));
        let passes = |packet: &[u8]| {
            let frame = ethernet(bench.n3.own, bench.n3.peer, 0x86dd, packet);
            assert_eq!(bench.run_n3(&frame), (Verdict::Pass, frame), "{packet:02x?}");
        };
        // Fragments, which the kernel reassembles; another protocol than UDP; another port; another
        // address; signalling.
        passes(&outer(GNB6, N3, &[44], &g_pdu(TEID, 1, &packet)));
        let mut other = whole.clone();
        other[6] = 6;
        passes(&other);
        other = whole.clone();
        other[43] = 0x69;
        passes(&other);
        passes(&outer(GNB6, Ipv6Addr::LOCALHOST, &[], &g_pdu(TEID, 1, &packet)));
        let mut echo = g_pdu(0, 1, &[]);
        echo[1] = 1;
        passes(&outer(GNB6, N3, &[], &echo));
        // An endless chain of headers, and one that exceeds the frame.
        passes(&outer(GNB6, N3, &[60; 12], &g_pdu(TEID, 1, &packet)));
        other = outer(GNB6, N3, &[60], &[]);
        other[41] = 40;
        passes(&other);
        let cut = from_gnb(&bench, &whole[..whole.len() - 5]);
        assert_eq!((cut.0, bench.drops(DropReason::Malformed)), (Verdict::Drop, 1));
    });
}

/// The socket sends packets to a gNB whose link address is unresolved, and packets above the link's
/// MTU, which the kernel fragments.
#[test]
fn the_socket_sends_what_the_programs_cannot() {
    in_namespace(|| {
        let name = format!("martlet-gnb6-{}", std::process::id());
        run("ip", &format!("netns add {name}"));
        let removed = scopeguard(&name);
        let mut bench = Bench::new(|config| {
            run("ip", &format!("link set n3b netns {name}"));
            run("ip", &format!("-n {name} link set n3b up mtu 1280"));
            run("ip", "link set n3a mtu 1280");
            run("ip", &format!("-n {name} -6 addr add {GNB6}/64 dev n3b nodad"));
            run("ip", &format!("-6 addr add {N3}/64 dev n3a nodad"));
            config.n3.address6 = Some(N3);
        });
        let mut session = bench.session_of(1, TEID, UE);
        session.fars.get_mut(&2).unwrap().tunnel =
            Some(Tunnel { teid: 0xa0a0_a0a0, peer: GNB6.into() });
        bench.apply(&session);
        let path = format!("/run/netns/{name}");
        let gnb = std::thread::spawn(move || {
            let namespace = std::fs::File::open(path).expect("the namespace");
            nix::sched::setns(namespace, nix::sched::CloneFlags::CLONE_NEWNET)
                .expect("the gNB's namespace");
            UdpSocket::bind(SocketAddr::from((GNB6, 2152))).expect("the gNB's socket")
        });
        let gnb = gnb.join().expect("the gNB");
        gnb.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        let mut buffer = [0; 4096];
        for length in [4, 1300] {
            let packet = udp_packet(THERE, UP, &vec![7; length]);
            let (verdict, _) =
                bench.run_n6(&ethernet(bench.n6.own, bench.n6.peer, 0x0800, &packet));
            assert_eq!(verdict, Verdict::Drop, "the socket sends it");
            let (bytes, from) = gnb.recv_from(&mut buffer).expect("a packet");
            assert_eq!(from, SocketAddr::from((N3, 2152)));
            assert_eq!(buffer[..bytes], g_pdu(0xa0a0_a0a0, 0, &aged(packet))[..]);
        }
        assert_eq!(bench.drops(DropReason::N3), 0);
        drop(bench);
        drop(removed);
    });
}

/// Removes the namespace on drop.
fn scopeguard(name: &str) -> impl Drop + use<> {
    struct Removed(String);
    impl Drop for Removed {
        fn drop(&mut self) {
            let _ = std::process::Command::new("ip").args(["netns", "del", &self.0]).status();
        }
    }
    Removed(name.into())
}

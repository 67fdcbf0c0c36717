//! Capture of N6 packets to a file: unmodified, within the requested limits, with counted losses.
mod common;

use common::bench::ip4::set_checksum;
use common::peers_rig;
use martlet_gtpu::Message;
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{DatapathChoice, N6Mode};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::{Rig, g_pdu, session, udp_packet};
use martlet_upf_datapath::telemetry::{CaptureRequest, CaptureStatus};
use martlet_upf_testing::in_namespace;
use martlet_upf_testing::peers::{HOST, N3, PeersRig, UE};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PUBLIC: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 50);

fn rig(translated: bool) -> PeersRig {
    let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
    config.n3.address = (N3, 2152).into();
    config.n6.mode = N6Mode::Routing;
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
    if translated {
        config.n6.mode = N6Mode::Nat;
        config.xdp.nat.addresses = vec![PUBLIC];
    }
    let mut rig = peers_rig(config);
    let session = session(&*rig, 1, 7, UE);
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    rig
}

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("martlet-capture-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const REQUEST: CaptureRequest =
    CaptureRequest { snap: 2048, packets: 1000, bytes: 1 << 20, time: Duration::from_secs(60) };

fn ended(rig: &mut PeersRig, end: bool) -> CaptureStatus {
    rig.datapath().capture(end);
    for _ in 0..3000 {
        let status = rig.datapath().capture(false).expect("a capture");
        if status.ended.is_some() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the capture has not ended");
}

/// Time, original length and bytes of each packet in a capture file.
fn read(status: &CaptureStatus) -> Vec<(Duration, u32, Vec<u8>)> {
    let bytes = std::fs::read(&status.path).expect("the file");
    assert_eq!(bytes.len() as u64, status.bytes);
    let (mut rest, mut all) = (&bytes[24..], Vec::new());
    while let Some((head, more)) = rest.split_at_checked(16) {
        let word =
            |n: usize| u32::from_le_bytes(head[4 * n..4 * n + 4].try_into().expect("4 bytes"));
        let (packet, more) = more.split_at(word(2) as usize);
        all.push((Duration::new(word(0).into(), word(1)), word(3), packet.to_vec()));
        rest = more;
    }
    assert_eq!(all.len() as u64, status.packets);
    all
}

/// The packet as it was in the tunnel, before forwarding decremented its TTL.
fn younger(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] += 1;
    set_checksum(&mut packet);
    packet
}

fn in_tunnel(bytes: &[u8]) -> Vec<u8> {
    let Ok(Message::GPdu(pdu)) = martlet_gtpu::decode(bytes) else { panic!("no G-PDU") };
    pdu.payload.to_vec()
}

#[test]
fn packets_are_captured_as_on_n6() {
    in_namespace(|| {
        let (mut rig, folder) = (rig(false), Folder::new("routed"));
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
        let sent = udp_packet((UE, 9000), (HOST, 7000), &[b'a'; 700]);
        rig.send_n3(&g_pdu(7, Some(1), &sent));
        assert!(rig.receive_n6().is_some());
        let begun = rig.datapath().begin_capture(&folder.0, REQUEST).expect("a capture");
        assert!(begun.ended.is_none());
        let error = rig.datapath().begin_capture(&folder.0, REQUEST).expect_err("one at a time");
        assert!(error.to_string().contains("--stop"), "{error}");
        let mut due = Vec::new();
        for n in 0..20u8 {
            let length = 1 + usize::from(n) * 68;
            let mut sent = udp_packet((UE, 9000), (HOST, 7000), &vec![n; length]);
            rig.send_n3(&g_pdu(7, Some(1), &sent));
            assert_eq!(rig.receive_n6(), Some(vec![n; length]));
            sent[8] -= 1;
            set_checksum(&mut sent);
            due.push(sent);
            rig.send_n6(7001, &vec![!n; length]);
            due.push(younger(in_tunnel(&rig.receive_n3().expect("the packet for the UE"))));
        }
        // A packet with a foreign source address is dropped before N6.
        rig.send_n3(&g_pdu(
            7,
            Some(1),
            &udp_packet(([10, 45, 0, 9].into(), 9000), (HOST, 7000), b"foreign"),
        ));
        let status = ended(&mut rig, true);
        assert_eq!((status.packets, status.dropped), (40, 0), "{status:?}");
        let captured = read(&status);
        let after = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
        for ((time, length, packet), due) in captured.iter().zip(&due) {
            assert_eq!((packet, *length as usize), (due, due.len()));
            assert!((before..=after).contains(time), "{before:?} {time:?} {after:?}");
        }
        assert!(captured.is_sorted_by_key(|(time, ..)| *time));
        // The capture has ended; a new one starts empty.
        rig.send_n6(7001, b"later");
        assert!(rig.receive_n3().is_some());
        rig.datapath().begin_capture(&folder.0, REQUEST).expect("a second one");
        assert_eq!(ended(&mut rig, true).packets, 0);
    });
}

#[test]
fn translated_packets_are_captured_with_their_public_address() {
    in_namespace(|| {
        let (mut rig, folder) = (rig(true), Folder::new("translated"));
        let host = rig.network.within(|| UdpSocket::bind((HOST, 7005)).expect("a port"));
        host.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        rig.datapath().begin_capture(&folder.0, REQUEST).expect("a capture");
        let mut buffer = [0; 2048];
        for n in 0..3u8 {
            rig.send_n3(&g_pdu(7, Some(1), &udp_packet((UE, 9000), (HOST, 7005), &[n; 100])));
            let (_, from) = host.recv_from(&mut buffer).expect("the packet of the UE");
            host.send_to(&[n; 50], from).expect("sent");
            assert!(rig.receive_n3().is_some());
        }
        let captured = read(&ended(&mut rig, true));
        let sides: Vec<(&[u8], &[u8])> =
            captured.iter().map(|(.., packet)| (&packet[12..16], &packet[16..20])).collect();
        let (up, down) = (
            (&PUBLIC.octets()[..], &HOST.octets()[..]),
            (&HOST.octets()[..], &PUBLIC.octets()[..]),
        );
        // The first packet is forwarded by the kernel, which resolves the host's link address.
        assert_eq!(sides, [up, down, up, down, up, down]);
    });
}

#[test]
fn a_capture_keeps_its_limits() {
    in_namespace(|| {
        let (mut rig, folder) = (rig(false), Folder::new("bounds"));
        let send = |rig: &mut PeersRig, n: u8| {
            rig.send_n6(7001, &[n; 500]);
            assert!(rig.receive_n3().is_some());
        };
        rig.datapath()
            .begin_capture(&folder.0, CaptureRequest { packets: 3, snap: 60, ..REQUEST })
            .expect("a capture");
        (0..5).for_each(|n| send(&mut rig, n));
        let status = ended(&mut rig, false);
        let cut: Vec<(u32, usize)> =
            read(&status).iter().map(|(_, length, packet)| (*length, packet.len())).collect();
        assert_eq!(cut, [(528, 60); 3]);
        rig.datapath()
            .begin_capture(&folder.0, CaptureRequest { bytes: 24 + 2 * 544, ..REQUEST })
            .expect("a capture");
        (0..5).for_each(|n| send(&mut rig, n));
        assert_eq!(read(&ended(&mut rig, false)).len(), 2);
        let short = CaptureRequest { time: Duration::from_millis(1), ..REQUEST };
        rig.datapath().begin_capture(&folder.0, short).expect("a capture");
        assert!(ended(&mut rig, false).ended.is_some_and(|why| why.contains("time")));
        let nowhere = rig
            .datapath()
            .begin_capture(&folder.0.join("none"), REQUEST)
            .expect_err("no such folder");
        assert!(nowhere.to_string().contains("none"), "{nowhere}");
    });
}

/// At a rate that exceeds the ring, written and dropped packets add up to those forwarded.
#[test]
fn packets_lost_by_the_capture_are_counted() {
    in_namespace(|| {
        let (mut rig, folder) = (rig(false), Folder::new("speed"));
        let request = CaptureRequest { packets: 1 << 30, bytes: 1 << 30, ..REQUEST };
        rig.datapath().begin_capture(&folder.0, request).expect("a capture");
        let socket = rig.network.within(|| UdpSocket::bind((HOST, 7005)).expect("a port"));
        for n in 0..20_000u32 {
            socket.send_to(&n.to_be_bytes().repeat(200), (UE, 9000)).expect("sent");
        }
        std::thread::sleep(Duration::from_millis(50));
        let forwarded = rig.datapath().counters().downlink_packets.get();
        let status = ended(&mut rig, true);
        assert!(forwarded > 1000, "{forwarded}");
        assert_eq!(status.packets + status.dropped, forwarded, "{status:?}");
        let numbers: Vec<u32> = read(&status)
            .iter()
            .map(|(.., packet)| u32::from_be_bytes(packet[28..32].try_into().expect("4 bytes")))
            .collect();
        assert!(numbers.is_sorted());
        eprintln!("{} written and {} dropped of {forwarded}", status.packets, status.dropped);
    });
}

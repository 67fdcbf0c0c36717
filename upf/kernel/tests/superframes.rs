//! Superframes between the TUN device and N3: rules and counts see the packets in them.
use martlet_upf_config::{Offload, UpfConfig};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::{Rig, g_pdu, session, udp_packet};
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_rules::{Action, Session};
use martlet_upf_testing::rig::{SocketRig, TIMEOUT, UE, boxed, config};
use martlet_upf_testing::{REMOTE, in_namespace};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Length of the GTP-U header with the container.
const GTPU: usize = 16;

fn rig(offload: Offload) -> (SocketRig, Session) {
    let mut config: UpfConfig = config();
    config.kernel.offload = offload;
    let mut rig = SocketRig::new(&config, |config| KernelDatapath::open(config).map(boxed));
    let session = session(&rig, 1, 7, UE);
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    (rig, session)
}

/// Packets that the kernel has passed to the UPF.
fn handed_over() -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/net/dev").expect("the interfaces");
    let line = all.lines().find_map(|line| line.trim().strip_prefix("martlet-n6:"));
    let sent = line.and_then(|line| line.split_whitespace().nth(9)).expect("the device");
    sent.parse().expect("a number")
}

/// Sends datagrams of one length as one: the kernel passes them to the device as a superframe.
fn send_together(rig: &SocketRig, payload: &[u8], length: u16) {
    let size = libc::c_int::from(length);
    // SAFETY: the pointer is to an integer of the given length that outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            rig.hosts[0].as_raw_fd(),
            libc::SOL_UDP,
            103,
            (&raw const size).cast(),
            size_of_val(&size) as libc::socklen_t,
        )
    };
    assert_eq!(outcome, 0, "UDP_SEGMENT");
    rig.hosts[0].send_to(payload, (UE, 9000)).expect("sent");
}

/// The sum of an Internet checksum; 0xffff if a packet is intact.
fn sum(parts: &[&[u8]]) -> u32 {
    let mut total = 0;
    for part in parts {
        for pair in part.chunks(2) {
            total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total
}

fn assert_intact(packet: &[u8]) {
    assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
    assert_eq!(sum(&[&packet[..20]]), 0xffff, "header checksum");
    let transport = &packet[20..];
    let length = (transport.len() as u16).to_be_bytes();
    let whole = sum(&[&packet[12..20], &[0, packet[9]], &length, transport]);
    assert_eq!(whole, 0xffff, "checksum of protocol {}", packet[9]);
}

fn payload(count: usize, length: usize) -> Vec<u8> {
    (0..count).flat_map(|n| vec![n as u8; length]).collect()
}

#[test]
fn datagrams_of_a_superframe_are_counted_and_leave_one_by_one() {
    for offload in [Offload::Auto, Offload::Off] {
        in_namespace(move || {
            let (mut rig, _) = rig(offload);
            let before = handed_over();
            // The last one is shorter.
            send_together(&rig, &payload(10, 500)[..4_700], 500);
            for n in 0..10u8 {
                let packet = rig.receive_n3().expect("a packet");
                let inner = &packet[GTPU..];
                assert_intact(inner);
                let length = if n == 9 { 200 } else { 500 };
                assert_eq!(inner[28..], vec![n; length], "packet {n}");
            }
            // The kernel may have sent packets of its own to the device (IPv6 multicast reports).
            let handed = handed_over() - before;
            assert_eq!(handed < 5, offload == Offload::Auto, "{handed} packets at {offload:?}");
            let counters = rig.datapath().counters();
            assert_eq!(counters.downlink_packets.get(), 10);
            assert_eq!(rig.datapath().forwarded(1)[1], 4_700 + 280);
        });
    }
}

#[test]
fn packets_of_a_superframe_are_buffered_one_by_one() {
    in_namespace(|| {
        let (mut rig, mut session) = rig(Offload::Auto);
        session.fars.get_mut(&2).expect("FAR 2").action = Action::Buffer { notify: true };
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        send_together(&rig, &payload(6, 300), 300);
        let give_up = Instant::now() + TIMEOUT;
        while rig.datapath().buffered(1).packets < 6 && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(rig.datapath().buffered(1).packets, 6);
        assert!(rig.event().is_some(), "the UE is paged");
        assert_eq!(rig.datapath().forwarded(1)[1], 0, "nothing is counted yet");
        session.fars.get_mut(&2).expect("FAR 2").action = Action::Forward;
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        for n in 0..6u8 {
            let packet = rig.receive_n3().expect("a packet");
            assert_intact(&packet[GTPU..]);
            assert_eq!(packet[GTPU + 28..], [n; 300], "packet {n}");
        }
        assert_eq!(rig.datapath().forwarded(1)[1], 6 * 328);
    });
}

#[test]
fn datagrams_of_a_burst_reach_the_data_network_in_order() {
    in_namespace(|| {
        let (mut rig, _) = rig(Offload::Auto);
        for n in 0..50u8 {
            let packet = udp_packet((UE, 9000), (REMOTE, 7000), &[n; 200]);
            rig.send_n3(&g_pdu(7, Some(1), &packet));
        }
        for n in 0..50u8 {
            assert_eq!(rig.receive_n6(), Some(vec![n; 200]), "packet {n}");
        }
        assert_eq!(rig.datapath().forwarded(1)[0], 50 * 228);
    });
}

/// A TCP packet of the UE.
fn tcp(sequence: u32, acknowledged: u32, flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = udp_packet((UE, 9000), (REMOTE, 8000), &[0; 12]);
    packet.extend(rest);
    let is_syn = flags & 2 != 0;
    let header = if is_syn { 0x60 } else { 0x50 };
    packet[24..28].copy_from_slice(&sequence.to_be_bytes());
    packet[28..32].copy_from_slice(&acknowledged.to_be_bytes());
    packet[32..40].copy_from_slice(&[header, flags, 0xff, 0xff, 0, 0, 0, 0]);
    let total = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&total);
    packet[9] = 6;
    packet[10..12].fill(0);
    let checksum = !(sum(&[&packet[..20]]) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    let length = ((packet.len() - 20) as u16).to_be_bytes();
    let checksum = !(sum(&[&packet[12..20], &[0, 6], &length, &packet[20..]]) as u16);
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[test]
fn a_tcp_transfer_is_split_to_the_mtu_with_right_checksums() {
    for offload in [Offload::Auto, Offload::Off] {
        in_namespace(move || {
            const SIZE: usize = 60_000;
            let (mut rig, _) = rig(offload);
            let server = TcpListener::bind((REMOTE, 8000)).expect("the server's port");
            let sent: Vec<u8> = (0..SIZE).map(|n| (n * 7 % 251) as u8).collect();
            let to_send = sent.clone();
            let serve = std::thread::spawn(move || {
                let (mut stream, _) = server.accept().expect("a connection");
                stream.write_all(&to_send).expect("the data");
                let mut request = [0; 5];
                stream.read_exact(&mut request).expect("the data of the UE");
                assert_eq!(&request, b"hello");
            });
            let send = |rig: &mut SocketRig, packet: Vec<u8>| {
                rig.send_n3(&g_pdu(7, Some(1), &packet));
            };
            // A SYN whose option says that packets have 1,360 bytes of payload.
            send(&mut rig, tcp(99, 0, 0x02, &[2, 4, 0x05, 0x50]));
            let answer = rig.receive_n3().expect("SYN and ACK");
            let number = |packet: &[u8]| u32::from_be_bytes(packet[24..28].try_into().unwrap());
            let first = number(&answer[GTPU..]).wrapping_add(1);
            // The server sends as soon as it has the ACK.
            let before = handed_over();
            send(&mut rig, tcp(100, first, 0x10, &[]));
            let (mut received, mut packets) = (Vec::new(), 0);
            while received.len() < SIZE {
                let datagram = rig.receive_n3().expect("a packet");
                let packet = &datagram[GTPU..];
                assert!(packet.len() <= 1400, "{} bytes exceed the MTU", packet.len());
                assert_intact(packet);
                let payload = &packet[20 + usize::from(packet[32] >> 4) * 4..];
                let at = number(packet).wrapping_sub(first) as usize;
                packets += 1;
                if at == received.len() {
                    received.extend_from_slice(payload);
                }
                let acknowledged = first.wrapping_add(received.len() as u32);
                send(&mut rig, tcp(100, acknowledged, 0x10, &[]));
            }
            assert!(received == sent, "the data differ");
            let handed = handed_over() - before;
            match offload {
                Offload::Auto => assert!(handed < packets, "{handed} of {packets}"),
                Offload::Off => assert!(handed >= packets, "{handed} of {packets}"),
            }
            let acknowledged = first.wrapping_add(SIZE as u32);
            send(&mut rig, tcp(100, acknowledged, 0x18, b"hello"));
            serve.join().expect("the server");
        });
    }
}

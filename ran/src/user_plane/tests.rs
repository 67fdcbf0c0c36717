//! The user plane with a minimal UPF on loopback, and with kernel interfaces where privileges
//! allow.
use super::*;
use crate::ue::tests::network::config;
use crate::ue::{PduSession, Slice};
use bytes::Bytes;
use martlet_ngap::transfer::GtpTunnel;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const PORT: u16 = 2152;

struct Upf(UdpSocket);

impl Upf {
    fn new(address: [u8; 4]) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::from(address), PORT)).expect("a loopback address");
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Upf(socket)
    }

    fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let (length, _) = self.0.recv_from(&mut buffer).expect("a datagram in time");
        buffer[..length].to_vec()
    }

    fn send(&self, gnb: [u8; 4], bytes: &[u8]) {
        self.0.send_to(bytes, (Ipv4Addr::from(gnb), PORT)).unwrap();
    }
}

fn g_pdu(teid: u32, packet: &[u8]) -> Vec<u8> {
    let mut message = vec![0x30, 0xff];
    message.extend_from_slice(&u16::try_from(packet.len()).unwrap().to_be_bytes());
    message.extend_from_slice(&teid.to_be_bytes());
    message.extend_from_slice(packet);
    message
}

/// A G-PDU with a PDU session container.
fn g_pdu_of_flow(teid: u32, qfi: u8) -> Vec<u8> {
    let mut message = vec![0x34, 0xff, 0, 9];
    message.extend_from_slice(&teid.to_be_bytes());
    message.extend_from_slice(&[0, 0, 0, 0x85, 1, 0, qfi, 0, 0x45]);
    message
}

type Packets = mpsc::Receiver<(u8, Bytes)>;

fn port(user_plane: &UserPlane) -> (Port, Packets, mpsc::Receiver<u8>) {
    let (downlink, packets) = mpsc::channel(16);
    let (reports, reported) = mpsc::channel(128);
    let uplink_waiting = Box::new(move |psi| {
        let _ = reports.try_send(psi);
    });
    (user_plane.open(5, downlink, uplink_waiting), packets, reported)
}

fn tunnel(upf: [u8; 4], teid: u32) -> Tunnel {
    Tunnel::new(GtpTunnel::new(IpAddr::from(upf), teid), &[9])
}

#[tokio::test]
async fn a_packet_during_tunnel_setup_is_sent_without_waiting_for_the_next_tunnel() {
    let (gnb, upf) = ([127, 77, 1, 21], [127, 77, 1, 22]);
    let user_plane = UserPlane::start((Ipv4Addr::from(gnb), PORT).into()).unwrap();
    let server = Upf::new(upf);
    let (port, ..) = port(&user_plane);
    // The sender has seen no tunnel, then the tunnel opens.
    let late = port.with_queue_locked(|port| {
        let state = port.state.clone();
        let late = std::thread::spawn(move || {
            matches!(state.uplink(b"late"), super::port_state::Uplink::Send(..))
        });
        std::thread::sleep(Duration::from_millis(100));
        port.set_tunnel_only(tunnel(upf, 7));
        late
    });
    assert!(late.join().unwrap(), "the packet was queued although there is a tunnel");
    // Queued packets are sent before later ones.
    let (port, ..) = self::port(&user_plane);
    port.send(b"one").unwrap();
    port.send(b"two").unwrap();
    port.activate(tunnel(upf, 8));
    port.send(b"three").unwrap();
    for due in ["one", "two", "three"] {
        assert!(server.receive().ends_with(due.as_bytes()), "{due}");
    }
}

#[tokio::test]
async fn packets_are_queued_until_the_tunnel_is_open() {
    let (gnb, upf) = ([127, 77, 1, 1], [127, 77, 1, 2]);
    let user_plane = UserPlane::start((Ipv4Addr::from(gnb), PORT).into()).unwrap();
    let peer = Upf::new(upf);
    let (port, mut packets, mut network) = port(&user_plane);

    // Without a tunnel the packet is queued and reported.
    port.send(&[0x45, 1]).unwrap();
    assert!(matches!(network.try_recv(), Ok(5)));
    let teid = port.activate(tunnel(upf, 0xabcd));
    let waited = peer.receive();
    assert_eq!(
        waited,
        [0x34, 0xff, 0, 10, 0, 0, 0xab, 0xcd, 0, 0, 0, 0x85, 1, 0x10, 9, 0, 0x45, 1]
    );

    peer.send(gnb, &g_pdu(teid, &[0x45, 2, 3]));
    let (psi, packet) =
        tokio::time::timeout(Duration::from_secs(30), packets.recv()).await.unwrap().unwrap();
    assert_eq!((psi, &packet[..]), (5, &[0x45, 2, 3][..]));

    // The queue is bounded.
    port.deactivate();
    for _ in 0..64 {
        port.send(&[0x45]).unwrap();
    }
    assert!(port.send(&[0x45]).is_err());
    assert_eq!(port.counts().1, 1);
}

#[tokio::test]
async fn downlink_packets_over_the_air_interface_arrive_later_and_in_order() {
    let (gnb, upf) = ([127, 77, 5, 1], [127, 77, 5, 2]);
    let radio = RadioConfig { processing_us: 15_000, repeated: 0.0, ..RadioConfig::default() };
    let user_plane =
        UserPlane::start_with((Ipv4Addr::from(gnb), PORT).into(), Some(&radio)).unwrap();
    let peer = Upf::new(upf);
    let (port, mut packets, _network) = port(&user_plane);
    let teid = port.activate(tunnel(upf, 1));
    let start = Instant::now();
    (0..10).for_each(|n| peer.send(gnb, &g_pdu(teid, &[0x45, n])));
    for n in 0..10 {
        let (_, packet) =
            tokio::time::timeout(Duration::from_secs(30), packets.recv()).await.unwrap().unwrap();
        assert_eq!(&packet[..], &[0x45, n]);
    }
    // Before the slot and after it.
    assert!(start.elapsed() >= Duration::from_millis(30), "{:?}", start.elapsed());
    // The counters show whether packets were late.
    let counters = user_plane.counters();
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(of(&counters.air_packets), 10);
    assert_eq!(
        of(&counters.air_packets_late) > 0,
        of(&counters.air_max_delay_us) >= LATE.as_micros() as u64
    );
}

#[tokio::test]
async fn echo_requests_unknown_teids_and_end_markers_are_handled() {
    let (gnb, upf) = ([127, 77, 2, 1], [127, 77, 2, 2]);
    let user_plane = UserPlane::start((Ipv4Addr::from(gnb), PORT).into()).unwrap();
    let peer = Upf::new(upf);
    let (port, _packets, _network) = port(&user_plane);
    let teid = port.activate(tunnel(upf, 1));

    peer.send(gnb, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0]);
    assert_eq!(peer.receive(), [0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 0]);

    peer.send(gnb, &g_pdu(teid + 1, &[0x45]));
    let indication = peer.receive();
    assert_eq!((indication[1], &indication[12..17]), (26, &[16, 0, 0, 0, 2][..]));
    assert_eq!(user_plane.counters().unknown_teid.load(Ordering::Relaxed), 1);

    peer.send(gnb, &[0x30, 254, 0, 0, 0, 0, 0, 1]);
    peer.send(gnb, &[0xff; 3]);
    peer.send(
        gnb,
        &[0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1, 133, 0, 4, 127, 77, 2, 2],
    );
    // The thread handles them in order: an echo after them is answered when they are counted.
    peer.send(gnb, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
    peer.receive();
    assert_eq!(port.counts().0, 1);
    assert_eq!(user_plane.counters().malformed.load(Ordering::Relaxed), 1);
    assert_eq!(user_plane.counters().error_indications.load(Ordering::Relaxed), 1);

    // Packets of QoS flows that the session does not have are counted: with QFI 9 and 10, and
    // after a modification.
    let counted = || user_plane.counters().unknown_qfi.load(Ordering::Relaxed);
    for (qfis, due) in [(&[9][..], 1), (&[9, 10][..], 1), (&[10, 63][..], 2)] {
        port.retarget(Tunnel::new(tunnel(upf, 1).uplink, qfis));
        peer.send(gnb, &g_pdu_of_flow(teid, 9));
        peer.send(gnb, &g_pdu_of_flow(teid, 10));
        peer.send(gnb, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
        peer.receive();
        assert_eq!(counted(), due, "{qfis:?}");
    }

    // The TEID is released with its tunnel.
    port.deactivate();
    peer.send(gnb, &g_pdu(teid, &[0x45]));
    assert_eq!(peer.receive()[1], 26);
}

fn session() -> PduSession {
    PduSession {
        kind: martlet_nas::PduSessionTypeValue::Ipv4,
        ssc_mode: 1,
        psi: 1,
        dnn: None,
        slice: Some(Slice { sst: 1, sd: None }),
        ipv4: Some([10, 77, 0, 2].into()),
        ipv6_interface_id: None,
        dns: vec![[8, 8, 4, 4].into()],
        mtu: Some(1358),
        ambr_kbps: None,
        default_qfi: Some(9),
        flows: Vec::new(),
        rules: Vec::new(),
        always_on: false,
        cause: None,
    }
}

/// The privilege that is missing to create namespaces and interfaces, if any.
pub(crate) fn missing_right() -> Option<String> {
    static PROBES: AtomicU32 = AtomicU32::new(0);
    let name =
        format!("martlet-probe-{}-{}", std::process::id(), PROBES.fetch_add(1, Ordering::Relaxed));
    let made = Namespace::open(&name, false).and_then(|namespace| {
        namespace.run(|| tun_rs::DeviceBuilder::new().name("probe0").build_sync().map(drop))
    });
    made.err().map(|error| {
        format!("namespaces and TUN devices cannot be made here (root is needed): {error}")
    })
}

#[tokio::test]
async fn ping_works_through_an_interface_and_the_namespace_is_removed() {
    if let Some(reason) = missing_right() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    let (gnb, upf) = ([127, 77, 3, 1], [127, 77, 3, 2]);
    let user_plane = UserPlane::start((Ipv4Addr::from(gnb), PORT).into()).unwrap();
    let peer = Upf::new(upf);
    let (port, _packets, _network) = port(&user_plane);
    let teid = port.activate(tunnel(upf, 7));
    let name = format!("martlet-test-{}", std::process::id());
    let path = Path::new("/run/netns").join(&name);
    let mut interface = Interface::new(&config(), Netns::Named(name.clone()));
    interface.open(&port, &session()).await.unwrap();
    assert_eq!(interface.netns(), Some(name.as_str()));
    assert!(path.exists());

    // The UPF answers ICMP echo requests by itself.
    let answering = std::thread::spawn(move || {
        let mut answered = 0;
        let deadline = Instant::now() + Duration::from_secs(10);
        while answered < 3 && Instant::now() < deadline {
            let message = peer.receive();
            let mut packet = message[16..].to_vec();
            if packet.len() < 28 || packet[9] != 1 || packet[20] != 8 {
                continue;
            }
            let (source, destination) = (packet[12..16].to_vec(), packet[16..20].to_vec());
            packet[12..16].copy_from_slice(&destination);
            packet[16..20].copy_from_slice(&source);
            packet[20] = 0;
            // An echo reply's checksum is that of its request plus the difference of the types.
            let sum = u32::from(u16::from_be_bytes([packet[22], packet[23]])) + 0x0800;
            let sum = (sum & 0xffff) + (sum >> 16);
            packet[22..24].copy_from_slice(&u16::try_from(sum).unwrap().to_be_bytes());
            peer.send(gnb, &g_pdu(teid, &packet));
            answered += 1;
        }
        answered
    });
    let ping = tokio::task::spawn_blocking({
        let name = name.clone();
        move || {
            Command::new("ip")
                .args([
                    "netns",
                    "exec",
                    &name,
                    "ping",
                    "-c",
                    "3",
                    "-i",
                    "0.2",
                    "-W",
                    "2",
                    "192.0.2.1",
                ])
                .output()
        }
    });
    let output = match ping.await.unwrap() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: `ip` and `ping` are needed: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("3 received"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(answering.join().unwrap(), 3);
    let shown = Command::new("ip").args(["-n", &name, "addr", "show", "pdu1"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("10.77.0.2/32") && shown.contains("mtu 1358"), "{shown}");

    let resolvers = Path::new("/etc/netns").join(&name);
    assert_eq!(
        std::fs::read_to_string(resolvers.join("resolv.conf")).unwrap(),
        "nameserver 8.8.4.4\n"
    );

    drop(port);
    drop(interface);
    assert!(!path.exists() && !resolvers.exists(), "the namespace was not removed");
}

#[test]
fn an_existing_namespace_is_used_and_not_removed() {
    if let Some(reason) = missing_right() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    let name = format!("martlet-foreign-{}", std::process::id());
    let path = Path::new("/run/netns").join(&name);
    let theirs = Namespace::open(&name, false).unwrap();
    drop(Namespace::open(&name, false).unwrap());
    assert!(path.exists());
    // A second simulator cannot replace it.
    let replaced = Namespace::open(&name, true).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(replaced.contains("in use"), "{replaced}");
    drop(theirs);
    assert!(!path.exists());
}

#[test]
fn the_namespace_of_an_ended_process_is_replaced() {
    if let Some(reason) = missing_right() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    let name = format!("martlet-stale-{}", std::process::id());
    let path = Path::new("/run/netns").join(&name);
    std::fs::write(&path, "").unwrap();
    let made = Namespace::open(&name, true).unwrap();
    assert!(
        made.run(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap().contains("lo:")
    );
    drop(made);
    assert!(!path.exists());
    for wrong in ["", "a/b", "..", "."] {
        assert!(Namespace::open(wrong, true).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn iperf3_runs_between_two_ues() {
    if let Some(reason) = missing_right() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    if Command::new("iperf3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: iperf3 is not installed");
        return;
    }
    // Two gNBs whose tunnels end at each other: what one sends uplink is the other's downlink.
    let (one, two) = ([127, 77, 4, 1], [127, 77, 4, 2]);
    let planes =
        [one, two].map(|address| UserPlane::start((Ipv4Addr::from(address), PORT).into()).unwrap());
    let (first, _packets, _network) = port(&planes[0]);
    let (second, _packets2, _network2) = port(&planes[1]);
    let teid = first.activate(tunnel(two, 1));
    let other = second.activate(tunnel(one, teid));
    first.retarget(tunnel(two, other));

    let names = ["a", "b"].map(|which| format!("martlet-iperf-{which}-{}", std::process::id()));
    let mut interfaces = Vec::new();
    for (index, (name, port)) in names.iter().zip([&first, &second]).enumerate() {
        let mut session = session();
        session.ipv4 = Some([10, 77, 1, u8::try_from(index).unwrap() + 1].into());
        session.dns.clear();
        let mut interface = Interface::new(&config(), Netns::Named(name.clone()));
        interface.open(port, &session).await.unwrap();
        interfaces.push(interface);
    }
    let report = tokio::task::spawn_blocking(move || {
        let inside = |name: &str| {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", name, "iperf3"]);
            command
        };
        let mut server = inside(&names[1])
            .args(["-s", "-1"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let output = loop {
            let output =
                inside(&names[0]).args(["-c", "10.77.1.2", "-t", "1", "-J"]).output().unwrap();
            // The server listens after a moment. The exit code with a JSON report does not show a
            // failure.
            if output.stdout.windows(12).any(|w| w == b"sum_received") || Instant::now() > deadline
            {
                break output;
            }
        };
        let _ = server.kill();
        let _ = server.wait();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let report: serde_json::Value =
        serde_json::from_str(&report.await.unwrap()).expect("iperf3's report");
    let received = &report["end"]["sum_received"];
    assert!(received["bytes"].as_f64().unwrap_or_default() > 100_000.0, "{report}");
    eprintln!("{:.0} Mbit/s", received["bits_per_second"].as_f64().unwrap_or_default() / 1e6);
}

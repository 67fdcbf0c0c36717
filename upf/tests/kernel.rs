//! The `kernel` datapath with its real socket and TUN device, each check in a network namespace of its own.
mod common;

use common::{REMOTE, in_namespace};
use martlet_upf::config::{N6Mode, UpfConfig};
use martlet_upf::conformance::{Rig, checks, udp_packet};
use martlet_upf::datapath::{Datapath, Event};
use martlet_upf::{KernelDatapath, Signals};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const N3: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// Something comes within this time, if it comes at all.
const PATIENCE: Duration = Duration::from_secs(5);

struct KernelRig {
    datapath: KernelDatapath,
    signals: Signals,
    gnb: UdpSocket,
    hosts: Vec<UdpSocket>,
}

impl KernelRig {
    fn new() -> Self {
        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::Routing;
        config.n3.restoration_s = 0;
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let host = |port| {
            let socket = UdpSocket::bind((REMOTE, port)).expect("the host's port");
            socket.set_nonblocking(true).expect("no waiting");
            socket
        };
        let hosts = vec![host(7000), host(7001)];
        let (datapath, signals) = KernelDatapath::open(&config).expect("the datapath");
        KernelRig { datapath, signals, gnb, hosts }
    }
}

impl Rig for KernelRig {
    fn datapath(&mut self) -> &mut dyn Datapath {
        &mut self.datapath
    }
    fn n3(&self) -> IpAddr {
        N3.into()
    }
    fn gnb(&self) -> IpAddr {
        GNB.into()
    }
    fn ue(&self) -> Ipv4Addr {
        UE
    }
    fn remote(&self) -> Ipv4Addr {
        REMOTE
    }
    fn send_n3(&mut self, datagram: &[u8]) {
        self.gnb.send_to(datagram, (N3, 2152)).expect("sent");
    }
    fn receive_n3(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 9216];
        let (length, from) = self.gnb.recv_from(&mut buffer).ok()?;
        assert_eq!(from, SocketAddr::from((N3, 2152)));
        Some(buffer[..length].to_vec())
    }
    fn send_n6(&mut self, port: u16, payload: &[u8]) {
        self.hosts[usize::from(port - 7000)].send_to(payload, (UE, 9000)).expect("sent");
    }
    fn receive_n6(&mut self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = [0; 9216];
        while Instant::now() < deadline {
            for socket in &self.hosts {
                if let Ok((length, _)) = socket.recv_from(&mut buffer) {
                    return Some(buffer[..length].to_vec());
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
    fn event(&mut self) -> Option<Event> {
        // It is told just after the packet that caused it has left.
        let deadline = Instant::now() + Duration::from_millis(300);
        while Instant::now() < deadline {
            if let Ok(event) = self.signals.events.try_recv() {
                return Some(event);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

#[test]
fn the_kernel_datapath_conforms() {
    for (name, check) in checks::<KernelRig>() {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut KernelRig::new());
        });
    }
}

#[test]
fn a_packet_of_the_largest_size_passes_both_ways() {
    in_namespace(|| {
        let mut rig = KernelRig::new();
        let session = martlet_upf::conformance::session(&rig, 1, 7, UE);
        rig.datapath().apply(&martlet_upf::datapath::Change::to(&session)).expect("the session");
        // 1400 octets are the MTU of the device: 28 of them are headers.
        let payload = vec![b'x'; 1372];
        rig.send_n3(&martlet_upf::conformance::g_pdu(7, Some(1), &udp_packet((UE, 9000), (REMOTE, 7000), &payload)));
        assert_eq!(rig.receive_n6(), Some(payload.clone()));
        rig.send_n6(7000, &payload);
        assert_eq!(rig.receive_n3().map(|octets| octets.len()), Some(16 + 1400));
    });
}

#[test]
fn what_it_made_is_gone_with_it() {
    in_namespace(|| {
        let exists = || std::path::Path::new("/proc/sys/net/ipv4/conf/martlet-n6").exists();
        let rig = KernelRig::new();
        assert!(exists());
        // A second one finds the device and the port in use, and says so.
        let error = KernelDatapath::open(&UpfConfig::default()).err().expect("refused");
        assert!(error.contains("martlet-n6") && error.contains("in use"), "{error}");
        drop(rig);
        assert!(!exists());
    });
}

#[test]
fn without_n6_there_is_no_interface_and_ues_reach_each_other() {
    in_namespace(|| {
        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::None;
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (datapath, signals) = KernelDatapath::open(&config).expect("the datapath");
        assert!(!std::path::Path::new("/proc/sys/net/ipv4/conf/martlet-n6").exists());
        let mut rig = KernelRig { datapath, signals, gnb, hosts: Vec::new() };
        let other = Ipv4Addr::new(10, 45, 0, 3);
        for (seid, teid, ue) in [(1, 7, UE), (2, 8, other)] {
            let session = martlet_upf::conformance::session(&rig, seid, teid, ue);
            rig.datapath().apply(&martlet_upf::datapath::Change::to(&session)).expect("the session");
        }
        let to = |address| martlet_upf::conformance::g_pdu(7, Some(1), &udp_packet((UE, 9000), (address, 7000), b"x"));
        rig.send_n3(&to(REMOTE));
        rig.send_n3(&to(other));
        assert!(rig.receive_n3().is_some(), "the other UE gets its packet");
        let dropped = rig.datapath().counters().drops(martlet_upf::counters::DropReason::N6).get();
        assert_eq!(dropped, 1, "the packet for the data network is dropped, and counted");
    });
}

#[test]
fn after_its_start_unknown_tunnels_may_be_those_of_before() {
    in_namespace(|| {
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        let (datapath, signals) = KernelDatapath::open(&UpfConfig::default()).expect("the datapath");
        let mut rig = KernelRig { datapath, signals, gnb, hosts: Vec::new() };
        rig.send_n3(&martlet_upf::conformance::g_pdu(7, Some(1), &udp_packet((UE, 9000), (REMOTE, 7000), b"x")));
        assert_eq!(rig.receive_n3(), None, "no Error Indication yet");
    });
}

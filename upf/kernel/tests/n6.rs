//! N6 in a network namespace of its own, with translation of UE addresses.
use martlet_pfcp::ie::{FSeid, Interface, NodeId};
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{AllowedService, N6Mode};
use martlet_upf_datapath::conformance::{g_pdu, payload_of, udp_packet};
use martlet_upf_datapath::{Change, Datapath};
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_rules::*;
use martlet_upf_testing::{in_namespace, run};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const N3: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The machine's address on the data network, and a host there.
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

/// A named network namespace, removed on drop.
struct Netns(String);

impl Drop for Netns {
    fn drop(&mut self) {
        run("ip", &format!("netns del {}", self.0));
    }
}

fn session() -> Session {
    let gnb = std::net::IpAddr::V4(GNB);
    let mut session = Session::new(1, FSeid::new(1, gnb), NodeId::Ip(gnb));
    for (id, source) in [(1, Interface::Access), (2, Interface::Core)] {
        let local = (id == 1).then_some(LocalTunnel { teid: 7, ipv4: Some(N3), ipv6: None });
        let pdr = Pdr {
            extras: None,
            id,
            precedence: 1,
            source,
            local,
            network_instance: None,
            ue: vec![UeAddress::V4(UE)],
            filters: vec![],
            rules: vec![],
            qfis: vec![],
            outer_header_removal: true,
            far: id.into(),
            qers: vec![],
            urrs: vec![],
            returns: false,
            application: None,
        };
        session.pdrs.insert(id, pdr);
        let far = Far {
            destination: Some(if id == 1 { Interface::Core } else { Interface::Access }),
            tunnel: (id == 2).then_some(Tunnel { teid: 9, peer: gnb }),
            ..Far::new(id.into(), Action::Forward)
        };
        session.fars.insert(id.into(), far);
    }
    session
}

fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// The kernel's default of 500 packets is full after a few milliseconds without CPU time.
#[test]
fn the_queue_of_the_device_holds_the_configured_packets() {
    in_namespace(|| {
        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::Local;
        config.kernel.device_queue = 3210;
        let _datapath = KernelDatapath::open(&config).expect("the datapath");
        let show = ["-o", "link", "show", config.n6.interface.as_str()];
        let shown = Command::new("ip").args(show).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("qlen 3210"), "{shown}");
    });
}

#[test]
fn addresses_are_translated_in_a_namespace_of_the_data_network() {
    if !installed("nft") && !installed("iptables") {
        eprintln!("SKIPPED: neither nft nor iptables is installed");
        return;
    }
    in_namespace(|| {
        let name = format!("martlet-dn-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).status().expect("ip runs");
        if !made.success() {
            eprintln!("SKIPPED: `ip netns add` does not work here");
            return;
        }
        let netns = Netns(name.clone());
        run("ip", "link add d0 type veth peer name d1");
        run("ip", &format!("link set d0 netns {name}"));
        run("ip", &format!("-n {name} addr add {MACHINE}/24 dev d0"));
        run("ip", &format!("-n {name} link set d0 up"));
        run("ip", &format!("addr add {HOST}/24 dev d1"));
        run("ip", "link set d1 up");

        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::Nat;
        config.n6.netns = Some(name.clone());
        // The host is in the namespace of N3 here.
        config.n6.allow.push(AllowedService::all(IpAddr::V4(HOST).into()));
        let (mut datapath, _signals) = KernelDatapath::open(&config).expect("the datapath");
        datapath.apply(&Change::to(&session())).expect("the session");

        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        let host = UdpSocket::bind((HOST, 7000)).expect("the host's port");
        for socket in [&gnb, &host] {
            socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        }
        gnb.send_to(&g_pdu(7, Some(1), &udp_packet((UE, 9000), (HOST, 7000), b"up")), (N3, 2152))
            .expect("sent");
        let mut buffer = [0; 2048];
        let (length, from) = host.recv_from(&mut buffer).expect("the packet of the UE");
        assert_eq!((&buffer[..length], from.ip()), (&b"up"[..], MACHINE.into()));
        host.send_to(b"down", from).expect("sent");
        let (length, _) = gnb.recv_from(&mut buffer).expect("the answer");
        let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&buffer[..length]) else {
            panic!("no G-PDU")
        };
        assert_eq!((pdu.teid, payload_of(pdu.payload)), (9, Some(&b"down"[..])));

        // No rule is left in the namespace.
        drop(datapath);
        let rules =
            Command::new("ip").args(["netns", "exec", &name, "nft", "list", "ruleset"]).output();
        if let Ok(rules) = rules.map(|output| output.stdout) {
            assert!(
                !String::from_utf8_lossy(&rules).contains("upf_"),
                "the translation rules were not removed"
            );
        }
        drop(netns);
    });
}

/// A packet between UEs leaves by the interface on which it was received. A router would send an
/// ICMP redirect (RFC 792), but there is no shorter path.
#[test]
fn a_ue_gets_no_icmp_redirect() {
    in_namespace(|| {
        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::Routing;
        config.kernel.local_switching = false;
        let (mut datapath, _signals) = KernelDatapath::open(&config).expect("the datapath");
        datapath.apply(&Change::to(&session())).expect("the session");
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        // To another UE; and to the UPF's own address, where no process listens, so that there is
        // an ICMP message to compare with.
        for (to, port) in [(Ipv4Addr::new(10, 45, 0, 3), 7000), (Ipv4Addr::new(10, 45, 0, 1), 53)] {
            let packet = udp_packet((UE, 9000), (to, port), b"across");
            gnb.send_to(&g_pdu(7, Some(1), &packet), (N3, 2152)).expect("sent");
        }
        let mut buffer = [0; 2048];
        let (length, _) = gnb.recv_from(&mut buffer).expect("the answer");
        let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&buffer[..length]) else {
            panic!("no G-PDU")
        };
        const ICMP: u8 = 1;
        const UNREACHABLE: u8 = 3;
        assert_eq!((pdu.payload[9], pdu.payload[20]), (ICMP, UNREACHABLE), "{:02x?}", pdu.payload);
    });
}

#[test]
fn a_namespace_that_does_not_exist_is_named() {
    let mut config = UpfConfig::default();
    config.n6.netns = Some("martlet-nowhere".into());
    let error = KernelDatapath::open(&config).err().expect("refused");
    assert!(error.to_string().contains("ip netns add martlet-nowhere"), "{error}");
}

//! Several network instances, selected by filter (uplink classifier): packets to the satellite's
//! on-board servers stay on board, the rest goes to the ground. Both networks have a server with
//! the same address.
mod common;

use common::open_datapath;
use martlet_pfcp::ie::{NetworkInstance, SdfFilter};
use martlet_upf_config::{DatapathChoice, NetworkInstanceConfig, XdpMode};
use martlet_upf_config::{UpfConfig, UpfConfig as Config};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::{Rig, g_pdu, session, udp_packet};
use martlet_upf_rules::{RuleLimits, Session};
use martlet_upf_testing::peers::{N3, Peer, PeersRig, UE};
use martlet_upf_testing::rig::config;
use martlet_upf_testing::{in_namespace, run, without_proc_sys};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// The server's address, on board and on the ground.
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const BOARD: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);
const BOARD_SIDE: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);

fn with_instance(datapath: DatapathChoice, mode: XdpMode) -> UpfConfig {
    let mut config: Config = config();
    config.datapath = datapath;
    config.n3.address = (N3, 2152).into();
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into(), "n9a".into()];
    config.xdp.mode = mode;
    config.n6.network_instances = vec![NetworkInstanceConfig {
        network_instance: "board".into(),
        interface: "n9a".into(),
        via: Some(BOARD),
    }];
    assert_eq!(config.check(), []);
    config
}

/// The UE's session, with a PDR that sends port 7100 to the on-board network.
fn classified(rig: &impl Rig) -> Session {
    let mut session = session(rig, 1, 7, UE);
    let mut pdr = session.pdrs.get(&1).expect("the PDR of the uplink").clone();
    let text = "permit out 17 from any 7100 to assigned".to_string();
    (pdr.id, pdr.precedence, pdr.far) = (3, 10, 3);
    pdr.filters = vec![SdfFilter { flow_description: Some(text), ..SdfFilter::default() }];
    session.pdrs.insert(3, pdr);
    let mut far = session.fars.get(&1).expect("the FAR of the uplink").clone();
    (far.id, far.network_instance) = (3, Some(NetworkInstance::new("board").0.into()));
    session.fars.insert(3, far);
    session.resolve(&RuleLimits::default()).expect("valid rules");
    session
}

/// A server that responds with its location.
fn server(peer: &Peer, port: u16) -> UdpSocket {
    run("ip", &format!("-n {} addr add {SERVER}/32 dev lo", peer.0));
    let socket = peer.within(move || UdpSocket::bind((SERVER, port)).expect("a port"));
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    socket
}

fn packets_take_their_network_instance(config: UpfConfig) {
    packets_take_their_network_instance_after(config, || {});
}

/// The same with a datapath that is opened after `prepare`.
fn packets_take_their_network_instance_after(config: UpfConfig, prepare: fn()) {
    in_namespace(move || {
        let on_board = Peer::connect("n9", BOARD_SIDE, BOARD);
        run("ip", &format!("-n {} route add 10.45.0.0/16 via {BOARD_SIDE}", on_board.0));
        let mut rig = PeersRig::new(&config, |config: &UpfConfig| {
            prepare();
            open_datapath(config)
        });
        run("ip", &format!("route add {SERVER}/32 via 10.98.0.2"));
        let (board, ground) = (server(&on_board, 7100), server(&rig.network, 7200));
        let session = classified(&*rig);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let mut buffer = [0; 2048];
        for n in 0..5u8 {
            for (socket, port) in [(&board, 7100), (&ground, 7200)] {
                // In the third round larger than the link's MTU: the kernel fragments it.
                let payload = vec![n; if n == 2 { 1440 } else { 40 }];
                let mut packet = udp_packet((UE, 9000), (SERVER, port), &payload);
                packet[6] = 0;
                packet[10..12].fill(0);
                let words = packet[..20]
                    .chunks_exact(2)
                    .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
                let sum: u32 = words.sum();
                packet[10..12]
                    .copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
                rig.send_n3(&g_pdu(7, Some(9), &packet));
                let (length, from) = socket
                    .recv_from(&mut buffer)
                    .unwrap_or_else(|e| panic!("{port}, round {n}: {e}"));
                assert_eq!((&buffer[..length], from), (&payload[..], (UE, 9000).into()));
                // And the response, from either network.
                socket.send_to(&[n; 20], from).expect("sent");
                assert!(rig.receive_n3().is_some(), "the answer from port {port}");
            }
        }
        let counters = rig.datapath().counters();
        assert_eq!(counters.uplink_packets.get(), 10);
        assert!(!shown("rule").contains("martlet-n6e1x"));
        assert!(shown("rule").contains("martlet-n6e1"));
        drop(rig);
        assert!(!shown("rule").contains("martlet-n6e1"), "the rule is removed with the datapath");
    });
}

fn shown(what: &str) -> String {
    let output = std::process::Command::new("ip").arg(what).output().expect("ip runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn packets_take_their_network_instance_in_the_kernel_datapath() {
    packets_take_their_network_instance(with_instance(DatapathChoice::Kernel, XdpMode::Auto));
}

#[test]
fn packets_take_their_network_instance_in_xdp() {
    packets_take_their_network_instance(with_instance(DatapathChoice::Xdp, XdpMode::Native));
}

#[test]
fn packets_take_their_network_instance_in_xdp_in_generic_mode() {
    packets_take_their_network_instance(with_instance(DatapathChoice::Xdp, XdpMode::Generic));
}

#[test]
fn packets_take_their_network_instance_where_the_kernel_forwards() {
    let mut config = with_instance(DatapathChoice::Xdp, XdpMode::Native);
    config.xdp.direct = false;
    packets_take_their_network_instance(config);
}

/// In a container, forwarding is off, and `/proc/sys` is read-only.
#[test]
fn packets_take_their_network_instance_in_a_container() {
    for datapath in [DatapathChoice::Kernel, DatapathChoice::Xdp] {
        let config = with_instance(datapath, XdpMode::Generic);
        packets_take_their_network_instance_after(config, || {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "0").expect("no forwarding");
            without_proc_sys();
        });
    }
}

#[test]
fn a_network_instance_without_its_interface_is_an_error() {
    in_namespace(|| {
        run("ip", &format!("addr add {N3}/24 dev lo"));
        let mut config = with_instance(DatapathChoice::Kernel, XdpMode::Auto);
        config.n6.network_instances[0].interface = "nowhere".into();
        let error = open_datapath(&config).err().expect("refused");
        assert!(error.to_string().contains("upf.n6.network_instances[0].interface"), "{error}");
    });
}

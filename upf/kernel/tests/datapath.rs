//! The `kernel` datapath with its real socket and TUN device, each test in a network namespace of
//! its own.
use martlet_upf_config::{N6Mode, UpfConfig};
use martlet_upf_datapath::conformance::{
    Rig, checks, checks_of_rare_rules, packets_without_qfi_are_dropped, session, udp_packet,
};
use martlet_upf_datapath::{Change, OpenError};
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_rules::{PdrExtras, Prefix};
use martlet_upf_testing::rig::{GNB, HERE, Opened, SocketRig, TIMEOUT, UE, boxed, config, opened};
use martlet_upf_testing::{REMOTE, in_namespace, run};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

fn open(config: &UpfConfig) -> Result<Opened, OpenError> {
    KernelDatapath::open(config).map(boxed)
}

fn socket_rig(config: UpfConfig) -> SocketRig {
    SocketRig::new(&config, open)
}

/// With forwarding, the kernel ignores Router Advertisements at interfaces that have 1.
#[test]
fn the_machine_keeps_its_ipv6_routes() {
    in_namespace(|| {
        run("ip", "link add upa type veth peer name upb");
        let path = |name: &str| format!("/proc/sys/net/ipv6/conf/{name}");
        let set = |name: &str, value| std::fs::write(path(name), value).expect("a setting");
        let get = |name: &str| std::fs::read_to_string(path(name)).expect("a setting");
        for (name, value) in [("upa/accept_ra", "1"), ("upb/accept_ra", "0")] {
            set(name, value);
        }
        set("all/forwarding", "0");
        let _opened = open(&config()).expect("the datapath");
        let settings = ["all/forwarding", "upa/accept_ra", "upb/accept_ra"].map(get);
        assert_eq!(settings, ["1\n", "2\n", "0\n"]);
    });
}

/// A framed route may lead to a network of the machine, such as that of its management.
#[test]
fn framed_routes_leave_those_of_the_machine_in_place() {
    in_namespace(|| {
        run("ip", "link add upa type veth peer name upb");
        run("ip", "link set upa up");
        run("ip", "link set upb up");
        let networks = [("-4", "10.60.0.0", 24), ("-6", "fd60::", 64)];
        for (family, network, length) in networks {
            run("ip", &format!("{family} route add {network}/{length} dev upa"));
        }
        let interfaces = || {
            networks.map(|(family, network, length)| {
                let network = format!("{network}/{length}");
                let shown = Command::new("ip")
                    .args([family, "route", "show", "exact", &network])
                    .output()
                    .expect("ip runs");
                let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
                let words: Vec<&str> = shown.split_whitespace().collect();
                let names = words.windows(2).filter(|pair| pair[0] == "dev");
                names.map(|pair| pair[1].to_owned()).collect::<Vec<_>>()
            })
        };
        let config = config();
        let n6 = config.n6.interface.clone();
        let mut rig = socket_rig(config);
        let mut session = session(&rig, 1, 7, UE);
        let routes = networks.map(|(_, network, length)| Prefix {
            network: network.parse().expect("an address"),
            length,
        });
        let extras = PdrExtras { routes: routes.to_vec(), ..PdrExtras::default() };
        session.pdrs.get_mut(&2).expect("PDR 2").extras = Some(Box::new(extras));
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        assert_eq!(interfaces(), [["upa", &n6]; 2]);
        rig.datapath().remove(1);
        assert_eq!(interfaces(), [["upa"]; 2]);
    });
}

#[test]
fn the_kernel_datapath_conforms() {
    let rare = checks_of_rare_rules::<SocketRig>();
    for (name, check) in checks::<SocketRig>().into_iter().chain(rare) {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut socket_rig(config()));
        });
    }
}

#[test]
fn packets_without_qfi_are_dropped_where_it_is_required() {
    in_namespace(|| {
        let mut config = config();
        config.n3.require_qfi = true;
        packets_without_qfi_are_dropped(&mut socket_rig(config));
    });
}

#[test]
fn a_packet_of_the_mtu_passes_in_both_directions() {
    in_namespace(|| {
        let mut rig = socket_rig(config());
        let session = session(&rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        // 1400 bytes are the device's MTU, of which 28 are headers.
        let payload = vec![b'x'; 1372];
        rig.send_n3(&martlet_upf_datapath::conformance::g_pdu(
            7,
            Some(1),
            &udp_packet((UE, 9000), (REMOTE, 7000), &payload),
        ));
        assert_eq!(rig.receive_n6(), Some(payload.clone()));
        rig.send_n6(7000, &payload);
        assert_eq!(rig.receive_n3().map(|bytes| bytes.len()), Some(16 + 1400));
    });
}

#[test]
fn its_device_is_removed_on_drop() {
    in_namespace(|| {
        let exists = || std::path::Path::new("/proc/sys/net/ipv4/conf/martlet-n6").exists();
        let rig = socket_rig(config());
        assert!(exists());
        // A second datapath fails, since device and port are in use.
        let error = KernelDatapath::open(&UpfConfig::default()).err().expect("refused");
        assert!(
            error.to_string().contains("martlet-n6") && error.to_string().contains("in use"),
            "{error}"
        );
        drop(rig);
        // A busy kernel removes the device with a delay.
        let give_up = std::time::Instant::now() + TIMEOUT;
        while exists() && std::time::Instant::now() < give_up {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(!exists());
    });
}

#[test]
fn without_n6_there_is_no_interface_but_ues_reach_each_other() {
    in_namespace(|| {
        let mut config = UpfConfig::default();
        config.n6.mode = N6Mode::None;
        let config = opened(config, REMOTE);
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let (datapath, signals) = open(&config).expect("the datapath");
        assert!(!std::path::Path::new("/proc/sys/net/ipv4/conf/martlet-n6").exists());
        let mut rig = SocketRig { datapath, signals, gnb, hosts: Vec::new(), at: HERE };
        let other = Ipv4Addr::new(10, 45, 0, 3);
        for (seid, teid, ue) in [(1, 7, UE), (2, 8, other)] {
            let session = session(&rig, seid, teid, ue);
            rig.datapath().apply(&Change::to(&session)).expect("the session");
        }
        let to = |address| {
            martlet_upf_datapath::conformance::g_pdu(
                7,
                Some(1),
                &udp_packet((UE, 9000), (address, 7000), b"x"),
            )
        };
        rig.send_n3(&to(REMOTE));
        rig.send_n3(&to(other));
        assert!(rig.receive_n3().is_some(), "the other UE receives the packet");
        let dropped =
            rig.datapath().counters().drops(martlet_upf_datapath::counters::DropReason::N6).get();
        assert_eq!(dropped, 1, "the packet to the data network is dropped and counted");
    });
}

#[test]
fn error_indications_are_suppressed_after_the_start() {
    in_namespace(|| {
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        let (datapath, signals) = open(&UpfConfig::default()).expect("the datapath");
        let mut rig = SocketRig { datapath, signals, gnb, hosts: Vec::new(), at: HERE };
        rig.send_n3(&martlet_upf_datapath::conformance::g_pdu(
            7,
            Some(1),
            &udp_packet((UE, 9000), (REMOTE, 7000), b"x"),
        ));
        assert_eq!(rig.receive_n3(), None, "no Error Indication yet");
    });
}

//! The `xdp` datapath on real interfaces, each test in a network namespace of its own.
mod common;

use common::{open_datapath, peers_rig, socket_rig};
use martlet_pfcp::ie::NetworkInstance;
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{DatapathChoice, DnnConfig, N6Mode, UeToUe, XdpMode};
use martlet_upf_datapath::conformance::{
    Rig, checks, checks_of_rare_rules, g_pdu, measure, packets_without_qfi_are_dropped, session,
    udp_packet,
};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::telemetry::balance;
use martlet_upf_datapath::{Change, DatapathError};
use martlet_upf_rules::{Action, PdrExtras, Prefix, UeAddress};
use martlet_upf_testing::peers::{HOST, N3, PeersRig, UE};
use martlet_upf_testing::rig::{SocketRig, config};
use martlet_upf_testing::{in_namespace, run};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

/// All on the loopback interface, where programs run in generic mode and the kernel forwards.
fn on_loopback() -> UpfConfig {
    let mut config = config();
    config.datapath = DatapathChoice::Xdp;
    config.xdp.sessions = 64;
    config.xdp.rules = 256;
    config.xdp.filters = 256;
    config
}

#[test]
fn the_xdp_datapath_conforms_on_loopback() {
    let rare = checks_of_rare_rules::<SocketRig>();
    for (name, check) in checks::<SocketRig>().into_iter().chain(rare) {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut socket_rig(on_loopback()));
        });
    }
}

/// Two interfaces, to a gNB and to a data network, over which packets are redirected without the
/// kernel.
fn between_peers(mode: XdpMode) -> UpfConfig {
    let mut config = on_loopback();
    config.n3.address = (N3, 2152).into();
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    config.xdp.mode = mode;
    config
}

fn conforms_between_peers(mode: XdpMode) {
    let rare = checks_of_rare_rules::<SocketRig>();
    for (name, check) in checks::<SocketRig>().into_iter().chain(rare) {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut peers_rig(between_peers(mode)));
        });
    }
}

#[test]
fn the_xdp_datapath_conforms_in_native_mode() {
    conforms_between_peers(XdpMode::Native);
}

#[test]
fn the_xdp_datapath_conforms_in_generic_mode() {
    conforms_between_peers(XdpMode::Generic);
}

/// Links of containers: the other end has neither GRO nor complete checksums, and is in a network
/// namespace that the UPF does not see.
#[test]
fn the_xdp_datapath_forwards_between_plain_veths() {
    // Not the whole suite: what a gNB sends back to itself keeps its incomplete checksum.
    const CHECKS: [&str; 5] = [
        "uplink packets lose their tunnel",
        "downlink packets get their tunnel and QoS flow",
        "echo is answered",
        "packets are buffered and released in order",
        "end markers follow the last packet",
    ];
    let chosen = checks::<SocketRig>().into_iter().filter(|(name, _)| CHECKS.contains(name));
    let chosen: Vec<_> = chosen.collect();
    assert_eq!(chosen.len(), CHECKS.len());
    for (name, check) in chosen {
        in_namespace(move || {
            eprintln!("{name}");
            let mut rig = PeersRig::plain(&between_peers(XdpMode::Auto), open_datapath);
            let status = rig.datapath().details().to_string();
            assert!(status.contains("generic") && !status.contains("native"), "{status}");
            check(&mut rig);
        });
    }
}

/// The kernel gives no error to a program whose frames an interface does not take.
#[test]
fn packets_that_a_plain_veth_does_not_take_are_counted() {
    in_namespace(|| {
        let mut rig = PeersRig::plain(&between_peers(XdpMode::Native), open_datapath);
        let session = session(&*rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let packet = udp_packet((UE, 9000), (HOST, 7000), &[1; 64]);
        let packet = g_pdu(7, Some(9), &packet);
        let lost = |rig: &mut PeersRig| {
            let losses = rig.datapath().interface_losses();
            assert!(losses.iter().all(|loss| loss.interface == "n6a"), "{losses:?}");
            assert!(losses.iter().all(|loss| loss.reason == "not_accepted"), "{losses:?}");
            losses.iter().map(|loss| loss.packets).sum::<u64>()
        };
        let wait = |rig: &mut PeersRig, count: u64| {
            let is_counted = (0..3000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                lost(rig) == count
            });
            assert!(is_counted, "{} lost, not {count}", lost(rig));
        };
        // The kernel forwards until the next hop is known.
        let begins = (0..3000).any(|_| {
            rig.send_n3(&packet);
            std::thread::sleep(Duration::from_millis(10));
            lost(&mut rig) > 0
        });
        assert!(begins, "nothing is lost, or the loss is not counted");
        std::thread::sleep(Duration::from_millis(20));
        let before = lost(&mut rig);
        (0..10).for_each(|_| rig.send_n3(&packet));
        wait(&mut rig, before + 10);
        let status = rig.datapath().details()["lost"].to_string();
        assert!(status.contains("not_accepted") && status.contains("n6a"), "{status}");
        // With GRO at the other end they arrive, and no more are lost.
        rig.network.within(|| {
            martlet_interface::set_feature("n6b", martlet_interface::Feature::GenericReceive, true)
                .expect("receive offload");
        });
        let socket = rig.network.within(|| UdpSocket::bind((HOST, 7005)).expect("a port"));
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7005), &[2; 64])));
        assert_eq!(socket.recv(&mut [0; 2048]).expect("the packet arrives"), 64);
        assert_eq!(lost(&mut rig), before + 10);
    });
}

/// Of two networks, one denies packets between UEs. User space carries its session.
#[test]
fn a_ue_in_user_space_and_one_of_the_programs_do_not_reach_each_other_where_that_is_denied() {
    in_namespace(|| {
        let mut config = on_loopback();
        let name = "internet".to_string();
        config.dnns = vec![DnnConfig { name, ue_to_ue: UeToUe::Deny, ..DnnConfig::default() }];
        let mut rig = socket_rig(config);
        let (ue, other) = (rig.ue(), Ipv4Addr::new(10, 45, 0, 3));
        let mut one = session(&rig, 1, 0x0101, ue);
        one.fars.get_mut(&2).expect("FAR 2").marking = Some(0x28);
        let network: Arc<[u8]> = NetworkInstance::new("internet").0.into();
        one.pdrs.values_mut().for_each(|pdr| pdr.network_instance = Some(network.clone()));
        let two = session(&rig, 2, 0x0202, other);
        for session in [&one, &two] {
            rig.datapath().apply(&Change::to(session)).expect("the session");
        }
        for (nth, (teid, from, to)) in [(0x0101, ue, other), (0x0202, other, ue)].iter().enumerate()
        {
            let packet = udp_packet((*from, 9000), (*to, 9000), b"denied");
            rig.send_n3(&g_pdu(*teid, Some(1), &packet));
            let is_denied = (0..3000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                rig.datapath().counters().drops(DropReason::UeToUe).get() == nth as u64 + 1
            });
            assert!(is_denied, "from {from}");
        }
    });
}

/// As many sessions as an SMF has by default, each with two URRs for both directions, fit the
/// default tables.
#[test]
fn default_tables_hold_60000_sessions_with_two_urrs() {
    in_namespace(|| {
        let defaults = UpfConfig::default().xdp;
        let mut config = on_loopback();
        (config.xdp.sessions, config.xdp.rules) = (defaults.sessions, defaults.rules);
        config.xdp.filters = defaults.filters;
        let mut rig = socket_rig(config);
        for n in 0..60_000u32 {
            let ue = Ipv4Addr::from_bits(UE.to_bits() + n);
            let mut session = session(&rig, u64::from(n) + 1, n + 7, ue);
            measure(&mut session, Some(1 << 40), None);
            let mut second = session.urrs[&1].clone();
            second.id = 2;
            session.urrs.insert(2, second);
            session.pdrs.values_mut().for_each(|pdr| pdr.urrs = vec![1, 2]);
            let applied = rig.datapath().apply(&Change::to(&session));
            applied.unwrap_or_else(|error| panic!("session {n}: {error}"));
        }
        let tables = rig.datapath().details()["tables"].clone();
        assert_eq!(tables["rules"]["used"], 120_000, "{tables}");
    });
}

/// Tables have their configured size. However full they are and however fast rules change, a
/// session within the limits is accepted.
#[test]
fn full_tables_reject_only_sessions_above_the_limit() {
    const SESSIONS: u32 = 64;
    in_namespace(|| {
        let mut config = on_loopback();
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (SESSIONS, 2 * SESSIONS, 16);
        let mut rig = socket_rig(config);
        let ue = |n: u32| Ipv4Addr::from_bits(UE.to_bits() + n);
        let sessions: Vec<_> =
            (0..SESSIONS).map(|n| session(&rig, u64::from(n) + 1, n + 7, ue(n))).collect();
        let all = |rig: &mut SocketRig, round: u8| {
            for session in &sessions {
                let mut session = session.clone();
                session.qers.values_mut().for_each(|qer| qer.qfi = Some(round % 60 + 1));
                rig.datapath()
                    .apply(&Change::to(&session))
                    .unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
        };
        // Slots of replaced rules would suffice for some twenty rounds if none were reclaimed.
        (0..60).for_each(|round| all(&mut rig, round));
        let fill = |rig: &mut SocketRig| rig.datapath().details()["tables"]["rules"].clone();
        assert_eq!(fill(&mut rig), serde_json::json!({"used": 2 * SESSIONS, "most": 2 * SESSIONS}));
        let carries = |rig: &mut SocketRig| {
            let packet = udp_packet((ue(SESSIONS - 1), 9000), (rig.remote(), 7000), b"through");
            rig.send_n3(&g_pdu(SESSIONS + 6, Some(9), &packet));
            assert_eq!(rig.receive_n6().as_deref(), Some(&b"through"[..]));
        };
        carries(&mut rig);
        let rejected =
            |rig: &mut SocketRig, session| match rig.datapath().apply(&Change::to(&session)) {
                Err(DatapathError::NoResources(why)) => why.to_string(),
                other => panic!("{other:?}"),
            };
        let more = session(&rig, 1000, 1000, ue(1000));
        assert!(rejected(&mut rig, more).contains("upf.xdp.rules"));
        let mut more = sessions[SESSIONS as usize - 1].clone();
        more.pdrs
            .insert(3, martlet_upf_rules::Pdr { id: 3, precedence: 200, ..more.pdrs[&1].clone() });
        assert!(rejected(&mut rig, more).contains("upf.xdp.rules"));
        carries(&mut rig);
        // Deleted sessions free their slots at once.
        for round in 60..64 {
            sessions.iter().for_each(|session| drop(rig.datapath().remove(session.seid)));
            assert_eq!(fill(&mut rig)["used"], 0);
            all(&mut rig, round);
        }
        carries(&mut rig);
    });
}

#[test]
fn packets_without_qfi_are_dropped_where_it_is_required() {
    in_namespace(|| {
        let mut config = on_loopback();
        config.n3.require_qfi = true;
        packets_without_qfi_are_dropped(&mut socket_rig(config));
    });
}

/// The UE's source address becomes one of the data network; no route leads to the UE's address.
fn addresses_are_translated(mode: XdpMode) {
    in_namespace(move || {
        let public = Ipv4Addr::new(10, 98, 0, 50);
        let mut config = between_peers(mode);
        config.n6.mode = N6Mode::Nat;
        config.xdp.nat.addresses = vec![public];
        let mut rig = peers_rig(config);
        let session = session(&*rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let host = rig.network.within(|| UdpSocket::bind((HOST, 7005)).expect("a port"));
        host.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let mut buffer = [0; 2048];
        for n in 0..3u8 {
            rig.send_n3(&g_pdu(7, Some(1), &udp_packet((UE, 9000), (HOST, 7005), &[n; 100])));
            let (length, from) = host.recv_from(&mut buffer).expect("the packet of the UE");
            assert_eq!((&buffer[..length], from), (&[n; 100][..], (public, 9000).into()));
            host.send_to(&[n; 50], from).expect("sent");
            let bytes = rig.receive_n3().expect("the answer");
            let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&bytes) else {
                panic!("no G-PDU")
            };
            assert_eq!(
                martlet_upf_datapath::conformance::payload_of(pdu.payload),
                Some(&[n; 50][..])
            );
        }
    });
}

#[test]
fn addresses_are_translated_in_native_mode() {
    addresses_are_translated(XdpMode::Native);
}

#[test]
fn addresses_are_translated_in_generic_mode() {
    addresses_are_translated(XdpMode::Generic);
}

/// The datapath between peers, with the UE's session.
fn with_session() -> PeersRig {
    let mut rig = peers_rig(between_peers(XdpMode::Native));
    let session = session(&*rig, 1, 7, UE);
    rig.datapath().apply(&Change::to(&session)).expect("the session");
    rig
}

/// The kernel puts fragments together, and the programs do not see what is in them.
#[test]
fn fragmented_solicitations_have_a_limit() {
    in_namespace(|| {
        let mut rig = peers_rig(between_peers(XdpMode::Native));
        let mut session = session(&*rig, 1, 7, UE);
        let prefix = UeAddress::V6(0xfd45_0000_0000_0077);
        session.pdrs.values_mut().for_each(|pdr| pdr.ue.push(prefix));
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let [own, routers] = ["fe80::2a", "ff02::2"].map(|address| {
            let address: Ipv6Addr = address.parse().expect("an address");
            address.octets()
        });
        // 1,900 bytes over a link with an MTU of 1,500.
        let mut solicitation = vec![0x60, 0, 0, 0];
        solicitation.extend(1860_u16.to_be_bytes());
        solicitation.extend([58, 255]);
        solicitation.extend([&own[..], &routers, &[133, 0]].concat());
        solicitation.resize(1900, 0);
        const SENT: u64 = 60;
        (0..SENT).for_each(|_| rig.send_n3(&g_pdu(7, Some(1), &solicitation)));
        let counters = rig.datapath().counters();
        let outcome =
            || (counters.signalling_packets.get(), counters.drops(DropReason::Rate).get());
        let all = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let (answered, dropped) = outcome();
            answered + dropped == SENT
        });
        // At most one per second after eight, unless the machine needs minutes for them.
        let (answered, dropped) = outcome();
        assert!(all && answered >= 8 && dropped > 0, "{answered} answered, {dropped} dropped");
    });
}

/// A socket of the host that sets DF or not.
fn socket(discover: libc::c_int) -> UdpSocket {
    let socket = UdpSocket::bind((HOST, 0)).expect("a port");
    // SAFETY: the option is an integer that outlives the call; the socket is open.
    let set = unsafe {
        let (level, name) = (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const discover).cast(), 4)
    };
    assert_eq!(set, 0);
    socket
}

#[test]
fn packets_above_the_mtu_are_fragmented_or_rejected_by_the_kernel() {
    in_namespace(|| {
        let mut rig = with_session();
        // 1,400 bytes fit. Two fragments are encapsulated separately.
        rig.network.within(|| {
            socket(libc::IP_PMTUDISC_DONT).send_to(&[0; 1450], (UE, 9000)).expect("sent")
        });
        let parts: Vec<usize> =
            (0..2).filter_map(|_| rig.receive_n3()).map(|bytes| bytes.len() - 16).collect();
        assert_eq!(parts.iter().sum::<usize>(), 1450 + 8 + 2 * 20, "{parts:?}");
        // A host that sets DF is notified of the MTU.
        let fragmentation_needed = rig.network.within(|| {
            let socket = socket(libc::IP_PMTUDISC_DO);
            let large = || {
                socket.send_to(&[0; 1450], (UE, 9000)).err().and_then(|error| error.raw_os_error())
            };
            (0..50).any(|_| {
                std::thread::sleep(Duration::from_millis(20));
                large() == Some(libc::EMSGSIZE)
            })
        });
        assert!(fragmentation_needed, "the host receives no ICMP error");
    });
}

/// Whether a host of the data network that sets DF is notified that a packet is too long.
fn is_notified(rig: &PeersRig, from: SocketAddr, to: SocketAddr) -> bool {
    rig.network.within(move || {
        let socket = UdpSocket::bind(from).expect("a port");
        let (level, name, value) = match from {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
            SocketAddr::V6(_) => {
                (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)
            }
        };
        // SAFETY: the option is an integer that outlives the call; the socket is open.
        let set = unsafe {
            libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), 4)
        };
        assert_eq!(set, 0);
        (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let error = socket.send_to(&[0; 1450], to).err();
            error.and_then(|error| error.raw_os_error()) == Some(libc::EMSGSIZE)
        })
    })
}

#[test]
fn ipv6_and_framed_routes_have_the_mtu_of_n6() {
    in_namespace(|| {
        let mut rig = peers_rig(between_peers(XdpMode::Native));
        let mut session = session(&*rig, 1, 7, UE);
        let prefix = UeAddress::V6(0xfd45_0000_0000_0077);
        session.pdrs.values_mut().for_each(|pdr| pdr.ue.push(prefix));
        let routes = vec![Prefix { network: [10, 60, 0, 0].into(), length: 24 }];
        let extras = PdrExtras { routes, ..PdrExtras::default() };
        session.pdrs.get_mut(&2).expect("PDR 2").extras = Some(Box::new(extras));
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        run("ip", "-6 addr add fd98::1/64 dev n6a nodad");
        let of_host = format!("-n {}", rig.network.0);
        run("ip", &format!("{of_host} -6 addr add fd98::2/64 dev n6b nodad"));
        run("ip", &format!("{of_host} -6 route add fd45::/48 via fd98::1"));
        run("ip", &format!("{of_host} route add 10.60.0.0/24 via 10.98.0.1"));
        for (from, to) in [
            ("[fd98::2]:0", "[fd45:0:0:77::1]:9000"),
            ("10.98.0.2:0", "10.60.0.7:9000"),
            ("10.98.0.2:0", "10.45.0.2:9000"),
        ] {
            let [host, ue] = [from, to].map(|address| address.parse().expect("an address"));
            assert!(is_notified(&rig, host, ue), "{to}");
        }
    });
}

/// A service that `n6.allow` names may have the address of N3.
#[test]
fn packets_of_the_machine_from_the_address_of_n3_reach_ues() {
    in_namespace(|| {
        let mut rig = with_session();
        let service = UdpSocket::bind((N3, 0)).expect("a port");
        service.send_to(b"service", (UE, 9000)).expect("sent");
        let bytes = rig.receive_n3().expect("a packet to the UE");
        assert!(bytes.ends_with(b"service"), "{bytes:02x?}");
    });
}

/// A frame of the loopback interface may be longer than the links between programs and kernel.
#[test]
fn packets_above_the_limit_of_the_links_are_counted() {
    in_namespace(|| {
        let mut rig = socket_rig(on_loopback());
        let mut session = session(&rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        let counters = rig.datapath().counters();
        let counted = |too_long: u64, lost: u64| {
            let both = || (counters.drops(DropReason::TooLong).get(), counters.lost_packets.get());
            let due = (0..3000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                both() == (too_long, lost)
            });
            assert!(due, "{:?}, not {:?}", both(), (too_long, lost));
        };
        let up = |rig: &mut SocketRig, length: usize| {
            let packet = udp_packet((UE, 9000), (rig.remote(), 7000), &vec![b'u'; length - 28]);
            rig.send_n3(&g_pdu(7, Some(9), &packet));
        };
        // From the UE: 3,498 bytes are the longest packet.
        up(&mut rig, 3498);
        assert_eq!(rig.receive_n6(), Some(vec![b'u'; 3470]));
        counted(0, 0);
        for (n, length) in [3499, 9000].into_iter().enumerate() {
            up(&mut rig, length);
            counted(n as u64 + 1, 0);
        }
        // They are no usage, but drops of the session.
        let traffic = rig.datapath().traffic(&[1]);
        assert_eq!((traffic[0].uplink.packets, traffic[0].uplink.bytes), (1, 3498));
        assert_eq!(traffic[0].drops, [(DropReason::TooLong, 2)]);
        up(&mut rig, 100);
        assert_eq!(rig.receive_n6(), Some(vec![b'u'; 72]), "the long ones were not sent");
        // To the UE: the kernel fragments for `n6.mtu`, and no fragment is too long.
        rig.send_n6(7000, &[b'd'; 5000]);
        let parts: Vec<usize> =
            (0..4).filter_map(|_| rig.receive_n3()).map(|bytes| bytes.len() - 16 - 20).collect();
        assert_eq!((parts.len(), parts.iter().sum::<usize>()), (4, 5008), "{parts:?}");
        counted(2, 0);
        // Rules come first: this packet is dropped for another reason.
        session.fars.values_mut().for_each(|far| far.action = Action::Drop);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        up(&mut rig, 4000);
        let dropped = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            counters.drops(DropReason::Action).get() == 1
        });
        assert!(dropped, "the reason is not the action of the FAR");
        counted(2, 0);
        let (received, sent_or_dropped) = balance(&counters, 0);
        assert_eq!(received, sent_or_dropped, "{:?}", counters.named());
    });
}

#[test]
fn the_status_has_interfaces_and_table_occupancy() {
    in_namespace(|| {
        let mut rig = with_session();
        let details = rig.datapath().details();
        assert_eq!(details["interfaces"][1], serde_json::json!({"name": "n6a", "mode": "native"}));
        assert_eq!(details["tables"]["sessions"], serde_json::json!({"used": 1, "most": 64}));
        assert_eq!(details["tables"]["rules"], serde_json::json!({"used": 2, "most": 256}));
        // The counters are up to date for the metrics without requests.
        let counters = rig.datapath().counters();
        rig.send_n3(&g_pdu(7, Some(1), &udp_packet((UE, 9000), (HOST, 7000), b"up")));
        assert!(rig.receive_n6().is_some());
        let counted = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            counters.uplink_packets.get() == 1
        });
        assert!(counted);
    });
}

#[test]
fn fragments_are_reassembled_and_forwarded() {
    in_namespace(|| {
        let mut rig = with_session();
        // Received over a link with an MTU of 1,500 bytes in two fragments, and sent over one in
        // two.
        let mut packet = udp_packet((UE, 9000), (HOST, 7000), &[b'u'; 1900]);
        packet[6] = 0;
        packet[10..12].fill(0);
        let words = packet[..20]
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        packet[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        rig.send_n3(&g_pdu(7, Some(1), &packet));
        assert_eq!(rig.receive_n6(), Some(vec![b'u'; 1900]));
        let counters = rig.datapath().counters();
        assert_eq!(counters.uplink_bytes.get(), 1928);
        // Programs run in user space on one page.
        rig.send_n3(&g_pdu(7, Some(1), &udp_packet((UE, 9000), (HOST, 7000), &[b'u'; 4000])));
        let counted = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            counters.drops(DropReason::TooLong).get() == 1
        });
        let drops = DropReason::ALL.map(|reason| (reason.name(), counters.drops(reason).get()));
        assert!(counted, "{:?} {drops:?}", counters.named());
        let (received, sent_or_dropped) = balance(&counters, 0);
        assert_eq!(received, sent_or_dropped, "{:?} {drops:?}", counters.named());
    });
}

#[test]
fn its_programs_and_links_are_removed_on_drop() {
    in_namespace(|| {
        let exists =
            |name: &str| std::path::Path::new("/proc/sys/net/ipv4/conf").join(name).exists();
        let rig = with_session();
        assert!(exists("martlet-n6") && exists("martlet-n6x"));
        // A second datapath fails, since address and interface are in use.
        let mut config = between_peers(XdpMode::Native);
        let error = open_datapath(&config).err().expect("refused");
        assert!(error.to_string().contains("upf.n3.address"), "{error}");
        config.n3.address = "127.0.0.8:2152".parse().unwrap();
        let error = open_datapath(&config).err().expect("refused");
        assert!(
            error.to_string().contains("martlet-n6") && error.to_string().contains("in use"),
            "{error}"
        );
        config.n6.interface = "other".into();
        let error = open_datapath(&config).err().expect("refused");
        assert!(error.to_string().contains("another program is attached"), "{error}");
        assert!(!exists("other"));
        drop(rig);
        assert!(!exists("martlet-n6") && !exists("martlet-n6x"));
        // The kernel removes the peers' namespaces and their links asynchronously.
        let gone = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !exists("n3a")
        });
        assert!(gone, "the link to the peers was not removed");
        // Leftovers of a killed process are removed at the next start.
        run("ip", "link add martlet-n6 address 02:4d:4c:54:00:01 type veth peer name martlet-n6x");
        run("ip", "link add n3a type veth peer name n3b");
        run("ip", &format!("addr add {N3}/24 dev n3a"));
        config = between_peers(XdpMode::Native);
        config.xdp.interfaces.clear();
        let opened = open_datapath(&config);
        assert!(opened.is_ok(), "{:?}", opened.err());
    });
}

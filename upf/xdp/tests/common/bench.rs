//! A datapath between two veth links, to a gNB and to a host of the data network, with static
//! neighbour entries.

use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId};
use martlet_upf_config::{DatapathChoice, N6Mode, UpfConfig};
use martlet_upf_datapath::Signals;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::{Change, Datapath, Event};
use martlet_upf_rules::*;
use martlet_upf_testing::peers::N3;
pub use martlet_upf_testing::peers::{GNB, HOST, UE};
use martlet_upf_testing::{in_namespace, run};
use martlet_upf_xdp::{Verdict, XdpDatapath};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// Another UE, and its TEIDs at the UPF and at the gNB.
pub const OTHER_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
pub const OTHER_TEID: u32 = 0x0202;
pub const OTHER_GNB_TEID: u32 = 0xcccc;

/// A link, with the MAC addresses of its ends.
pub struct Link {
    pub ifindex: u32,
    pub own: [u8; 6],
    pub peer: [u8; 6],
}

impl Link {
    /// Creates a link. The UPF's end `NAMEa` has the address; `NAMEb` leads to a neighbour.
    pub fn new(name: &str, number: u8, address: Ipv4Addr, neighbour: Ipv4Addr) -> Link {
        let (own, peer) = ([2, 0, 0, 0, number, 1], [2, 0, 0, 0, number, 2]);
        let text = |a: [u8; 6]| a.map(|byte| format!("{byte:02x}")).join(":");
        run(
            "ip",
            &format!(
                "link add {name}a address {} type veth peer name {name}b address {}",
                text(own),
                text(peer)
            ),
        );
        for end in ["a", "b"] {
            run("ip", &format!("link set {name}{end} up"));
        }
        run("ip", &format!("addr add {address}/24 dev {name}a"));
        run(
            "ip",
            &format!("neigh add {neighbour} lladdr {} dev {name}a nud permanent", text(peer)),
        );
        let ifindex =
            nix::net::if_::if_nametoindex(format!("{name}a").as_str()).expect("the interface");
        Link { ifindex, own, peer }
    }
}

/// The `xdp` datapath between two links.
pub struct Bench {
    pub datapath: XdpDatapath,
    pub n3: Link,
    pub n6: Link,
    signals: Signals,
}

impl Bench {
    /// Runs a test in a namespace of its own.
    pub fn each(test: impl FnOnce(Bench) + Send + 'static) {
        in_namespace(|| test(Bench::new(|_| {})));
    }

    pub fn new(change: impl FnOnce(&mut UpfConfig)) -> Bench {
        Self::measuring(0, change)
    }

    /// As [`Bench::new`], with programs that measure, for a number of sessions.
    pub fn measuring(sessions: u32, change: impl FnOnce(&mut UpfConfig)) -> Bench {
        let n3 = Link::new("n3", 1, N3, GNB);
        let n6 = Link::new("n6", 2, Ipv4Addr::new(10, 98, 0, 1), HOST);
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        config.n3.address = (N3, 2152).into();
        config.n6.mode = N6Mode::Routing;
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 512);
        // BPF_PROG_TEST_RUN executes no redirect.
        config.xdp.sockets = 0;
        change(&mut config);
        let (datapath, signals) =
            XdpDatapath::open_to_measure(&config, sessions).expect("the datapath");
        Bench { datapath, n3, n6, signals }
    }

    /// The UPF's address on N3.
    pub fn n3(&self) -> Ipv4Addr {
        N3
    }

    /// Creates the UE's session.
    pub fn session(&mut self) -> Session {
        let session = self.session_of(1, 0x0101_0101, UE);
        self.apply(&session);
        session
    }

    /// Creates the other UE's session.
    pub fn other_session(&mut self) {
        let mut session = self.session_of(2, OTHER_TEID, OTHER_UE);
        session.fars.get_mut(&2).unwrap().tunnel =
            Some(Tunnel { teid: OTHER_GNB_TEID, peer: GNB.into() });
        self.apply(&session);
    }

    pub fn apply(&mut self, session: &Session) {
        self.datapath.apply(&Change::to(session)).expect("the datapath accepts the session");
    }

    /// A session with one PDR per direction, QoS flow 9, and TEID 0xa0a0a0a0 at the gNB.
    pub fn session_of(&self, seid: u64, teid: u32, ue: Ipv4Addr) -> Session {
        let gnb = IpAddr::V4(GNB);
        let mut session = Session::new(seid, FSeid::new(seid, gnb), NodeId::Ip(gnb));
        for (id, source) in [(1, Interface::Access), (2, Interface::Core)] {
            let local = (id == 1).then_some(LocalTunnel { teid, ipv4: Some(N3), ipv6: None });
            let pdr = Pdr {
                extras: None,
                id,
                precedence: 100,
                source,
                local,
                network_instance: None,
                ue: vec![UeAddress::V4(ue)],
                filters: vec![],
                rules: vec![],
                qfis: vec![],
                outer_header_removal: true,
                far: id.into(),
                qers: vec![1],
                urrs: vec![],
                returns: false,
                application: None,
            };
            session.pdrs.insert(id, pdr);
            let far = Far {
                destination: Some(if id == 1 { Interface::Core } else { Interface::Access }),
                tunnel: (id == 2).then_some(Tunnel { teid: 0xa0a0_a0a0, peer: gnb }),
                ..Far::new(id.into(), Action::Forward)
            };
            session.fars.insert(id.into(), far);
        }
        let qer = Qer {
            id: 1,
            gate: GateStatus::default(),
            mbr: None,
            gbr: None,
            qfi: Some(9),
            reflective: false,
            ..Default::default()
        };
        session.qers.insert(1, qer);
        session
    }

    /// The next event of the datapath, if there is one shortly.
    pub fn event(&mut self) -> Option<Event> {
        let deadline = Instant::now() + Duration::from_millis(300);
        while Instant::now() < deadline {
            if let Ok(event) = self.signals.events.try_recv() {
                return Some(event);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Runs the programs on a frame from the gNB.
    pub fn run_n3(&self, frame: &[u8]) -> (Verdict, Vec<u8>) {
        self.datapath.try_frame(self.n3.ifindex, frame).expect("the programs run")
    }

    /// Runs the programs on a frame from the data network.
    pub fn run_n6(&self, frame: &[u8]) -> (Verdict, Vec<u8>) {
        self.datapath.try_frame(self.n6.ifindex, frame).expect("the programs run")
    }

    pub fn drops(&self, reason: DropReason) -> u64 {
        self.datapath.counters().drops(reason).get()
    }
}

/// Builds a frame.
pub fn ethernet(to: [u8; 6], from: [u8; 6], protocol: u16, packet: &[u8]) -> Vec<u8> {
    [&to[..], &from, &protocol.to_be_bytes(), packet].concat()
}

/// A UDP packet over IPv4 as the programs build them: without identification and UDP checksum.
pub fn udp4(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let mut packet = martlet_upf_datapath::conformance::udp_packet(from, to, payload);
    packet[4..8].fill(0);
    ip4::set_checksum(&mut packet);
    packet
}

pub use martlet_upf_testing::ip4;

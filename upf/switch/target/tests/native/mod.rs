//! A native UPF with a switch in its wires: `gnb` and `dn` are the far ends, whose frames the tests
//! send and check.
#![allow(dead_code)] // each test program uses a part
use crate::common::*;
use crate::process::Process;
use crate::wires::{End, ip};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId, ReportingTriggers};
use martlet_upf::config::{DatapathChoice, DnnConfig, N6Mode, SwitchConfig, UpfConfig};
use martlet_upf::datapath::{Change, Datapath, Event, Usage};
use martlet_upf::rules::*;
use martlet_upf::{Signals, SwitchDatapath, open_datapath};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

thread_local! {
    /// The engine of switches that this thread starts.
    static ENGINE: std::cell::Cell<&'static str> = const { std::cell::Cell::new("swx") };
    /// Whether the far ends of the outer wires accept redirected frames.
    static TAKEN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a test with the engine xdp, with native or generic XDP.
pub fn with_engine_xdp(in_drivers: bool, test: impl FnOnce()) {
    ENGINE.set("xdp");
    TAKEN.set(in_drivers);
    test();
}

pub const LISTEN: &str = "127.0.0.1:9559";

/// The wires, a switch in them if there is one, and the UPF.
pub struct Testbed {
    pub gnb: End,
    pub dn: End,
    pub datapath: SwitchDatapath,
    pub signals: Signals,
    pub switch: Option<Process>,
    state: std::path::PathBuf,
}

fn sysctl(name: &str, value: &str) {
    std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).expect(name);
}

/// The IPv6 addresses of the data network's router, and the upper half of a UE's.
const ROUTER6: &str = "fd99::2";
pub const PREFIX: u64 = 0xfd45_0000_0000_0001;

impl Testbed {
    pub fn new(native: DatapathChoice, change: impl FnOnce(&mut SwitchConfig)) -> Testbed {
        Testbed::of(native, false, change)
    }

    /// With or without an IPv6 route to the data network.
    pub fn of(
        native: DatapathChoice,
        ipv6: bool,
        change: impl FnOnce(&mut SwitchConfig),
    ) -> Testbed {
        for (far, near, own) in [
            // The neighbours' link addresses differ from these ends': the kernel must not receive
            // their frames.
            ("gnb", "access", "02:00:00:00:00:1b"),
            ("upf3", "native3", "02:00:00:00:00:0a"),
            ("dn", "core", "02:00:00:00:00:1c"),
            ("upf6", "native6", "02:00:00:00:00:0a"),
        ] {
            ip(&format!("link add {far} address {own} type veth peer name {near}"));
            for end in [far, near] {
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1")
                    .expect("IPv6 is disabled");
                ip(&format!("link set {end} up"));
            }
            if TAKEN.get() && matches!(far, "gnb" | "dn") {
                let feature = martlet_interface::Feature::GenericReceive;
                martlet_interface::set_feature(far, feature, true).expect("a feature of veth");
            }
        }
        ip("addr add 192.168.70.1/24 dev upf3");
        ip("addr add 10.99.0.1/24 dev upf6");
        ip("neigh add 192.168.70.2 lladdr 02:00:00:00:00:0b dev upf3 nud permanent");
        ip("neigh add 10.99.0.2 lladdr 02:00:00:00:00:0c dev upf6 nud permanent");
        ip("route add default via 10.99.0.2");
        if ipv6 {
            for (name, value) in [("conf/upf6/disable_ipv6", "0"), ("conf/all/forwarding", "1")] {
                std::fs::write(format!("/proc/sys/net/ipv6/{name}"), value).expect(name);
            }
            ip("-6 addr add fd99::1/64 dev upf6 nodad");
            ip(&format!("-6 neigh add {ROUTER6} lladdr 02:00:00:00:00:0c dev upf6 nud permanent"));
            ip(&format!("-6 route add default via {ROUTER6}"));
        }
        for interface in ["all", "default", "upf3", "upf6"] {
            sysctl(&format!("conf/{interface}/rp_filter"), "0");
        }
        let kind = if ipv6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
        let (gnb, dn) = (End::open("gnb"), End::open_for("dn", kind as u16));
        let state = std::env::temp_dir().join(format!(
            "martlet-offload-{}-{:?}",
            std::process::id(),
            Instant::now()
        ));
        let mut config = UpfConfig { datapath: DatapathChoice::Switch, ..UpfConfig::default() };
        config.n3.address = (Ipv4Addr::from(N3), 2152).into();
        config.n3.restoration_s = 0;
        config.n6.mode = N6Mode::Routing;
        config.dnns = vec![DnnConfig {
            name: "internet".into(),
            pools: vec!["10.32.0.0/11".into()],
            ..DnnConfig::default()
        }];
        config.switch.native = native;
        config.switch.address = LISTEN.parse().expect("an address");
        config.xdp.interfaces = vec!["upf3".into(), "upf6".into()];
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 512);
        change(&mut config.switch);
        assert_eq!(config.check(), []);
        let native = UpfConfig { datapath: config.switch.native, ..config.clone() };
        let (native, signals) = open_datapath(&native).expect("the native datapath");
        let datapath = SwitchDatapath::open(native, &config).expect("the datapath");
        let mut testbed = Testbed { gnb, dn, datapath, signals, switch: None, state };
        testbed.start_switch();
        testbed
    }

    pub fn start_switch(&mut self) {
        let state = self.state.to_str().expect("text").to_owned();
        let wires = [
            "--access",
            "access",
            "--native-n3",
            "native3",
            "--core",
            "core",
            "--native-n6",
            "native6",
        ];
        let own = ["--listen", LISTEN, "--state", &state, "--engine", ENGINE.get()];
        self.switch = Some(Process::start(&[&own[..], &wires].concat()));
        self.eventually("the UPF is the primary controller", |testbed| {
            testbed.status("connected") == true
        });
    }

    /// The next switch starts without the state of this one, which has ended.
    pub fn forget_state(&self) {
        std::fs::remove_dir_all(&self.state).expect("the state of the switch");
    }

    /// A status value of the switch datapath.
    pub fn status(&self, what: &str) -> serde_json::Value {
        self.datapath.details()["switch"][what].clone()
    }

    pub fn on_switch(&self) -> u64 {
        self.status("sessions")["onSwitch"].as_u64().expect("a number")
    }

    /// Waits up to ten seconds; returns the time it took.
    pub fn eventually(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&mut Testbed) -> bool,
    ) -> Duration {
        let started = Instant::now();
        while !holds(self) {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{what}: {}",
                self.datapath.details()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        started.elapsed()
    }

    /// Packets counted on any path: a lower bound of those sent.
    pub fn counted_so_far(&self) -> u32 {
        self.datapath.counters().uplink_packets.get() as u32
    }

    pub fn apply(&mut self, session: &Session) {
        self.datapath.apply(&Change::to(session)).expect("the datapath accepts the session");
    }

    pub fn usage(&mut self) -> Usage {
        let usage = self.datapath.take_usage(1, &[1]);
        assert_eq!(usage.len(), 1);
        usage[0]
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.signals.events.try_recv().ok()).collect()
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        drop(self.switch.take());
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

/// The session of the UE: one PDR per direction, QoS flow 9, TEID 0x1000 here and 0x2000 at the
/// gNB, and a URR.
pub fn session() -> Session {
    let gnb = IpAddr::V4(GNB.into());
    let mut session = Session::new(1, FSeid::new(1, gnb), NodeId::Ip(gnb));
    for (id, source) in [(1, Interface::Access), (2, Interface::Core)] {
        let local =
            (id == 1).then_some(LocalTunnel { teid: 0x1000, ipv4: Some(N3.into()), ipv6: None });
        let pdr = Pdr {
            id,
            precedence: 100,
            source,
            local,
            network_instance: None,
            ue: vec![UeAddress::V4(UE.into())],
            filters: vec![],
            application: None,
            rules: vec![],
            qfis: if id == 1 { vec![9] } else { vec![] },
            outer_header_removal: id == 1,
            far: id.into(),
            qers: vec![1],
            urrs: vec![1],
            returns: false,
            extras: None,
        };
        session.pdrs.insert(id, pdr);
        let far = Far {
            destination: Some(if id == 1 { Interface::Core } else { Interface::Access }),
            tunnel: (id == 2).then_some(Tunnel { teid: 0x2000, peer: gnb }),
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
    let urr = Urr {
        id: 1,
        duration: false,
        volume: true,
        triggers: ReportingTriggers::default(),
        period: None,
        volume_threshold: None,
        volume_quota: None,
        time_threshold: None,
        time_quota: None,
        exhausted: false,
        quota_given: 0,
        ..Default::default()
    };
    session.urrs.insert(1, urr);
    session
}

/// A numbered packet of this length, from or to the UE.
pub fn packet(n: u32, bytes: usize, up: bool) -> Vec<u8> {
    let payload = [&vec![0x5a; bytes - 28 - 6][..], b"nr", &n.to_be_bytes()].concat();
    match up {
        true => uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &payload))),
        false => ethernet(&ipv4(17, 64, REMOTE, UE, &udp(53, 1000, &payload))),
    }
}

/// The same over IPv6, in the same tunnel.
pub fn packet6(n: u32, bytes: usize, up: bool) -> Vec<u8> {
    let ue = Ipv6Addr::from_bits(u128::from(PREFIX) << 64 | 7);
    let host: Ipv6Addr = "2001:db8:98::2".parse().expect("an address");
    let payload = [&vec![0x5a; bytes - 48 - 6][..], b"nr", &n.to_be_bytes()].concat();
    // IPv6 requires a checksum, but nothing here verifies it.
    match up {
        true => uplink(&ipv6(64, ue, host, &udp(1000, 53, &payload))),
        false => ethernet6(&ipv6(64, host, ue, &udp(53, 1000, &payload))),
    }
}

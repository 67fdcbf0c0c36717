//! The device under test: a datapath with sessions, between two virtual links.
use super::Rules;
use crate::command::ip;
use anyhow::{Context, Result, anyhow};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId, ReportingTriggers, SdfFilter};
use martlet_upf::config::{DatapathChoice, DnnConfig, N6Mode, OffloadPolicy, SwitchRun, UpfConfig};
use martlet_upf::datapath::{Change, Datapath};
use martlet_upf::rules::*;
use martlet_upf::{Signals, XdpDatapath};
use martlet_upf_xdp::{Bench, BenchPath, bench_teid, bench_ue};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::{Sender, channel};

const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
const N6: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
/// The UDP port that matches the last PDR of a session.
const PORT: u16 = 7000;

/// Both ends of a link without packets, which holds the generator's programs: see
/// [`Traffic::hold`](martlet_upf_xdp::Traffic::hold).
pub(super) const GENERATORS: [&str; 2] = ["gena", "genb"];

/// An XDP datapath for BPF_PROG_TEST_RUN.
pub struct Dut {
    pub datapath: XdpDatapath,
    _signals: Signals,
    pub n3: u32,
    pub n6: u32,
}

/// MAC addresses of both ends of a link: the UPF's, and the peer's.
pub fn link_addresses(uplink: bool) -> ([u8; 6], [u8; 6]) {
    let number = if uplink { 3 } else { 6 };
    ([2, 0, 0, 0, number, 1], [2, 0, 0, 0, number, 2])
}

/// Makes the links in this network namespace.
pub fn links() -> Result<()> {
    for (name, uplink, ours, theirs) in [("n3", true, N3, GNB), ("n6", false, N6, HOST)] {
        let text = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
        let (own, other) = link_addresses(uplink);
        let (own, other) = (text(own), text(other));
        ip(&format!("link add {name}a address {own} type veth peer name {name}b address {other}"))?;
        ip(&format!("link set {name}a up"))?;
        ip(&format!("link set {name}b up"))?;
        ip(&format!("addr add {ours}/24 dev {name}a"))?;
        ip(&format!("neigh add {theirs} lladdr {other} dev {name}a nud permanent"))?;
    }
    let [one, other] = GENERATORS;
    ip(&format!("link add {one} type veth peer name {other}"))
}

/// Raises the MTU of the N3 link for packets of 1,500 bytes within a tunnel.
pub fn raise_n3_mtu() -> Result<()> {
    ip("link set n3a mtu 1600")?;
    ip("link set n3b mtu 1600")
}

/// Puts a switch between the links and the native UPF, and configures the UPF to start it.
pub fn insert_switch(config: &mut UpfConfig) -> Result<()> {
    for (name, uplink, ours, theirs) in [("n3", true, N3, GNB), ("n6", false, N6, HOST)] {
        let text = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
        let (own, other) = link_addresses(uplink);
        ip(&format!("addr flush dev {name}a"))?;
        ip(&format!("link add {name}u address {} type veth peer name {name}s", text(own)))?;
        ip(&format!("link set {name}u mtu 1600 up"))?;
        ip(&format!("link set {name}s mtu 1600 up"))?;
        ip(&format!("addr add {ours}/24 dev {name}u"))?;
        ip(&format!("neigh add {theirs} lladdr {} dev {name}u nud permanent", text(other)))?;
    }
    ip("link set lo up")?;
    config.switch.policy = OffloadPolicy::All;
    config.switch.core_next_hop = Some(HOST);
    config.switch.run = Some(switch_run());
    Ok(())
}

/// The switch program between the links, at the default place.
pub fn switch_run() -> SwitchRun {
    SwitchRun {
        program: None,
        access: "n3a".into(),
        native_n3: "n3s".into(),
        core: "n6a".into(),
        native_n6: "n6s".into(),
        spin_us: None,
        state: None,
    }
}

pub fn ifindex(name: &str) -> Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

impl Dut {
    /// A datapath with a number of sessions.
    pub fn new(rules: Rules, sessions: u32) -> Result<Dut> {
        let config = configuration(rules, sessions);
        let (mut datapath, signals) =
            XdpDatapath::open_to_measure(&config, sessions).map_err(|error| anyhow!(error))?;
        for n in 0..sessions {
            let mut session = session(rules, n);
            session.resolve(&config.rules)?;
            datapath.apply(&Change::to(&session))?;
        }
        let dut = Dut { datapath, _signals: signals, n3: ifindex("n3a")?, n6: ifindex("n6a")? };
        dut.datapath.programs().fill_bare(sessions, &dut.path(true, 64))?;
        if rules == Rules::Nat {
            dut.create_nat_flows(sessions)?;
        }
        Ok(dut)
    }

    /// Creates a NAT flow for every session. Sessions are drawn at random, so it takes several
    /// rounds.
    fn create_nat_flows(&self, sessions: u32) -> Result<()> {
        let programs = self.datapath.programs();
        for _ in 0..20 {
            programs.measure(
                Bench::Uplink,
                sessions,
                &self.path(true, 64),
                sessions.max(1000) * 16,
            )?;
            if programs.fill_publics(sessions).is_ok() {
                return Ok(());
            }
        }
        Ok(programs.fill_publics(sessions)?)
    }

    /// Path of the measured packets; `length` is that of the UE's packet in bytes.
    pub fn path(&self, uplink: bool, length: u32) -> BenchPath {
        let ifindex = if uplink { self.n3 } else { self.n6 };
        path(length, ifindex)
    }
}

/// Path of packets for BPF_PROG_TEST_RUN, which are not sent.
pub fn path(length: u32, ifindex: u32) -> BenchPath {
    BenchPath {
        n3: N3,
        gnb: GNB,
        host: (HOST, PORT),
        length,
        ifindex,
        translated: false,
        link: Default::default(),
        stamp_at: 0,
    }
}

/// The configuration of a UPF with the `xdp` datapath and room for a number of sessions.
pub fn configuration(rules: Rules, sessions: u32) -> UpfConfig {
    let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
    config.n3.address = (N3, 2152).into();
    config.n6.mode = N6Mode::Routing;
    config.dnns = vec![DnnConfig {
        name: "internet".into(),
        pools: vec!["10.0.0.0/11".into()],
        allocate: false,
        ..Default::default()
    }];
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    config.xdp.sessions = sessions;
    config.xdp.rules = sessions * (2 * rules.pdrs());
    config.xdp.filters = (sessions * 2 * rules.pdrs()).max(64);
    config.kernel.sessions = sessions as usize;
    config.n4.sessions = sessions as usize;
    if rules == Rules::Nat {
        config.n6.mode = N6Mode::Nat;
        config.xdp.nat.addresses = (1..=8).map(|n| Ipv4Addr::new(198, 51, 100, n)).collect();
        config.xdp.nat.last_port = 65_535;
        config.xdp.nat.flows = sessions + 1024;
    }
    config
}

type Task = Box<dyn FnOnce(&mut Dut) + Send>;

/// A device under test on a thread and in a network namespace of its own, so that several can
/// exist.
pub struct DutThread {
    tasks: Option<Sender<Task>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl DutThread {
    pub fn new(rules: Rules, sessions: u32) -> Result<DutThread> {
        let (tasks, received) = channel::<Task>();
        let (ready, made) = channel();
        let thread = std::thread::spawn(move || {
            let dut = crate::namespace::enter_new()
                .and_then(|()| links())
                .and_then(|()| Dut::new(rules, sessions));
            let mut dut = match dut {
                Ok(dut) => dut,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let _ = ready.send(Ok(()));
            received.into_iter().for_each(|act| act(&mut dut));
        });
        made.recv().context("the thread of the datapath panicked")??;
        Ok(DutThread { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Runs a closure on the thread of the device under test.
    pub fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Dut) -> T + Send + 'static,
    ) -> Result<T> {
        let (result, is_done) = channel();
        let act: Task = Box::new(move |dut| drop(result.send(act(dut))));
        self.tasks
            .as_ref()
            .context("the thread of the datapath has ended")?
            .send(act)
            .ok()
            .context("the thread of the datapath has ended")?;
        is_done.recv().context("the thread of the datapath has ended")
    }
}

impl Drop for DutThread {
    fn drop(&mut self) {
        self.tasks.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The n-th session.
pub fn session(rules: Rules, n: u32) -> Session {
    let gnb = IpAddr::V4(GNB);
    let seid = u64::from(n) + 1;
    let mut session = Session::new(seid, FSeid::new(seid, gnb), NodeId::Ip(gnb));
    for (id, source) in [(1u16, Interface::Access), (2, Interface::Core)] {
        let local =
            (id == 1).then_some(LocalTunnel { teid: bench_teid(n), ipv4: Some(N3), ipv6: None });
        let pdr = Pdr {
            extras: None,
            id,
            precedence: 1000,
            source,
            local,
            network_instance: None,
            ue: vec![UeAddress::V4(bench_ue(n))],
            filters: vec![],
            rules: vec![],
            qfis: vec![],
            outer_header_removal: true,
            far: id.into(),
            qers: if rules.has_qer() { vec![1] } else { vec![] },
            urrs: rules.urrs().collect(),
            returns: false,
            application: None,
        };
        // The PDRs before it match other ports.
        for extra in 1..rules.pdrs() as u16 {
            let text = format!("permit out 17 from any {} to assigned", 20_000 + extra);
            let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
            let id = 100 * id + extra;
            session.pdrs.insert(
                id,
                Pdr { id, precedence: extra.into(), filters: vec![filter], ..pdr.clone() },
            );
        }
        session.pdrs.insert(id, pdr);
        let far = Far {
            destination: Some(if id == 1 { Interface::Core } else { Interface::Access }),
            tunnel: (id == 2).then_some(Tunnel { teid: bench_teid(n), peer: gnb }),
            ..Far::new(id.into(), Action::Forward)
        };
        session.fars.insert(id.into(), far);
    }
    if rules.has_qer() {
        let fast = BitRate { uplink: 1_000_000_000_000, downlink: 1_000_000_000_000 };
        let (gate, mbr) = (GateStatus::default(), Some(fast));
        session.qers.insert(
            1,
            Qer {
                id: 1,
                gate,
                mbr,
                gbr: None,
                qfi: Some(9),
                reflective: false,
                ..Default::default()
            },
        );
    }
    for id in rules.urrs() {
        // A threshold that is never reached is checked for each packet too.
        let never = VolumeLimit { total: Some(1 << 60), ..VolumeLimit::default() };
        let urr = Urr {
            id,
            duration: false,
            volume: true,
            triggers: ReportingTriggers::VOLTH,
            period: None,
            volume_threshold: Some(never),
            volume_quota: None,
            time_threshold: None,
            time_quota: None,
            exhausted: false,
            quota_given: 0,
            ..Default::default()
        };
        session.urrs.insert(id, urr);
    }
    session
}

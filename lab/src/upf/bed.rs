//! A datapath between two links whose other ends nobody listens to, with sessions of some kind.
use super::Rules;
use anyhow::{Context, Result, anyhow, ensure};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId, ReportingTriggers, SdfFilter};
use martlet_upf::config::{DatapathChoice, DnnConfig, N6Mode, OffloadPolicy, SwitchRun, UpfConfig};
use martlet_upf::datapath::{Change, Datapath};
use martlet_upf::rules::*;
use martlet_upf::{Signals, XdpDatapath};
use martlet_upf_xdp::{Bench, BenchPath, bench_teid, bench_ue};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
const N6: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
/// The port with which packets meet the last PDR of a session.
const PORT: u16 = 7000;

/// Both ends of a link without packets, for the programs of the generator: see
/// [`Traffic::hold`](martlet_upf_xdp::Traffic::hold).
pub(super) const GENERATORS: [&str; 2] = ["gena", "genb"];

/// The datapath.
pub struct Bed {
    pub datapath: XdpDatapath,
    _signals: Signals,
    pub n3: u32,
    pub n6: u32,
}

fn ip(words: &str) -> Result<()> {
    let status = Command::new("ip")
        .args(words.split(' '))
        .status()
        .context("`ip` is missing: install iproute2")?;
    ensure!(status.success(), "ip {words} failed");
    Ok(())
}

/// Link addresses of both ends of a link: ours, and the other one.
pub fn link_addresses(uplink: bool) -> ([u8; 6], [u8; 6]) {
    let number = if uplink { 3 } else { 6 };
    ([2, 0, 0, 0, number, 1], [2, 0, 0, 0, number, 2])
}

/// Makes the links, once in a network namespace.
pub fn links() -> Result<()> {
    for (name, uplink, ours, theirs) in [("n3", true, N3, GNB), ("n6", false, N6, HOST)] {
        let text = |octets: [u8; 6]| octets.map(|octet| format!("{octet:02x}")).join(":");
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

/// Has the link of N3 take packets of 1,500 octets in their tunnel.
pub fn longest_frames() -> Result<()> {
    ip("link set n3a mtu 1600")?;
    ip("link set n3b mtu 1600")
}

/// Has the links end at a switch, with the native UPF behind it, and a configuration that starts
/// it.
pub fn put_a_switch_between(config: &mut UpfConfig) -> Result<()> {
    for (name, uplink, ours, theirs) in [("n3", true, N3, GNB), ("n6", false, N6, HOST)] {
        let text = |octets: [u8; 6]| octets.map(|octet| format!("{octet:02x}")).join(":");
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
    config.switch.run = Some(SwitchRun {
        program: None,
        access: "n3a".into(),
        native_n3: "n3s".into(),
        core: "n6a".into(),
        native_n6: "n6s".into(),
        spin_us: None,
        state: None,
    });
    Ok(())
}

pub fn ifindex(name: &str) -> Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

impl Bed {
    /// A datapath with so many sessions.
    pub fn new(rules: Rules, sessions: u32) -> Result<Bed> {
        let config = configuration(rules, sessions);
        let (mut datapath, signals) =
            XdpDatapath::open_to_measure(&config, sessions).map_err(|error| anyhow!(error))?;
        for n in 0..sessions {
            let mut session = session(rules, n);
            session.resolve(&config.rules)?;
            datapath.apply(&Change::to(&session))?;
        }
        let bed = Bed { datapath, _signals: signals, n3: ifindex("n3a")?, n6: ifindex("n6a")? };
        bed.datapath.programs().fill_bare(sessions, &bed.path(true, 64))?;
        if rules == Rules::Nat {
            bed.make_flows(sessions)?;
        }
        Ok(bed)
    }

    /// Has every session have a flow that is translated. Sessions are drawn at random, so it takes
    /// some rounds.
    fn make_flows(&self, sessions: u32) -> Result<()> {
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

    /// The way of measured packets, whose length is that of the UE's packet in octets.
    pub fn path(&self, uplink: bool, length: u32) -> BenchPath {
        let ifindex = if uplink { self.n3 } else { self.n6 };
        path(length, ifindex)
    }
}

/// The way of packets of a length that are not really sent.
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

/// A UPF of the `xdp` datapath with room for so many sessions.
pub fn configuration(rules: Rules, sessions: u32) -> UpfConfig {
    let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
    config.n3.address = (N3, 2152).into();
    config.n6.mode = N6Mode::Routing;
    config.dnns = vec![DnnConfig {
        name: "internet".into(),
        pools: vec!["10.0.0.0/11".into()],
        allocate: false,
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

type Ask = Box<dyn FnOnce(&mut Bed) + Send>;

/// A bed on a thread and in a network namespace of its own, so that there can be several of them.
pub struct BedThread {
    ask: Option<Sender<Ask>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl BedThread {
    pub fn new(rules: Rules, sessions: u32) -> Result<BedThread> {
        let (ask, asked) = channel::<Ask>();
        let (ready, made) = channel();
        let thread = std::thread::spawn(move || {
            let bed = crate::namespace::enter_a_new_one()
                .and_then(|()| links())
                .and_then(|()| Bed::new(rules, sessions));
            let mut bed = match bed {
                Ok(bed) => bed,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let _ = ready.send(Ok(()));
            asked.into_iter().for_each(|act| act(&mut bed));
        });
        made.recv().context("a datapath was not made")??;
        Ok(BedThread { ask: Some(ask), thread: Some(thread) })
    }

    /// Does something with the bed, there.
    pub fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Bed) -> T + Send + 'static,
    ) -> Result<T> {
        let (give, given) = channel();
        let act: Ask = Box::new(move |bed| drop(give.send(act(bed))));
        self.ask.as_ref().context("the bed is gone")?.send(act).ok().context("the bed is gone")?;
        given.recv().context("the bed is gone")
    }
}

impl Drop for BedThread {
    fn drop(&mut self) {
        self.ask.take();
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
            beyond: None,
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
        // Those before it are for other ports.
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
        session
            .qers
            .insert(1, Qer { id: 1, gate, mbr, gbr: None, qfi: Some(9), reflective: false });
    }
    for id in rules.urrs() {
        // A threshold that is never reached has to be looked at all the same.
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
            time_quota_exhausted: false,
            quota_given: 0,
        };
        session.urrs.insert(id, urr);
    }
    session
}

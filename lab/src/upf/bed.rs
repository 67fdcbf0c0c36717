//! A datapath between two links whose other ends nobody listens to, with sessions of some kind.
use super::Rules;
use anyhow::{Context, Result, anyhow, ensure};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId, ReportingTriggers, SdfFilter};
use martlet_upf::config::{DatapathChoice, DnnConfig, N6Mode, UpfConfig};
use martlet_upf::datapath::{Change, Datapath};
use martlet_upf::rules::*;
use martlet_upf::{Signals, XdpDatapath};
use martlet_upf_xdp::{BenchPath, bench_teid, bench_ue};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
const N6: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
/// The port with which packets meet the last PDR of a session.
const PORT: u16 = 7000;

/// The datapath.
pub struct Bed {
    pub datapath: XdpDatapath,
    _signals: Signals,
    pub n3: u32,
    pub n6: u32,
}

fn ip(words: &str) -> Result<()> {
    let status = Command::new("ip").args(words.split(' ')).status().context("`ip` is missing: install iproute2")?;
    ensure!(status.success(), "ip {words} failed");
    Ok(())
}

/// Makes the links, once.
pub fn links() -> Result<()> {
    for (name, ours, theirs) in [("n3", N3, GNB), ("n6", N6, HOST)] {
        ip(&format!("link add {name}a type veth peer name {name}b"))?;
        ip(&format!("link set {name}a up"))?;
        ip(&format!("link set {name}b up"))?;
        ip(&format!("addr add {ours}/24 dev {name}a"))?;
        ip(&format!("neigh add {theirs} lladdr 02:00:00:00:00:02 dev {name}a nud permanent"))?;
    }
    Ok(())
}

fn ifindex(name: &str) -> Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

impl Bed {
    /// A datapath with so many sessions.
    pub fn new(rules: Rules, sessions: u32) -> Result<Bed> {
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        config.n3.address = (N3, 2152).into();
        config.n6.mode = N6Mode::Routing;
        config.dnns = vec![DnnConfig { name: "internet".into(), pools: vec!["10.0.0.0/11".into()] }];
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        config.xdp.sessions = sessions;
        config.xdp.rules = sessions * (2 * rules.pdrs());
        config.xdp.filters = (sessions * 2 * rules.pdrs()).max(64);
        let (mut datapath, signals) =
            XdpDatapath::open_to_measure(&config, sessions).map_err(|error| anyhow!(error))?;
        for n in 0..sessions {
            let mut session = session(rules, n);
            session.resolve(&config.rules)?;
            datapath.apply(&Change::to(&session))?;
        }
        let bed = Bed { datapath, _signals: signals, n3: ifindex("n3a")?, n6: ifindex("n6a")? };
        bed.datapath.programs().fill_bare(sessions, &bed.path(true, 64))?;
        Ok(bed)
    }

    /// The way of measured packets, whose length is that of the UE's packet in octets.
    pub fn path(&self, uplink: bool, length: u32) -> BenchPath {
        let ifindex = if uplink { self.n3 } else { self.n6 };
        BenchPath { n3: N3, gnb: GNB, host: (HOST, PORT), length, ifindex }
    }
}

/// The n-th session.
fn session(rules: Rules, n: u32) -> Session {
    let gnb = IpAddr::V4(GNB);
    let seid = u64::from(n) + 1;
    let mut session = Session::new(seid, FSeid::new(seid, gnb), NodeId::Ip(gnb));
    for (id, source) in [(1u16, Interface::Access), (2, Interface::Core)] {
        let local = (id == 1).then_some(LocalTunnel { teid: bench_teid(n), ipv4: Some(N3), ipv6: None });
        let pdr = Pdr {
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
        };
        // Those before it are for other ports.
        for extra in 1..rules.pdrs() as u16 {
            let text = format!("permit out 17 from any {} to assigned", 20_000 + extra);
            let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
            let id = 100 * id + extra;
            session.pdrs.insert(id, Pdr { id, precedence: extra.into(), filters: vec![filter], ..pdr.clone() });
        }
        session.pdrs.insert(id, pdr);
        let far = Far {
            id: id.into(),
            action: Action::Forward,
            destination: Some(if id == 1 { Interface::Core } else { Interface::Access }),
            network_instance: None,
            tunnel: (id == 2).then_some(Tunnel { teid: bench_teid(n), peer: gnb }),
            bar: None,
        };
        session.fars.insert(id.into(), far);
    }
    if rules.has_qer() {
        let fast = BitRate { uplink: 1_000_000_000_000, downlink: 1_000_000_000_000 };
        let (gate, mbr) = (GateStatus::default(), Some(fast));
        session.qers.insert(1, Qer { id: 1, gate, mbr, gbr: None, qfi: Some(9), reflective: false });
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

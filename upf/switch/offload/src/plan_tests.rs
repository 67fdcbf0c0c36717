use super::*;
use martlet_pfcp::ie::{FSeid, GateStatus, NodeId, SdfFilter};
use martlet_upf_datapath::perimeter::Sources;
use martlet_upf_rules::{BitRate, LocalTunnel};

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
const TEID: u32 = 0x100;

fn pdr(id: u16, precedence: u32, uplink: bool, filters: &[&str]) -> Pdr {
    let filter =
        |text: &&str| SdfFilter { flow_description: Some((*text).into()), ..Default::default() };
    let filters: Vec<SdfFilter> = filters.iter().map(filter).collect();
    Pdr {
        id,
        precedence,
        source: if uplink { Interface::Access } else { Interface::Core },
        local: uplink.then_some(LocalTunnel { teid: TEID, ipv4: None, ipv6: None }),
        network_instance: None,
        ue: vec![UeAddress::V4(UE)],
        application: None,
        rules: filters.iter().map(|filter| SdfRule::of(filter).unwrap()).collect(),
        filters,
        qfis: if uplink { vec![9] } else { vec![] },
        outer_header_removal: uplink,
        far: if uplink { 1 } else { 2 },
        qers: vec![1],
        urrs: vec![1],
        returns: false,
        extras: None,
    }
}

fn far(id: u32, tunnel: Option<Tunnel>) -> Far {
    let destination = Some(if tunnel.is_some() { Interface::Access } else { Interface::Core });
    Far { destination, tunnel, ..Far::new(id, Action::Forward) }
}

fn qer(id: u32, mbr: Option<u64>) -> Qer {
    let mbr = mbr.map(|rate| BitRate { uplink: rate, downlink: rate });
    Qer { id, gate: GateStatus::default(), mbr, gbr: None, qfi: Some(9), reflective: false }
}

/// A session as our SMF creates it: a PDR per direction, and one QER with the session's bit rate.
fn session() -> Session {
    let ip = IpAddr::V4(GNB);
    let mut session = Session::new(1, FSeid::new(1, ip), NodeId::Ip(ip));
    session.fars.insert(1, far(1, None));
    session.fars.insert(2, far(2, Some(Tunnel { teid: 0x200, peer: ip })));
    session.qers.insert(1, qer(1, Some(100_000_000)));
    session.pdrs.insert(1, pdr(1, 255, true, &[]));
    session.pdrs.insert(2, pdr(2, 255, false, &[]));
    session
}

#[test]
fn uplink_packets_are_forwarded_from_the_gnb_of_the_session_alone() {
    let checked = |session: &Session, sources| {
        Plan::of(session).and_then(|plan| plan.checked(sources)).unwrap()
    };
    let plan = checked(&session(), Sources::Session);
    assert_eq!(plan.uplink.unwrap().sender, Some(GNB.into()));
    assert_eq!(checked(&session(), Sources::Peers).uplink.unwrap().sender, None);
    // While packets wait for the UE, its gNB is not known.
    let mut waits = session();
    waits.fars.insert(2, Far::new(2, Action::Buffer { notify: true }));
    let plan = Plan::of(&waits).unwrap();
    assert_eq!(plan.clone().checked(Sources::Session), Err(Unsupported::NothingForwarded));
    assert!(plan.checked(Sources::Any).is_ok());
}

#[test]
fn a_session_without_filters_is_one_entry_per_direction() {
    let plan = Plan::of(&session()).unwrap();
    let (up, down) = (plan.uplink.clone().unwrap(), plan.downlink.clone().unwrap());
    assert!(up.is_single_entry() && down.is_single_entry());
    assert_eq!((up.teid, down.teid), (Some(TEID), None));
    assert_eq!(plan.ue, Ue { v4: Some(UE), v6: None });
    assert_eq!(up.rules[0].matches, [Match { qfi: Some(9), ..Match::all(Version::V4) }]);
    assert_eq!(up.rate, Some(Rate { qer: 1, bits: 100_000_000 }));
    assert_eq!(down.rules[0].towards, Towards::Gnb { tunnel: 0x200, peer: GNB.into(), qfi: 9 });
    assert_eq!((plan.peers(), plan.qfis()), ([IpAddr::V4(GNB)].into(), [9].into()));
}

#[test]
fn filters_become_applications_in_their_order() {
    let mut session = session();
    session.qers.insert(2, qer(2, Some(5_000_000)));
    for (id, uplink) in [(11, true), (12, false)] {
        let mut flow =
            pdr(id, 10, uplink, &["permit out 17 from 8.8.0.0/16 53,1000-2000 to assigned"]);
        flow.qers = vec![2, 1];
        session.pdrs.insert(id, flow);
    }
    let plan = Plan::of(&session).unwrap();
    let down = plan.downlink.unwrap();
    let remote = Some(([8, 8, 0, 0].into(), 16));
    let at =
        |ports| Match { remote, ports: Some(ports), protocol: Some(17), ..Match::all(Version::V4) };
    assert!(!down.is_single_entry());
    assert_eq!(down.rules[0].matches, [at((53, 53)), at((1000, 2000))]);
    assert_eq!((down.rules[0].pdr, down.rules[1].pdr), (12, 2));
    // The session's rate applies to both, the flow's to one.
    assert_eq!(down.rate.map(|rate| rate.qer), Some(1));
    assert_eq!(down.rules[0].rate.map(|rate| rate.qer), Some(2));
    assert_eq!(down.rules[1].rate, None);
}

#[test]
fn filters_that_tables_cannot_express_lead_to_the_native_upf() {
    let mut session = session();
    session.qers.insert(2, qer(2, None));
    let mut flow = pdr(
        12,
        10,
        false,
        &["permit out 17 from 8.8.8.8 53 to 10.45.0.2 4000", "permit out 6 from any to assigned"],
    );
    flow.qers = vec![2];
    session.pdrs.insert(12, flow.clone());
    let down = Plan::of(&session).unwrap().downlink.unwrap();
    let found: Vec<(u16, bool)> =
        down.rules.iter().map(|rule| (rule.pdr, rule.towards == Towards::Native)).collect();
    assert_eq!(found, [(12, false), (12, true), (2, false)]);
    // Wider than the filter: the UE port is ignored.
    assert_eq!(
        down.rules[1].matches,
        [Match {
            remote: Some(([8, 8, 8, 8].into(), 32)),
            ports: Some((53, 53)),
            protocol: Some(17),
            ..Match::all(Version::V4)
        }]
    );
    // A bit rate cannot be enforced on both paths together.
    flow.qers = vec![1];
    session.pdrs.insert(12, flow);
    let plan = Plan::of(&session).unwrap();
    assert!(plan.downlink.is_none() && plan.uplink.is_some());
}

#[test]
fn packets_that_are_not_forwarded_stay_with_the_native_upf() {
    let mut waits = session();
    waits.fars.get_mut(&2).unwrap().action = Action::Buffer { notify: true };
    assert!(Plan::of(&waits).unwrap().downlink.is_none());
    let mut closed = session();
    closed.qers.get_mut(&1).unwrap().gate =
        GateStatus { uplink_closed: true, downlink_closed: true };
    assert!(Plan::of(&closed).is_err());
    let mut unmarked = session();
    unmarked.qers.get_mut(&1).unwrap().qfi = None;
    assert!(Plan::of(&unmarked).unwrap().downlink.is_none());
}

#[test]
fn a_session_has_an_address_a_prefix_or_both() {
    let (mut six, mut both, mut many) = (session(), session(), session());
    six.pdrs.values_mut().for_each(|pdr| pdr.ue = vec![UeAddress::V6(1)]);
    both.pdrs.values_mut().for_each(|pdr| pdr.ue.push(UeAddress::V6(1)));
    many.pdrs.values_mut().for_each(|pdr| pdr.ue.extend([UeAddress::V6(1), UeAddress::V6(2)]));
    assert!(Plan::of(&many).is_err());
    let (six, both) = (Plan::of(&six).unwrap(), Plan::of(&both).unwrap());
    assert_eq!((six.ue, both.ue), (Ue { v4: None, v6: Some(1) }, Ue { v4: Some(UE), v6: Some(1) }));
    for plan in [&six, &both] {
        assert!(plan.directions().all(|(_, part)| part.is_single_entry()));
    }
    let networks = [Next::Network(Version::V4), Next::Network(Version::V6)];
    assert_eq!(
        both.nexts(),
        [&[Next::Gnb(GNB.into())][..], &networks].concat().into_iter().collect()
    );
    // Without a route for one version, the other one is still offloaded.
    assert_eq!(both.only(Version::V6), Some(six.clone()));
    assert_eq!(both.only(Version::V4), Plan::of(&session()).ok());
    assert_eq!(six.only(Version::V4), None);
}

#[test]
fn filters_match_packets_of_their_version_only() {
    let mut both = session();
    both.qers.insert(2, qer(2, None));
    let mut flow = pdr(
        12,
        10,
        false,
        &[
            "permit out 17 from 2001:db8:1:2::/48 53 to assigned",
            "permit out 6 from any to assigned",
        ],
    );
    flow.qers = vec![2];
    both.pdrs.insert(12, flow);
    both.pdrs.values_mut().for_each(|pdr| pdr.ue = vec![UeAddress::V4(UE), UeAddress::V6(1)]);
    let down = Plan::of(&both).unwrap().downlink.unwrap();
    let remote = Some(("2001:db8:1::".parse::<IpAddr>().unwrap(), 48));
    let tcp = |version| Match { protocol: Some(6), ..Match::all(version) };
    let dns =
        Match { remote, ports: Some((53, 53)), protocol: Some(17), ..Match::all(Version::V6) };
    assert_eq!(down.rules[0].matches, [dns, tcp(Version::V4), tcp(Version::V6)]);
    assert_eq!(down.rules[1].matches, [Version::V4, Version::V6].map(Match::all));
}

#[test]
fn unreachable_rules_are_omitted() {
    let mut session = session();
    session.pdrs.insert(20, pdr(20, 300, false, &["permit out 6 from any to 10.45.0.2 80"]));
    assert!(Plan::of(&session).unwrap().downlink.unwrap().is_single_entry());
}

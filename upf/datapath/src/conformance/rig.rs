//! A datapath between a gNB and a data network.
use super::REMOTE;
use crate::{Datapath, Event};
use martlet_pfcp::ie::{FSeid, GateStatus, Interface, NodeId};
use martlet_upf_rules::*;
use std::net::{IpAddr, Ipv4Addr};

/// A datapath with its peers, created for each check.
pub trait Rig {
    /// The datapath.
    fn datapath(&mut self) -> &mut dyn Datapath;
    /// Its address on N3.
    fn n3(&self) -> IpAddr;
    /// The gNB's address.
    fn gnb(&self) -> IpAddr;
    /// An address of a UE; the data network sends packets for 10.45.0.0/16 to the datapath.
    fn ue(&self) -> Ipv4Addr;
    /// The address of a host in the data network.
    fn remote(&self) -> Ipv4Addr;
    /// The gNB sends a datagram to the GTP-U port.
    fn send_n3(&mut self, datagram: &[u8]);
    /// The next datagram at the gNB's GTP-U port; `None` after a timeout.
    fn receive_n3(&mut self) -> Option<Vec<u8>>;
    /// The host sends a UDP packet from this port, 7000 or 7001, to port 9000 of the UE.
    fn send_n6(&mut self, port: u16, payload: &[u8]);
    /// The payload of the next packet at the host's ports; `None` after a timeout.
    fn receive_n6(&mut self) -> Option<Vec<u8>>;
    /// The next event; `None` after a timeout.
    fn event(&mut self) -> Option<Event>;
}

/// A session of one UE with one QoS flow, 9: PDR, FAR 1 from the UE, PDR, FAR 2 to it, and QER 1
/// for both.
pub fn session(rig: &impl Rig, seid: u64, teid: u32, ue: Ipv4Addr) -> Session {
    let (IpAddr::V4(n3), IpAddr::V4(_)) = (rig.n3(), rig.gnb()) else { panic!("a rig of IPv4") };
    let mut session = Session::new(seid, FSeid::new(seid, rig.gnb()), NodeId::Ip(rig.gnb()));
    let local = LocalTunnel { teid, ipv4: Some(n3), ipv6: None };
    let pdr = |id: u16, source, local| Pdr {
        extras: None,
        id,
        precedence: 100,
        source,
        local,
        network_instance: None,
        ue: vec![UeAddress::V4(ue)],
        filters: Vec::new(),
        rules: Vec::new(),
        qfis: Vec::new(),
        outer_header_removal: local.is_some(),
        far: u32::from(id),
        qers: vec![1],
        urrs: Vec::new(),
        returns: false,
        application: None,
    };
    session.pdrs.insert(1, pdr(1, Interface::Access, Some(local)));
    session.pdrs.insert(2, pdr(2, Interface::Core, None));
    let far = |id, destination, tunnel| Far {
        destination: Some(destination),
        tunnel,
        ..Far::new(id, Action::Forward)
    };
    session.fars.insert(1, far(1, Interface::Core, None));
    session
        .fars
        .insert(2, far(2, Interface::Access, Some(Tunnel { teid: REMOTE, peer: rig.gnb() })));
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

//! Detection of packets: precedence, QFIs, filters, framed routes, predefined rules and traffic
//! endpoints.
use crate::Case;
use crate::common::REMOTE as HOST;
use crate::lab::{Lab, Made, REMOTE, UE, another, establishment, pdr, pdu, to_gnb};
use martlet_gtpu::{Message as Gtpu, PduSessionContainer, decode};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::conformance::{g_pdu, payload_of, udp_packet};
use std::net::Ipv4Addr;
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("packets pass in both directions", both_directions),
    ("the first PDR by precedence counts", precedence),
    ("packets to the port of GTP-U pass as any other", gtpu_port),
    ("the QFI of a packet selects its PDR", qfi),
    ("a framed route leads to the UE", framed_route),
    ("an SDF filter with an ID stands for its description", filter_id),
    ("fragments of a datagram match the same rule", fragments),
    ("fragments of a datagram to the UE match the same rule", downlink_fragments),
    ("filters of frames select their PDR", frames),
    ("predefined rules are activated and deactivated", predefined),
    ("a PDR without FAR ID uses that of its predefined rule", predefined_far),
    ("a traffic endpoint stands for tunnel and address", endpoint),
    ("a changed traffic endpoint changes its PDRs", endpoint_changed),
    ("a removed traffic endpoint ends its PDRs", endpoint_removed),
];

fn both_directions(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.passes_up(made, 7000);
    let bytes = lab.passes_down(7000, REMOTE);
    assert_eq!(pdu(&bytes).container, Some(PduSessionContainer::downlink(9)));
    lab.delete(made);
    lab.stops_up(made, 7000);
}

/// They are not taken for G-PDUs, although their content is one.
fn gtpu_port(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let payload = g_pdu(made.teid, Some(9), &udp_packet((UE, 9000), (HOST, 7000), b"within"));
    lab.down_to(7000, 2152, &payload);
    let bytes = lab.at_gnb().expect("a G-PDU");
    assert_eq!(pdu(&bytes).teid, REMOTE);
    assert_eq!(payload_of(pdu(&bytes).payload), Some(&payload[..]));
    assert_eq!(lab.at_host_within(7000, Duration::from_millis(150)), None);
    lab.delete(made);
}

fn filter(text: &str) -> SdfFilter {
    SdfFilter { flow_description: Some(text.into()), ..SdfFilter::default() }
}

/// A session whose packets of port 7001 meet a PDR of their own, which drops them.
fn with_filter(mut request: SessionEstablishmentRequest) -> SessionEstablishmentRequest {
    let mut own = request.create_pdrs[0].clone();
    own.pdr_id = PdrId(3);
    own.precedence = Precedence(1);
    own.far_id = Some(FarId(3));
    own.pdi.sdf_filters = vec![filter("permit out 17 from any 7001 to assigned")];
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(1) };
    own.pdi.local_fteid = Some(choose);
    request.create_pdrs[0].pdi.local_fteid = Some(choose);
    request.create_pdrs.push(own);
    request.create_fars.push(CreateFar {
        far_id: FarId(3),
        apply_action: ApplyAction::DROP,
        ..Default::default()
    });
    request
}

fn precedence(lab: &mut Lab) {
    let made = lab.establish(with_filter(establishment()));
    lab.stops_up(made, 7001);
    lab.passes_up(made, 7000);
    // With the precedence changed the other one counts.
    let update =
        UpdatePdr { pdr_id: PdrId(3), precedence: Some(Precedence(1000)), ..Default::default() };
    let request = SessionModificationRequest { update_pdrs: vec![update], ..Default::default() };
    lab.accepted(made, request);
    lab.passes_up(made, 7001);
    lab.delete(made);
}

fn qfi(lab: &mut Lab) {
    let mut request = establishment();
    request.create_pdrs[0].pdi.qfis = vec![Qfi(9)];
    let made = lab.establish(request);
    let packet = udp_packet((UE, 9000), (HOST, 7000), b"of another flow");
    lab.up_packet(made, Some(5), &packet);
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn framed_route(lab: &mut Lab) {
    let mut request = establishment();
    for pdr in &mut request.create_pdrs {
        pdr.pdi.framed_routes = vec![FramedRoute("10.60.0.0/16".into())];
    }
    let made = lab.establish(request);
    let packet = udp_packet((Ipv4Addr::new(10, 60, 1, 1), 9000), (HOST, 7000), b"from behind");
    lab.up_packet(made, Some(9), &packet);
    assert_eq!(lab.at_host(7000).as_deref(), Some(&b"from behind"[..]));
    lab.delete(made);
}

fn filter_id(lab: &mut Lab) {
    let mut request = establishment();
    let described =
        SdfFilter { filter_id: Some(5), ..filter("permit out 17 from any 7001 to assigned") };
    request.create_pdrs[1].pdi.sdf_filters = vec![described];
    let named = SdfFilter { filter_id: Some(5), ..SdfFilter::default() };
    request.create_pdrs[0].pdi.sdf_filters = vec![named];
    let made = lab.establish(request);
    lab.passes_up(made, 7001);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

/// Two fragments of one datagram to a port.
fn in_two(port: u16, id: u16) -> [Vec<u8>; 2] {
    let whole = udp_packet((UE, 9000), (HOST, port), &[b'f'; 56]);
    let part = |from: usize, to: usize, more: u16| {
        let mut packet = [&whole[..20], &whole[20 + from..20 + to]].concat();
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[6..8].copy_from_slice(&(more | (from / 8) as u16).to_be_bytes());
        crate::common::ip4::set_checksum(&mut packet);
        packet
    };
    [part(0, 32, 0x2000), part(32, 64, 0)]
}

fn fragments(lab: &mut Lab) {
    // Only port 7001 may pass: a later fragment has no port of its own.
    let mut request = establishment();
    request.create_pdrs[0].pdi.sdf_filters =
        vec![filter("permit out 17 from any 7001 to assigned")];
    let made = lab.establish(request);
    for fragment in in_two(7001, 1) {
        lab.up_packet(made, Some(9), &fragment);
    }
    assert_eq!(lab.at_host(7001).map(|payload| payload.len()), Some(56));
    for fragment in in_two(7000, 2) {
        lab.up_packet(made, Some(9), &fragment);
    }
    lab.stops_up(made, 7000);
    lab.delete(made);
}

/// The host sends datagrams that do not fit the MTU of N6.
fn downlink_fragments(lab: &mut Lab) {
    let mut request = establishment();
    request.create_pdrs[1].pdi.sdf_filters =
        vec![filter("permit out 17 from any 7001 to assigned")];
    let made = lab.establish(request);
    lab.down(7001, &[b'f'; 2000]);
    let mut received = 0;
    for last in [false, true] {
        let bytes = lab.at_gnb().expect("a fragment");
        let packet = pdu(&bytes);
        assert_eq!((packet.teid, packet.container.map(|it| it.qfi)), (REMOTE, Some(9)));
        let more = packet.payload[6] & 0x20 != 0;
        assert_eq!(more, !last, "{bytes:02x?}");
        received += packet.payload.len() - 20;
    }
    // With the header of UDP.
    assert_eq!(received, 2008);
    lab.down(7000, &[b'f'; 2000]);
    assert_eq!(lab.at_gnb_within(Duration::from_millis(150)), None);
    lab.delete(made);
}

/// An Ethernet session, the n-th.
fn ethernet(n: u8) -> SessionEstablishmentRequest {
    let mut request = if n == 0 { establishment() } else { another(n) };
    request.pdn_type = Some(PdnType(5));
    for pdr in &mut request.create_pdrs {
        pdr.pdi.ue_ip_addresses.clear();
        pdr.pdi.network_instance = Some(NetworkInstance::new("lan"));
        pdr.pdi.ethernet = Some(EthernetPduSessionInformation(1));
    }
    request
}

/// A broadcast frame of the first UE.
fn frame(ethertype: u16) -> Vec<u8> {
    let source = [2, 0, 0, 0, 0, 1];
    [&[0xff; 6][..], &source, &ethertype.to_be_bytes(), &[7; 46]].concat()
}

fn of_type(ethertype: u16) -> EthernetPacketFilter {
    EthernetPacketFilter {
        filter_id: None,
        properties: None,
        mac_addresses: vec![],
        ethertype: Some(Ethertype(ethertype)),
        c_tag: None,
        s_tag: None,
        sdf_filters: vec![],
    }
}

/// Frames of the one UE are for the other one, unless a filter of either session drops them.
fn frames(lab: &mut Lab) {
    const OTHER: u32 = 0x2222;
    let mut request = ethernet(0);
    let mut own = request.create_pdrs[0].clone();
    (own.pdr_id, own.precedence, own.far_id) = (PdrId(3), Precedence(1), Some(FarId(3)));
    own.pdi.ethernet_filters = vec![of_type(0x88f7)];
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(1) };
    own.pdi.local_fteid = Some(choose);
    request.create_pdrs[0].pdi.local_fteid = Some(choose);
    request.create_pdrs.push(own);
    let drop = ApplyAction::DROP;
    request.create_fars.push(CreateFar {
        far_id: FarId(3),
        apply_action: drop,
        ..Default::default()
    });
    let from = lab.establish(request);
    let mut request = ethernet(1);
    request.create_pdrs[1].pdi.ethernet_filters = vec![of_type(0x88b5), of_type(0x88f7)];
    let to = lab.establish_only(request);
    lab.accepted(to, to_gnb(OTHER));
    let mut arrives = |ethertype: u16| {
        lab.up_packet(from, Some(9), &frame(ethertype));
        let received = lab.at_gnb_within(Duration::from_millis(300));
        received.map(|bytes| (pdu(&bytes).teid, pdu(&bytes).payload.to_vec()))
    };
    assert_eq!(arrives(0x88b5), Some((OTHER, frame(0x88b5))));
    // Dropped by the filter of the uplink, and without a rule in the downlink.
    assert_eq!(arrives(0x88f7), None);
    assert_eq!(arrives(0x88b6), None);
    assert_eq!(arrives(0x88b5), Some((OTHER, frame(0x88b5))));
    lab.delete(from);
    lab.delete(to);
}

fn activate(names: &[&str], gone: &[&str]) -> SessionModificationRequest {
    let update = UpdatePdr {
        pdr_id: PdrId(1),
        activate_predefined_rules: names
            .iter()
            .map(|name| ActivatePredefinedRules::new(name))
            .collect(),
        deactivate_predefined_rules: gone
            .iter()
            .map(|name| DeactivatePredefinedRules::new(name))
            .collect(),
        ..Default::default()
    };
    SessionModificationRequest { update_pdrs: vec![update], ..Default::default() }
}

fn predefined(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.passes_up(made, 7000);
    // The PDR is for port 7001 alone from now on.
    lab.accepted(made, activate(&["port-7001"], &[]));
    lab.stops_up(made, 7000);
    lab.passes_up(made, 7001);
    lab.accepted(made, activate(&["nothing"], &["port-7001"]));
    lab.stops_up(made, 7001);
    lab.accepted(made, activate(&[], &["nothing"]));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn predefined_far(lab: &mut Lab) {
    let mut request = establishment();
    request.create_pdrs[0].far_id = None;
    request.create_pdrs[0].activate_predefined_rules =
        vec![ActivatePredefinedRules::new("port-7001")];
    let made = lab.establish(request);
    lab.passes_up(made, 7001);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

/// A session whose uplink PDR has tunnel and address from a traffic endpoint.
fn with_endpoint() -> SessionEstablishmentRequest {
    let mut request = establishment();
    let pdi = &mut request.create_pdrs[0].pdi;
    let endpoint = CreateTrafficEndpoint {
        id: TrafficEndpointId(3),
        local_fteid: pdi.local_fteid.take(),
        network_instance: pdi.network_instance.take(),
        ue_ip_addresses: std::mem::take(&mut pdi.ue_ip_addresses),
        ..Default::default()
    };
    pdi.traffic_endpoints = vec![TrafficEndpointId(3)];
    request.create_traffic_endpoints = vec![endpoint];
    request
}

fn endpoint(lab: &mut Lab) {
    let made = lab.establish(with_endpoint());
    lab.passes_up(made, 7000);
    // A further PDR has the same tunnel.
    let mut other = pdr(3, Pdi::of(Interface::Access), None);
    other.precedence = Precedence(1);
    other.far_id = Some(FarId(3));
    other.pdi.traffic_endpoints = vec![TrafficEndpointId(3)];
    other.pdi.sdf_filters = vec![filter("permit out 17 from any 7001 to assigned")];
    let far = CreateFar { far_id: FarId(3), apply_action: ApplyAction::DROP, ..Default::default() };
    let request = SessionModificationRequest {
        create_pdrs: vec![other],
        create_fars: vec![far],
        ..Default::default()
    };
    lab.accepted(made, request);
    lab.stops_up(made, 7001);
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn endpoint_changed(lab: &mut Lab) {
    let made = lab.establish(with_endpoint());
    let update = UpdateTrafficEndpoint {
        id: TrafficEndpointId(3),
        local_fteid: Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id: None }),
        ..Default::default()
    };
    let request =
        SessionModificationRequest { update_traffic_endpoints: vec![update], ..Default::default() };
    let answer = lab.accepted(made, request);
    let [CreatedTrafficEndpoint { local_fteid: Some(FTeid::Given { teid, .. }), .. }] =
        answer.created_traffic_endpoints[..]
    else {
        panic!("{answer:?}")
    };
    assert_ne!(teid, made.teid);
    lab.passes_up(Made { teid, ..made }, 7000);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

fn endpoint_removed(lab: &mut Lab) {
    let made = lab.establish(with_endpoint());
    let remove = RemoveTrafficEndpoint { id: TrafficEndpointId(3) };
    let request =
        SessionModificationRequest { remove_traffic_endpoints: vec![remove], ..Default::default() };
    lab.accepted(made, request);
    lab.stops_up(made, 7000);
    // Its tunnel is unknown now.
    let bytes = lab.at_gnb().expect("an Error Indication");
    assert!(matches!(decode(&bytes), Ok(Gtpu::ErrorIndication { .. })), "{bytes:02x?}");
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}

//! Rules of detection, forwarding, QoS and buffering, and what they do to packets.
use crate::Case;
use crate::lab::{Lab, Made, REMOTE, UE, another, establishment, idle, pdr, pdu, to_gnb};
use martlet_gtpu::{Message as Gtpu, PduSessionContainer, decode, error_indication};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::conformance::{g_pdu, payload_of, udp_packet};
use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt, sockopt};
use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::time::Duration;

const GNB: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const HOST: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

pub const CASES: &[Case] = &[
    ("packets pass in both directions", both_directions),
    ("the first PDR by precedence counts", precedence),
    ("packets to the port of GTP-U pass as any other", gtpu_port),
    ("the QFI of a packet selects its PDR", qfi),
    ("a closed gate stops its direction", gate),
    ("a bit rate of zero stops its direction", bit_rate),
    ("reflective QoS is indicated", reflective),
    ("the paging policy indicator is in downlink packets", paging_policy),
    ("a packet rate lets as many packets pass", packet_rate),
    ("QERs with one correlation ID share their rate", correlation),
    ("packets wait for an idle UE and leave in order", buffering),
    ("a notification is delayed by a BAR", delayed),
    ("notifications to a silent SMF end after N1", silent),
    ("buffered packets are dropped on request", dropped),
    ("end markers follow the last packet", end_markers),
    ("an Error Indication is reported", error_indicated),
    ("a framed route leads to the UE", framed_route),
    ("an SDF filter with an ID stands for its description", filter_id),
    ("fragments of a datagram match the same rule", fragments),
    ("fragments of a datagram to the UE match the same rule", downlink_fragments),
    ("filters of frames select their PDR", frames),
    ("the outer header is marked", marked),
    ("a forwarding policy leads to its network instance", policy),
    ("packets are duplicated", duplicated),
    ("HTTP is redirected to a URL", redirected),
    ("traffic is redirected to a server", redirected_to_server),
    ("predefined rules are activated and deactivated", predefined),
    ("a PDR without FAR ID uses that of its predefined rule", predefined_far),
    ("a traffic endpoint stands for tunnel and address", endpoint),
    ("a changed traffic endpoint changes its PDRs", endpoint_changed),
    ("a removed traffic endpoint ends its PDRs", endpoint_removed),
    ("an IP session changes to user space with its usage", handed_over),
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

fn update_qer(change: impl FnOnce(&mut UpdateQer)) -> SessionModificationRequest {
    let mut qer = UpdateQer { qer_id: QerId(1), ..Default::default() };
    change(&mut qer);
    SessionModificationRequest { update_qers: vec![qer], ..Default::default() }
}

fn gate(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let closed = GateStatus { uplink_closed: true, downlink_closed: false };
    lab.accepted(made, update_qer(|qer| qer.gate_status = Some(closed)));
    lab.stops_up(made, 7000);
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}

fn bit_rate(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let mbr = Mbr { uplink: 1_000_000, downlink: 0 };
    lab.accepted(made, update_qer(|qer| qer.mbr = Some(mbr)));
    lab.passes_up(made, 7000);
    lab.stops_down(7000);
    lab.delete(made);
}

fn reflective(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, update_qer(|qer| qer.rqi = Some(Rqi(1))));
    let bytes = lab.passes_down(7000, REMOTE);
    assert!(pdu(&bytes).container.is_some_and(|container| container.rqi));
    lab.delete(made);
}

fn paging_policy(lab: &mut Lab) {
    let mut request = establishment();
    request.create_qers[0].paging_policy = Some(PagingPolicyIndicator(5));
    let made = lab.establish(request);
    let bytes = lab.passes_down(7000, REMOTE);
    assert_eq!(pdu(&bytes).container.and_then(|container| container.ppi), Some(5));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn packet_rate(lab: &mut Lab) {
    let mut request = establishment();
    // Three packets a minute from the UE.
    let rate = PacketRate { uplink: Some((0, 3)), downlink: None };
    request.create_qers[0].packet_rate = Some(rate);
    let made = lab.establish(request);
    for _ in 0..3 {
        lab.passes_up(made, 7000);
    }
    lab.stops_up(made, 7000);
    lab.passes_down(7000, REMOTE);
    // A higher rate starts again.
    let rate = PacketRate { uplink: Some((0, 4)), downlink: None };
    lab.accepted(made, update_qer(|qer| qer.packet_rate = Some(rate)));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn correlation(lab: &mut Lab) {
    // A burst is a packet of the largest size at least: 65,535 bytes at the rate of 1 kbit/s.
    let with = |mut request: SessionEstablishmentRequest| {
        request.create_qers[0].correlation_id = Some(QerCorrelationId(77));
        request.create_qers[0].mbr = Some(Mbr { uplink: 1, downlink: 1 });
        request
    };
    let first = lab.establish(with(establishment()));
    let second = lab.establish(with(another(1)));
    let payload = vec![7; 1200];
    for _ in 0..52 {
        lab.up(first, 7000, &payload);
        assert!(lab.at_host(7000).is_some());
    }
    // What the one has used, the other one has not.
    let packet = udp_packet((Ipv4Addr::new(10, 45, 0, 3), 9000), (HOST, 7001), &payload);
    lab.up_packet(second, Some(9), &packet);
    lab.up_packet(second, Some(9), &packet);
    assert!(lab.at_host(7001).is_some());
    assert_eq!(lab.at_host_within(7001, Duration::from_millis(150)), None);
    lab.up(first, 7000, &payload);
    assert_eq!(lab.at_host_within(7000, Duration::from_millis(150)), None);
    lab.delete(first);
    lab.delete(second);
}

fn buffering(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    for n in 0..3 {
        lab.down(7000, &[n]);
    }
    let report = lab.report();
    assert_eq!(report.report_type, ReportType::DLDR);
    let data = report.downlink_data.expect("downlink data");
    assert_eq!(data.pdr_ids, [PdrId(2)]);
    assert_eq!(data.service_information.and_then(|information| information.qfi), Some(Qfi(9)));
    lab.no_report();
    lab.accepted(made, to_gnb(REMOTE));
    for n in 0..3 {
        let bytes = lab.at_gnb().expect("a buffered packet");
        assert_eq!(payload_of(pdu(&bytes).payload), Some(&[n][..]));
    }
    lab.delete(made);
}

fn delayed(lab: &mut Lab) {
    let mut request = establishment();
    // 500 ms.
    let notification_delay = Some(DownlinkDataNotificationDelay(10));
    request.create_bar =
        Some(CreateBar { bar_id: BarId(1), notification_delay, suggested_packets: None });
    request.create_fars[1].bar_id = Some(BarId(1));
    let made = lab.establish_only(request);
    lab.down(7000, b"waits");
    assert_eq!(lab.report_within(Duration::from_millis(250)), None);
    assert_eq!(lab.report().report_type, ReportType::DLDR);
    lab.delete(made);
}

fn silent(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    lab.answers = false;
    let mut reports = 0;
    // T1 is 200 ms and N1 is 3: a report is given up after 600 ms.
    for _ in 0..40 {
        lab.down(7000, b"waits");
        reports += usize::from(lab.report_within(Duration::from_millis(80)).is_some());
    }
    lab.answers = true;
    assert_eq!(reports, 3);
    // Any modification shows that the SMF is there.
    lab.accepted(made, to_gnb(REMOTE));
    lab.accepted(made, idle());
    lab.down(7000, b"waits");
    assert_eq!(lab.report().report_type, ReportType::DLDR);
    lab.delete(made);
}

fn dropped(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    lab.down(7000, b"dropped");
    lab.report();
    let flags = Some(PfcpSmReqFlags(1));
    lab.accepted(made, SessionModificationRequest { flags, ..to_gnb(REMOTE) });
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}

fn end_markers(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.passes_down(7000, REMOTE);
    let flags = Some(PfcpSmReqFlags(2));
    lab.accepted(made, SessionModificationRequest { flags, ..to_gnb(0x7777) });
    let bytes = lab.at_gnb().expect("an end marker");
    assert!(matches!(decode(&bytes), Ok(Gtpu::EndMarker { teid: REMOTE, .. })), "{bytes:02x?}");
    lab.passes_down(7000, 0x7777);
    lab.delete(made);
}

fn error_indicated(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.gtpu(&error_indication(REMOTE, GNB));
    let report = lab.report();
    assert_eq!(report.report_type, ReportType::ERIR);
    let remote = report.error_indication.expect("an indication").remote_fteids;
    assert!(matches!(remote[..], [FTeid::Given { teid: REMOTE, .. }]));
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

fn marking(tos: u8) -> Option<TransportLevelMarking> {
    Some(TransportLevelMarking { traffic_class: tos, mask: 0xfc })
}

fn with_parameters(
    change: impl FnOnce(&mut UpdateForwardingParameters),
) -> SessionModificationRequest {
    let mut request = to_gnb(REMOTE);
    change(request.update_fars[0].update_forwarding_parameters.as_mut().expect("parameters"));
    request
}

/// The type of service of the next datagram at the gNB.
fn received_tos(lab: &Lab) -> u8 {
    let socket = lab.gnb();
    setsockopt(socket, sockopt::IpRecvTos, &true).expect("the option");
    let mut bytes = [0; 2048];
    for _ in 0..200 {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let mut space = cmsg_space!(u8);
        let flags = MsgFlags::empty();
        let received =
            recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags);
        let Ok(received) = received else { continue };
        let controls = received.cmsgs().expect("control messages");
        for control in controls {
            if let ControlMessageOwned::Ipv4Tos(tos) = control {
                return tos;
            }
        }
    }
    panic!("no datagram");
}

fn marked(lab: &mut Lab) {
    let made = lab.establish(establishment());
    received_tos_of(lab, 0);
    lab.accepted(made, with_parameters(|p| p.transport_level_marking = marking(0xb8)));
    received_tos_of(lab, 0xb8);
    lab.accepted(made, with_parameters(|p| p.transport_level_marking = marking(0x28)));
    received_tos_of(lab, 0x28);
    lab.delete(made);
}

fn received_tos_of(lab: &mut Lab, tos: u8) {
    // The first one may have arrived before the option was set.
    setsockopt(lab.gnb(), sockopt::IpRecvTos, &true).expect("the option");
    lab.down(7000, b"marked");
    assert_eq!(received_tos(lab), tos);
}

/// The policy `edge` leads to a network instance whose server nothing else reaches.
fn policy(lab: &mut Lab) {
    let made = lab.establish(establishment());
    assert!(!lab.reaches_edge(made));
    lab.delete(made);
    let mut request = establishment();
    let parameters = request.create_fars[0].forwarding_parameters.as_mut().expect("parameters");
    parameters.forwarding_policy = Some(ForwardingPolicy::new("edge"));
    let made = lab.establish(request);
    assert!(lab.reaches_edge(made));
    let update = |name: &str| {
        let parameters = UpdateForwardingParameters {
            forwarding_policy: Some(ForwardingPolicy::new(name)),
            ..Default::default()
        };
        let far = UpdateFar {
            far_id: FarId(1),
            update_forwarding_parameters: Some(parameters),
            ..Default::default()
        };
        SessionModificationRequest { update_fars: vec![far], ..Default::default() }
    };
    lab.accepted(made, update("default"));
    assert!(!lab.reaches_edge(made));
    lab.passes_up(made, 7000);
    lab.accepted(made, update("edge"));
    assert!(lab.reaches_edge(made));
    lab.delete(made);
}

fn duplicated(lab: &mut Lab) {
    let mut request = establishment();
    let far = &mut request.create_fars[0];
    far.apply_action = ApplyAction::FORW | ApplyAction::DUPL;
    far.duplicating_parameters = vec![DuplicatingParameters {
        destination_interface: DestinationInterface(Interface::Other(4)),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(0x1111, GNB)),
        ..Default::default()
    }];
    let made = lab.establish(request);
    lab.passes_up(made, 7000);
    let bytes = lab.at_gnb().expect("a copy");
    assert_eq!(pdu(&bytes).teid, 0x1111);
    assert_eq!(payload_of(pdu(&bytes).payload), Some(&b"from the UE"[..]));
    // Without the flag there are no copies.
    let update =
        UpdateFar { far_id: FarId(1), apply_action: Some(ApplyAction::FORW), ..Default::default() };
    let request = SessionModificationRequest { update_fars: vec![update], ..Default::default() };
    lab.accepted(made, request);
    lab.passes_up(made, 7000);
    assert_eq!(lab.at_gnb_within(Duration::from_millis(100)), None);
    lab.delete(made);
}

/// A segment of TCP from the UE to port 80 of the host.
fn segment(flags: u8, payload: &[u8]) -> Vec<u8> {
    let total = (40 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend(UE.octets());
    packet.extend(HOST.octets());
    packet.extend([0x23, 0x28, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 0xff, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    crate::common::ip4::set_checksum(&mut packet);
    packet
}

fn redirected(lab: &mut Lab) {
    let mut request = establishment();
    let parameters = request.create_fars[0].forwarding_parameters.as_mut().expect("parameters");
    parameters.redirect = Some(RedirectInformation {
        kind: RedirectAddressType::Url,
        address: b"http://portal.example/".to_vec(),
        other: None,
    });
    let made = lab.establish(request);
    lab.up_packet(made, Some(9), &segment(2, &[]));
    let opened = lab.at_gnb().expect("SYN and ACK");
    assert_eq!(pdu(&opened).payload[33], 0x12);
    lab.up_packet(made, Some(9), &segment(0x18, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    let found = lab.at_gnb().expect("an answer");
    let text = String::from_utf8_lossy(&pdu(&found).payload[40..]).into_owned();
    assert!(text.starts_with("HTTP/1.1 302 Found\r\nLocation: http://portal.example/\r\n"));
    // Everything else is dropped.
    lab.stops_up(made, 7000);
    lab.delete(made);
}

fn redirected_to_server(lab: &mut Lab) {
    let mut request = establishment();
    let parameters = request.create_fars[0].forwarding_parameters.as_mut().expect("parameters");
    parameters.redirect = Some(RedirectInformation {
        kind: RedirectAddressType::Ipv4,
        address: HOST.to_string().into_bytes(),
        other: None,
    });
    let made = lab.establish(request);
    let elsewhere = Ipv4Addr::new(10, 99, 0, 9);
    let packet = udp_packet((UE, 9000), (elsewhere, 7000), b"redirected");
    lab.up_packet(made, Some(9), &packet);
    assert_eq!(lab.at_host(7000).as_deref(), Some(&b"redirected"[..]));
    // The UE does not see the server.
    let bytes = lab.passes_down(7000, REMOTE);
    assert_eq!(pdu(&bytes).payload[12..16], elsewhere.octets());
    let bytes = lab.passes_down(7001, REMOTE);
    assert_eq!(pdu(&bytes).payload[12..16], HOST.octets());
    lab.delete(made);
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

/// The datapath `xdp` carries sessions with such rules in user space.
fn handed_over(lab: &mut Lab) {
    let request = crate::lab::measured(establishment(), ReportingTriggers::VOLQU, |urr| {
        urr.volume_quota = Some(VolumeQuota { total: Some(100), ..Default::default() });
    });
    let made = lab.establish(request);
    lab.passes_up(made, 7000);
    lab.accepted(made, update_qer(|qer| qer.paging_policy = Some(PagingPolicyIndicator(2))));
    // 39 bytes each: the third one reaches the quota of 100, the fourth one is dropped.
    lab.passes_up(made, 7000);
    lab.passes_up(made, 7000);
    let usage = lab.usage();
    assert_eq!(usage[0].trigger, UsageReportTrigger::VOLQU);
    assert_eq!(usage[0].volume.and_then(|volume| volume.octets[1]), Some(117));
    lab.stops_up(made, 7000);
    lab.delete(made);
}

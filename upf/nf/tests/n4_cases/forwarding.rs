//! Forwarding actions: tunnels to the gNB, marks of the outer header, policies, duplication and
//! redirection.
use crate::Case;
use crate::common::REMOTE as HOST;
use crate::lab::{Lab, REMOTE, UE, establishment, pdr, pdu, to_gnb};
use martlet_gtpu::{Message as Gtpu, decode, error_indication};
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

pub const CASES: &[Case] = &[
    ("end markers follow the last packet", end_markers),
    ("an Error Indication is reported", error_indicated),
    ("the outer header is marked", marked),
    ("a forwarding policy leads to its network instance", policy),
    ("a network instance is known as text and in labels", labels),
    ("packets are duplicated", duplicated),
    ("HTTP is redirected to a URL", redirected),
    ("traffic is redirected to a server", redirected_to_server),
    ("data pass between the UE and the CP function", cp_function),
];

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

/// free5GC's SMF and those for UPG-VPP write the name in labels, as in a DNN.
fn labels(lab: &mut Lab) {
    for instance in [NetworkInstance::new("edge"), NetworkInstance::in_labels("edge")] {
        let mut request = establishment();
        let parameters = request.create_fars[0].forwarding_parameters.as_mut().expect("parameters");
        parameters.network_instance = Some(instance);
        let made = lab.establish(request);
        assert!(lab.reaches_edge(made));
        lab.delete(made);
    }
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

/// Each session of Open5GS's SMF has two more PDRs: part of the uplink goes to the SMF in a tunnel,
/// and packets of the SMF's tunnel go to the UE.
fn cp_function(lab: &mut Lab) {
    let choose = |choose_id| Some(FTeid::Choose { ipv4: true, ipv6: true, choose_id });
    let rule = |id, far, pdi| CreatePdr {
        precedence: Precedence(100),
        far_id: Some(FarId(far)),
        ..pdr(id, pdi, Some(OuterHeaderRemoval { description: 0 }))
    };
    let flow = "permit out 17 from any 7001 to assigned";
    let filter = SdfFilter { flow_description: Some(flow.into()), ..Default::default() };
    let to_cp = Pdi {
        local_fteid: choose(Some(5)),
        sdf_filters: vec![filter],
        ..Pdi::of(Interface::Access)
    };
    let from_cp = Pdi { local_fteid: choose(None), ..Pdi::of(Interface::CpFunction) };
    let parameters = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::CpFunction),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(0x1111, GNB)),
        ..Default::default()
    };
    let mut request = establishment();
    request.create_pdrs[0].pdi.local_fteid = choose(Some(5));
    request.create_pdrs.extend([rule(3, 3, to_cp), rule(4, 2, from_cp)]);
    request.create_fars.push(CreateFar {
        far_id: FarId(3),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(parameters),
        ..Default::default()
    });
    let answer = lab.try_establish(request);
    let made = Lab::made(&answer);
    lab.accepted(made, to_gnb(REMOTE));
    let of_cp = answer.created_pdrs.iter().find(|created| created.pdr_id == PdrId(4));
    let Some(FTeid::Given { teid, .. }) = of_cp.and_then(|created| created.local_fteid) else {
        panic!("{answer:?}")
    };
    assert_ne!(teid, made.teid);
    lab.up(made, 7001, b"to the SMF");
    let bytes = lab.at_gnb().expect("a G-PDU to the CP function");
    assert_eq!(pdu(&bytes).teid, 0x1111);
    assert_eq!(payload_of(pdu(&bytes).payload), Some(&b"to the SMF"[..]));
    lab.passes_up(made, 7000);
    lab.gtpu(&g_pdu(teid, None, &udp_packet((HOST, 7000), (UE, 9000), b"of the SMF")));
    let bytes = lab.at_gnb().expect("a G-PDU of the CP function");
    assert_eq!(pdu(&bytes).teid, REMOTE);
    assert_eq!(payload_of(pdu(&bytes).payload), Some(&b"of the SMF"[..]));
    lab.delete(made);
}

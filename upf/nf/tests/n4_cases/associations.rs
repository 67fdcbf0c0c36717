//! Messages of nodes: association, heartbeat, PFDs, session sets.
use crate::Case;
use crate::common::REMOTE as HOST;
use crate::common::rig::{GNB, N3};
use crate::lab::{Lab, Made, UE, another, establishment, pdu, to_gnb};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_n4::testing::{REMOTE, SMF};
use std::time::{Duration, Instant};

pub const CASES: &[Case] = &[
    ("association setup announces what is done", announced),
    ("association setup with the same recovery time stamp retains sessions", retained),
    ("association update is accepted", updated),
    ("association update of an unknown node is rejected", unknown_update),
    ("association release of an unknown node is rejected", unknown_release),
    ("heartbeat is answered", heartbeat),
    ("another version is not supported", version),
    ("PFDs with flow descriptions are accepted, used and removed", pfds),
    ("PFDs with URLs match the connections of requests", |lab| requests(lab, url())),
    ("PFDs with URLs of encrypted requests are refused", |lab| refused_pfd(lab, hidden(), 76)),
    ("PFDs with an invalid URL are refused", |lab| refused_pfd(lab, invalid_url(), 69)),
    ("PFDs with custom content in lines are used", |lab| requests(lab, custom("url: a.example"))),
    ("PFDs with other custom content are refused", |lab| refused_pfd(lab, custom("any"), 76)),
    ("PFDs with domain names need trusted name servers", |lab| refused_pfd(lab, domain(), 76)),
    ("PFDs with a reversed range of ports are refused", |lab| refused_pfd(lab, reversed(), 69)),
    ("session set deletion ends the sessions of a set", set_deletion),
    ("session set deletion without a set is refused", no_set),
    ("session set deletion of an unknown node is refused", unknown_set),
];

fn announced(lab: &mut Lab) {
    let features = lab.associate().up_features.expect("features");
    let own = UpFunctionFeatures::FTUP
        | UpFunctionFeatures::DDND
        | UpFunctionFeatures::PFDM
        | UpFunctionFeatures::PFDE
        | UpFunctionFeatures::PDIU
        | UpFunctionFeatures::FRRT
        | UpFunctionFeatures::VTIME
        | UpFunctionFeatures::EPFAR
        | UpFunctionFeatures::EMPU
        | UpFunctionFeatures::TREU;
    // Nothing else: header enrichment, quota actions, multicast and so on are not.
    assert_eq!(features, own);
}

fn retained(lab: &mut Lab) {
    let made = lab.establish(establishment());
    assert_eq!(lab.associate().cause, Cause::ACCEPTED);
    lab.passes_up(made, 7000);
    lab.accepted(made, to_gnb(REMOTE));
    lab.delete(made);
}

fn node(text: &str) -> NodeId {
    NodeId::Fqdn(text.into())
}

fn update_of(node_id: NodeId) -> AssociationUpdateRequest {
    AssociationUpdateRequest {
        node_id,
        up_features: None,
        cp_features: None,
        release_request: None,
        release_period: None,
        flags: None,
    }
}

fn updated(lab: &mut Lab) {
    let answer = lab.node(update_of(NodeId::Ip(SMF)));
    assert!(matches!(answer, Message::AssociationUpdateResponse(a) if a.cause == Cause::ACCEPTED));
}

fn unknown_update(lab: &mut Lab) {
    let answer = lab.node(update_of(node("unknown.example")));
    let Message::AssociationUpdateResponse(answer) = answer else { panic!() };
    assert_eq!(answer.cause, Cause::NO_ESTABLISHED_ASSOCIATION);
}

fn unknown_release(lab: &mut Lab) {
    let answer = lab.node(AssociationReleaseRequestMessage { node_id: node("unknown.example") });
    let Message::AssociationReleaseResponse(answer) = answer else { panic!() };
    assert_eq!(answer.cause, Cause::NO_ESTABLISHED_ASSOCIATION);
}

fn heartbeat(lab: &mut Lab) {
    let answer = lab.node(HeartbeatRequest { recovery: RecoveryTimeStamp(1) });
    assert!(matches!(answer, Message::HeartbeatResponse(_)));
}

fn version(lab: &mut Lab) {
    let sequence = lab.next_sequence();
    let request = HeartbeatRequest { recovery: RecoveryTimeStamp(1) };
    let mut bytes = Packet::node(sequence, request).encode();
    bytes[0] = 0x40;
    let answer = lab.exchange(&bytes, sequence).message;
    assert!(matches!(answer, Message::VersionNotSupported(_)));
}

fn with_url(text: &str) -> PfdContents {
    PfdContents { urls: vec![text.into()], ..Default::default() }
}

fn url() -> PfdContents {
    with_url("http://a.example/video")
}

fn hidden() -> PfdContents {
    with_url("https://a.example/video")
}

fn invalid_url() -> PfdContents {
    with_url("http://")
}

fn custom(text: &str) -> PfdContents {
    PfdContents { custom: Some(text.into()), ..Default::default() }
}

fn domain() -> PfdContents {
    PfdContents { domain_names: vec![(b"example.com".to_vec(), None)], ..Default::default() }
}

fn flows(text: &str) -> PfdContents {
    PfdContents { flow_descriptions: vec![text.into()], ..Default::default() }
}

fn reversed() -> PfdContents {
    flows("permit out 17 from any 2000-1000 to assigned")
}

fn manage(lab: &mut Lab, contents: Vec<PfdContents>) -> PfdManagementResponse {
    let contexts = match contents.is_empty() {
        true => vec![],
        false => vec![PfdContext { contents }],
    };
    let application = ApplicationIdsPfds { application_id: ApplicationId::new("video"), contexts };
    let request = PfdManagementRequest { applications: vec![application] };
    let Message::PfdManagementResponse(answer) = lab.node(request) else { panic!() };
    answer
}

fn refused_pfd(lab: &mut Lab, contents: PfdContents, cause: u8) {
    let answer = manage(lab, vec![contents]);
    assert_eq!((answer.cause, answer.offending_ie), (Cause(cause), Some(OffendingIe(61))));
}

fn pfds(lab: &mut Lab) {
    let answer = manage(lab, vec![flows("permit out 17 from any 7001 to assigned")]);
    assert_eq!(answer.cause, Cause::ACCEPTED);
    let mut request = establishment();
    request.create_pdrs[0].pdi.application_id = Some(ApplicationId::new("video"));
    let made = lab.establish(request);
    lab.passes_up(made, 7001);
    lab.stops_up(made, 7000);
    // Without its PFDs it detects nothing.
    assert_eq!(manage(lab, vec![]).cause, Cause::ACCEPTED);
    lab.stops_up(made, 7001);
    lab.delete(made);
}

/// A segment of the UE to port 80 of the host.
fn segment(payload: &[u8]) -> Vec<u8> {
    let length = (40 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend([UE.octets(), HOST.octets()].concat());
    packet.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// Whether a packet of the UE's comes back in a tunnel.
fn is_returned(lab: &mut Lab, made: Made, payload: &[u8], teid: u32) -> bool {
    let packet = segment(payload);
    lab.up_packet(made, Some(9), &packet);
    let limit = Instant::now() + Duration::from_millis(400);
    while Instant::now() < limit {
        // The host's TCP rejects what reaches it.
        let Some(bytes) = lab.at_gnb_within(Duration::from_millis(40)) else { continue };
        if pdu(&bytes).teid == teid {
            assert_eq!(pdu(&bytes).payload, packet);
            return true;
        }
    }
    false
}

/// Packets of the application go to another UPF, in a tunnel that ends at the gNB's address here.
fn requests(lab: &mut Lab, contents: PfdContents) {
    assert_eq!(manage(lab, vec![contents]).cause, Cause::ACCEPTED);
    let made = lab.establish(establishment());
    let mut detecting = establishment().create_pdrs[0].clone();
    (detecting.pdr_id, detecting.precedence) = (PdrId(9), Precedence(1));
    detecting.far_id = Some(FarId(9));
    detecting.pdi.application_id = Some(ApplicationId::new("video"));
    detecting.pdi.local_fteid = Some(FTeid::Given { teid: made.teid, ipv4: Some(N3), ipv6: None });
    let far = CreateFar {
        far_id: FarId(9),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Core),
            outer_header_creation: Some(OuterHeaderCreation::gtpu(0x9999, GNB.into())),
            ..Default::default()
        }),
        ..Default::default()
    };
    let request = SessionModificationRequest {
        create_pdrs: vec![detecting],
        create_fars: vec![far],
        ..Default::default()
    };
    lab.accepted(made, request);
    let other = b"GET /video HTTP/1.1\r\nHost: b.example\r\n\r\n";
    assert!(!is_returned(lab, made, b"", 0x9999));
    assert!(!is_returned(lab, made, other, 0x9999));
    assert!(is_returned(lab, made, b"GET /video HTTP/1.1\r\nHost: a.example\r\n\r\n", 0x9999));
    assert!(is_returned(lab, made, b"", 0x9999), "the connection's next segment");
    assert!(!is_returned(lab, made, other, 0x9999));
    assert_eq!(manage(lab, vec![]).cause, Cause::ACCEPTED);
    lab.delete(made);
}

fn set(csid: u16) -> FqCsid {
    FqCsid { node: CsidNode::Ip(SMF), csids: vec![csid] }
}

fn delete_set(lab: &mut Lab, node_id: NodeId, sets: Vec<FqCsid>) -> SessionSetDeletionResponse {
    let answer = lab.node(SessionSetDeletionRequest { node_id, fq_csids: sets });
    let Message::SessionSetDeletionResponse(answer) = answer else { panic!() };
    answer
}

fn set_deletion(lab: &mut Lab) {
    let mut made = Vec::new();
    for (n, csid) in [(0, 5), (1, 6), (2, 5)] {
        made.push(lab.establish_only(SessionEstablishmentRequest {
            fq_csids: vec![set(csid)],
            ..another(n)
        }));
    }
    let answer = delete_set(lab, NodeId::Ip(SMF), vec![set(5)]);
    assert_eq!((answer.cause, lab.sessions()), (Cause::ACCEPTED, 1));
    // A session joins another set by a modification.
    let request = SessionModificationRequest { fq_csids: vec![set(7)], ..Default::default() };
    lab.accepted(made[1], request);
    delete_set(lab, NodeId::Ip(SMF), vec![set(6)]);
    assert_eq!(lab.sessions(), 1);
    delete_set(lab, NodeId::Ip(SMF), vec![set(7)]);
}

fn no_set(lab: &mut Lab) {
    let answer = delete_set(lab, NodeId::Ip(SMF), vec![]);
    let expected = (Cause::CONDITIONAL_IE_MISSING, Some(OffendingIe(65)));
    assert_eq!((answer.cause, answer.offending_ie), expected);
}

fn unknown_set(lab: &mut Lab) {
    let answer = delete_set(lab, node("unknown.example"), vec![set(5)]);
    assert_eq!(answer.cause, Cause::NO_ESTABLISHED_ASSOCIATION);
}

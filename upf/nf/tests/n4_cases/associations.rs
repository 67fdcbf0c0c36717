//! Messages of nodes: association, heartbeat, PFDs, session sets.
use crate::Case;
use crate::lab::{Lab, another, establishment, to_gnb};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_n4::testing::{REMOTE, SMF};

pub const CASES: &[Case] = &[
    ("association setup announces what is done", announced),
    ("association setup with the same recovery time stamp retains sessions", retained),
    ("association update is accepted", updated),
    ("association update of an unknown node is rejected", unknown_update),
    ("association release of an unknown node is rejected", unknown_release),
    ("heartbeat is answered", heartbeat),
    ("another version is not supported", version),
    ("PFDs with flow descriptions are accepted, used and removed", pfds),
    ("PFDs with URLs alone are refused", |lab| refused_pfd(lab, url(), 76)),
    ("PFDs with custom content alone are refused", |lab| refused_pfd(lab, custom(), 76)),
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

fn url() -> PfdContents {
    PfdContents { urls: vec![b"http://example.com/video".to_vec()], ..Default::default() }
}

fn custom() -> PfdContents {
    PfdContents { custom: Some(b"anything".to_vec()), ..Default::default() }
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

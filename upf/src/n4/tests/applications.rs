//! PFD management: sessions detect what SMFs tell of applications.
use super::smf::*;
use crate::conformance::{Rig, g_pdu, udp_packet};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;

fn flows(texts: &[String]) -> PfdContext {
    PfdContext { contents: vec![PfdContents { flow_descriptions: texts.to_vec(), ..PfdContents::default() }] }
}

fn told(id: &str, texts: &[String]) -> PfdManagementRequest {
    let contexts = if texts.is_empty() { vec![] } else { vec![flows(texts)] };
    PfdManagementRequest { applications: vec![ApplicationIdsPfds { application_id: ApplicationId::new(id), contexts }] }
}

fn manage(smf: &mut Smf, request: PfdManagementRequest) -> PfdManagementResponse {
    let Message::PfdManagementResponse(answer) = smf.node(request) else { panic!("another answer") };
    answer
}

/// A session whose uplink is of an application alone.
fn detecting(id: &str) -> SessionEstablishmentRequest {
    let mut request = establishment();
    request.create_pdrs[0].pdi.application_id = Some(ApplicationId::new(id));
    request
}

fn to_port(port: u16) -> Vec<String> {
    vec![format!("permit out 17 from any {port} to assigned")]
}

#[test]
fn a_pdr_detects_an_application_by_its_flows_and_as_they_change() {
    let mut smf = Smf::associated();
    let accepted = PfdManagementResponse { cause: Cause::ACCEPTED, offending_ie: None };
    assert_eq!(manage(&mut smf, told("chat", &to_port(7000))), accepted);
    let (_, teid) = smf.establish(detecting("chat"));
    let passes = |smf: &mut Smf, port| {
        let packet = udp_packet((UE, 9000), (smf.bench.remote(), port), b"up");
        smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
        smf.bench.receive_n6().is_some()
    };
    assert!(passes(&mut smf, 7000));
    assert!(!passes(&mut smf, 7001));
    // The same application is found by something else now.
    assert_eq!(manage(&mut smf, told("chat", &to_port(7001))), accepted);
    assert!(!passes(&mut smf, 7000));
    assert!(passes(&mut smf, 7001));
    // Another one's flows are none of its own; and one that is forgotten is not found.
    assert_eq!(manage(&mut smf, told("news", &to_port(7000))), accepted);
    assert!(!passes(&mut smf, 7000));
    assert_eq!(manage(&mut smf, told("chat", &[])), accepted);
    assert!(!passes(&mut smf, 7001));
    // It was only forgotten, and comes back to the session.
    assert_eq!(manage(&mut smf, told("chat", &to_port(7000))), accepted);
    assert!(passes(&mut smf, 7000));
    // Without any application, all are forgotten.
    assert_eq!(manage(&mut smf, PfdManagementRequest { applications: vec![] }), accepted);
    assert!(!passes(&mut smf, 7000));
    assert_eq!(
        smf.try_establish(SessionEstablishmentRequest { cp_fseid: FSeid::new(2, SMF), ..detecting("news") }).cause,
        Cause::RULE_CREATION_FAILURE
    );
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn an_application_that_nobody_told_of_is_no_rule() {
    let mut smf = Smf::associated();
    let answer = smf.try_establish(detecting("chat"));
    assert_eq!((answer.cause, answer.failed_rule), (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(1))));
    manage(&mut smf, told("chat", &to_port(7000)));
    // An application goes alone.
    let mut both = detecting("chat");
    let flow_description = Some("permit out ip from any to assigned".into());
    both.create_pdrs[0].pdi.sdf_filters = vec![SdfFilter { flow_description, ..Default::default() }];
    assert_eq!(smf.try_establish(both).cause, Cause::RULE_CREATION_FAILURE);
    assert_eq!(smf.n4.counts(), (0, 1));
}

#[test]
fn what_cannot_be_detected_is_refused_whole() {
    let mut smf = Smf::with(|config| {
        config.n4.applications = 2;
        config.n4.flows_per_application = 2;
    });
    // Nobody but an SMF that is associated tells of applications.
    assert_eq!(manage(&mut smf, told("a", &to_port(1))).cause, Cause::NO_ESTABLISHED_ASSOCIATION);
    smf.associate(1);
    let offending = Some(OffendingIe(PfdContents::TYPE));
    let wrong = manage(&mut smf, told("a", &["permit sideways".into()]));
    assert_eq!((wrong.cause, wrong.offending_ie), (Cause::MANDATORY_IE_INCORRECT, offending));
    let mut named = told("a", &to_port(1));
    named.applications[0].contexts[0].contents[0] =
        PfdContents { domain_names: vec![(b"example.com".to_vec(), None)], ..PfdContents::default() };
    let unseen = manage(&mut smf, named);
    assert_eq!((unseen.cause, unseen.offending_ie), (Cause::SERVICE_NOT_SUPPORTED, offending));
    let many: Vec<String> = (1..=3).flat_map(to_port).collect();
    assert_eq!(manage(&mut smf, told("a", &many)).cause, Cause::NO_RESOURCES_AVAILABLE);
    // One too many takes those beside it along.
    let three: Vec<_> = ["a", "b", "c"].iter().flat_map(|id| told(id, &to_port(1)).applications).collect();
    assert_eq!(manage(&mut smf, PfdManagementRequest { applications: three }).cause, Cause::NO_RESOURCES_AVAILABLE);
    assert_eq!(smf.n4.applications.len(), 0);
}

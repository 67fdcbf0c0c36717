//! PFD management: sessions detect the applications that SMFs provision.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use std::time::Duration;

fn flows(texts: &[String]) -> PfdContext {
    PfdContext {
        contents: vec![PfdContents { flow_descriptions: texts.to_vec(), ..PfdContents::default() }],
    }
}

fn provision(id: &str, texts: &[String]) -> PfdManagementRequest {
    let contexts = if texts.is_empty() { vec![] } else { vec![flows(texts)] };
    PfdManagementRequest {
        applications: vec![ApplicationIdsPfds { application_id: ApplicationId::new(id), contexts }],
    }
}

fn manage(smf: &mut Smf, request: PfdManagementRequest) -> PfdManagementResponse {
    let Message::PfdManagementResponse(answer) = smf.node(request) else {
        panic!("another answer")
    };
    answer
}

/// A session whose uplink matches one application only.
fn detecting(id: &str) -> SessionEstablishmentRequest {
    let mut request = establishment();
    request.create_pdrs[0].pdi.application_id = Some(ApplicationId::new(id));
    request
}

fn to_port(port: u16) -> Vec<String> {
    vec![format!("permit out 17 from any {port} to assigned")]
}

#[test]
fn a_pdr_follows_the_flows_of_an_application() {
    let mut smf = Smf::associated();
    let accepted = PfdManagementResponse { cause: Cause::ACCEPTED, offending_ie: None };
    assert_eq!(manage(&mut smf, provision("chat", &to_port(7000))), accepted);
    let (_, teid) = smf.establish(detecting("chat"));
    let passes = |smf: &mut Smf, port| {
        let packet = udp_packet((UE, 9000), (smf.bench.remote(), port), b"up");
        smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
        smf.bench.receive_n6().is_some()
    };
    assert!(passes(&mut smf, 7000));
    assert!(!passes(&mut smf, 7001));
    // The same application now has another flow.
    assert_eq!(manage(&mut smf, provision("chat", &to_port(7001))), accepted);
    assert!(!passes(&mut smf, 7000));
    assert!(passes(&mut smf, 7001));
    // Flows of another application do not match; a removed application is not detected.
    assert_eq!(manage(&mut smf, provision("news", &to_port(7000))), accepted);
    assert!(!passes(&mut smf, 7000));
    assert_eq!(manage(&mut smf, provision("chat", &[])), accepted);
    assert!(!passes(&mut smf, 7001));
    // The session still refers to it, so it matches again once provisioned.
    assert_eq!(manage(&mut smf, provision("chat", &to_port(7000))), accepted);
    assert!(passes(&mut smf, 7000));
    // Without any application, all are forgotten.
    assert_eq!(manage(&mut smf, PfdManagementRequest { applications: vec![] }), accepted);
    assert!(!passes(&mut smf, 7000));
    assert_eq!(
        smf.try_establish(SessionEstablishmentRequest {
            cp_fseid: FSeid::new(2, SMF),
            ..detecting("news")
        })
        .cause,
        Cause::RULE_CREATION_FAILURE
    );
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn a_pdr_with_an_unknown_application_is_rejected() {
    let mut smf = Smf::associated();
    let answer = smf.try_establish(detecting("chat"));
    assert_eq!(
        (answer.cause, answer.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(1)))
    );
    manage(&mut smf, provision("chat", &to_port(7000)));
    // A PDR has either an application or filters.
    let mut both = detecting("chat");
    let flow_description = Some("permit out ip from any to assigned".into());
    both.create_pdrs[0].pdi.sdf_filters =
        vec![SdfFilter { flow_description, ..Default::default() }];
    assert_eq!(smf.try_establish(both).cause, Cause::RULE_CREATION_FAILURE);
    assert_eq!(smf.n4.counts(), (0, 1));
}

#[test]
fn undetectable_pfds_are_rejected_completely() {
    let mut smf = Smf::with(|config| {
        config.n4.applications = 2;
        config.n4.flows_per_application = 2;
    });
    // Only an associated SMF may provision applications.
    assert_eq!(
        manage(&mut smf, provision("a", &to_port(1))).cause,
        Cause::NO_ESTABLISHED_ASSOCIATION
    );
    smf.associate(1);
    let offending = Some(OffendingIe(PfdContents::TYPE));
    let wrong = manage(&mut smf, provision("a", &["permit sideways".into()]));
    assert_eq!((wrong.cause, wrong.offending_ie), (Cause::MANDATORY_IE_INCORRECT, offending));
    let mut named = provision("a", &to_port(1));
    named.applications[0].contexts[0].contents[0] = PfdContents {
        domain_names: vec![(b"example.com".to_vec(), None)],
        ..PfdContents::default()
    };
    let unseen = manage(&mut smf, named);
    assert_eq!((unseen.cause, unseen.offending_ie), (Cause::SERVICE_NOT_SUPPORTED, offending));
    let many: Vec<String> = (1..=3).flat_map(to_port).collect();
    assert_eq!(manage(&mut smf, provision("a", &many)).cause, Cause::NO_RESOURCES_AVAILABLE);
    // Exceeding the limit rejects the whole request.
    let three: Vec<_> =
        ["a", "b", "c"].iter().flat_map(|id| provision(id, &to_port(1)).applications).collect();
    assert_eq!(
        manage(&mut smf, PfdManagementRequest { applications: three }).cause,
        Cause::NO_RESOURCES_AVAILABLE
    );
    assert_eq!(smf.n4.applications.len(), 0);
}

/// A DNS response as received from the data network.
fn answered(smf: &mut Smf, server: [u8; 4], name: &str, address: [u8; 4], holds: u32) {
    let message = martlet_upf_rules::dns::testing::message(name, None, &[address.into()], holds);
    let packet =
        martlet_upf_datapath::conformance::udp_packet((server.into(), 53), (UE, 4000), &message);
    smf.bench.packet_from_network(&packet);
    assert!(smf.reports().is_empty());
}

fn named(id: &str, names: &[&str]) -> PfdManagementRequest {
    let domain_names = names.iter().map(|name| (name.as_bytes().to_vec(), None)).collect();
    let contents = vec![PfdContents { domain_names, ..PfdContents::default() }];
    let application_id = ApplicationId::new(id);
    PfdManagementRequest {
        applications: vec![ApplicationIdsPfds {
            application_id,
            contexts: vec![PfdContext { contents }],
        }],
    }
}

#[test]
fn an_application_is_detected_by_dns_responses() {
    let server = [9, 9, 9, 9];
    let mut smf = Smf::with(|config| {
        config.n4.heartbeat_s = 0;
        config.n4.name_servers = vec![server.into()];
        config.n4.dns_min_hold_s = 60;
        config.n4.addresses_per_application = 2;
    });
    smf.associate(1);
    assert_eq!(
        manage(&mut smf, named("video", &["*.video.example", "img[0-9]+\\.example"])).cause,
        Cause::ACCEPTED
    );
    let (seid, teid) = smf.establish(detecting("video"));
    smf.accepted(seid, to_gnb(REMOTE));
    let passes = |smf: &mut Smf, to: [u8; 4]| {
        let packet = udp_packet((UE, 9000), (to.into(), 443), b"up");
        smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
        smf.bench.receive_n6().is_some()
    };
    let (one, two, three) = ([192, 0, 2, 1], [192, 0, 2, 2], [192, 0, 2, 3]);
    assert!(!passes(&mut smf, one), "no address is resolved yet");
    answered(&mut smf, [6, 6, 6, 6], "a.video.example", one, 10);
    assert!(!passes(&mut smf, one), "the server is not trusted");
    answered(&mut smf, server, "news.example", one, 10);
    assert!(!passes(&mut smf, one), "another name");
    answered(&mut smf, server, "a.video.example", one, 10);
    assert!(passes(&mut smf, one) && !passes(&mut smf, two));
    // The configured minimum lifetime applies if the TTL is shorter.
    smf.pass(Duration::from_secs(30));
    answered(&mut smf, server, "img7.example", two, 3000);
    assert!(passes(&mut smf, one) && passes(&mut smf, two));
    smf.pass(Duration::from_secs(40));
    assert!(!passes(&mut smf, one) && passes(&mut smf, two), "the first response has expired");
    // There is room for two: the one that expires first is evicted.
    answered(&mut smf, server, "b.video.example", one, 100);
    smf.pass(Duration::from_secs(1));
    answered(&mut smf, server, "c.video.example", three, 5000);
    smf.pass(Duration::from_secs(1));
    assert!(!passes(&mut smf, one) && passes(&mut smf, two) && passes(&mut smf, three));
    // Provisioning the same names again preserves resolved addresses; other names do not.
    assert_eq!(
        manage(&mut smf, named("video", &["*.video.example", "img[0-9]+\\.example"])).cause,
        Cause::ACCEPTED
    );
    assert!(passes(&mut smf, two));
    assert_eq!(manage(&mut smf, named("video", &["*.video.example"])).cause, Cause::ACCEPTED);
    assert!(!passes(&mut smf, two));
}

#[test]
fn invalid_domain_names_in_pfds_are_rejected() {
    let mut smf = Smf::with(|config| config.n4.name_servers = vec![[9, 9, 9, 9].into()]);
    smf.associate(1);
    assert_eq!(manage(&mut smf, named("a", &["("])).cause, Cause::MANDATORY_IE_INCORRECT);
    for contents in [
        PfdContents {
            domain_names: vec![(b"a.example".to_vec(), Some(b"TLS_SNI".to_vec()))],
            ..Default::default()
        },
        PfdContents { urls: vec![b"https://a.example/.*".to_vec()], ..Default::default() },
        PfdContents { custom: Some(vec![1]), ..Default::default() },
        PfdContents { custom: Some(b"url http://a.example/".to_vec()), ..Default::default() },
    ] {
        let mut request = named("a", &["a.example"]);
        request.applications[0].contexts[0].contents[0] = contents;
        assert_eq!(manage(&mut smf, request).cause, Cause::SERVICE_NOT_SUPPORTED);
    }
    assert_eq!(manage(&mut smf, named("a", &["a.example"])).cause, Cause::ACCEPTED);
}

fn described(contents: PfdContents) -> PfdManagementRequest {
    PfdManagementRequest {
        applications: vec![ApplicationIdsPfds {
            application_id: ApplicationId::new("video"),
            contexts: vec![PfdContext { contents: vec![contents] }],
        }],
    }
}

fn custom(text: &str) -> PfdContents {
    PfdContents { custom: Some(text.into()), ..PfdContents::default() }
}

/// A segment of TCP from a port of the UE, or to it.
fn segment(up: bool, port: u16, flags: u8, payload: &str) -> Vec<u8> {
    let (ue, host) = ((UE.octets(), port), ([10, 99, 0, 1], 80));
    let (from, to) = if up { (ue, host) } else { (host, ue) };
    let mut packet = vec![0x45, 0, 0, 40 + payload.len() as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend([from.0, to.0].concat());
    packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
    packet.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend(payload.as_bytes());
    packet
}

/// Whether a packet of the UE passes.
fn leaves(smf: &mut Smf, teid: u32, packet: &[u8]) -> bool {
    smf.bench.send_n3(&g_pdu(teid, Some(9), packet));
    smf.bench.left.to_network.lock().unwrap().pop_front().is_some()
}

/// Whether a packet to the UE passes.
fn arrives(smf: &mut Smf, packet: &[u8]) -> bool {
    smf.bench.packet_from_network(packet);
    smf.bench.receive_n3().is_some()
}

const VIDEO: &str = "GET /video/1 HTTP/1.1\r\nHost: A.example\r\n\r\n";
const OTHER: &str = "GET /news HTTP/1.1\r\nHost: a.example\r\n\r\n";

#[test]
fn an_application_is_detected_by_the_urls_of_requests() {
    let mut smf = Smf::associated();
    let urls = vec![b"http://a.example/video".to_vec(), b"^http://b\\.example/.*$".to_vec()];
    let video = || described(PfdContents { urls: urls.clone(), ..Default::default() });
    assert_eq!(manage(&mut smf, video()).cause, Cause::ACCEPTED);
    let mut request = detecting("video");
    // Packets to the UE match by the application, too.
    request.create_pdrs[1].pdi.application_id = Some(ApplicationId::new("video"));
    let (seid, teid) = smf.establish(request);
    smf.accepted(seid, to_gnb(REMOTE));
    assert!(!leaves(&mut smf, teid, &segment(true, 5000, 0x10, "")), "nothing is requested");
    assert!(!leaves(&mut smf, teid, &segment(true, 5000, 0x18, OTHER)), "another path");
    assert!(leaves(&mut smf, teid, &segment(true, 5000, 0x18, VIDEO)));
    assert!(arrives(&mut smf, &segment(false, 5000, 0x18, "HTTP/1.1 200 OK")));
    assert!(leaves(&mut smf, teid, &segment(true, 5000, 0x10, "")));
    assert!(!arrives(&mut smf, &segment(false, 5001, 0x18, "HTTP/1.1 200 OK")), "another one");
    // The same connection requests another URL, or is another one.
    assert!(!leaves(&mut smf, teid, &segment(true, 5000, 0x18, OTHER)));
    assert!(!arrives(&mut smf, &segment(false, 5000, 0x18, "HTTP/1.1 200 OK")));
    let other = "HEAD http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n";
    assert!(leaves(&mut smf, teid, &segment(true, 5000, 0x18, other)));
    assert!(!leaves(&mut smf, teid, &segment(true, 5000, 0x02, "")));
    // The same URLs keep the connection, others do not.
    assert!(leaves(&mut smf, teid, &segment(true, 5002, 0x18, VIDEO)));
    assert_eq!(manage(&mut smf, video()).cause, Cause::ACCEPTED);
    assert!(leaves(&mut smf, teid, &segment(true, 5002, 0x10, "")));
    let urls = vec![b"http://c.example/".to_vec()];
    let other = described(PfdContents { urls, ..Default::default() });
    assert_eq!(manage(&mut smf, other).cause, Cause::ACCEPTED);
    assert!(!leaves(&mut smf, teid, &segment(true, 5002, 0x10, "")));
}

#[test]
fn an_application_is_detected_by_custom_content() {
    let mut smf = Smf::associated();
    let text = "flow: permit out 17 from any 7000 to assigned\r\n\n url: a.example/video\n";
    assert_eq!(manage(&mut smf, described(custom(text))).cause, Cause::ACCEPTED);
    let (_, teid) = smf.establish(detecting("video"));
    let remote = smf.bench.remote();
    assert!(leaves(&mut smf, teid, &udp_packet((UE, 9000), (remote, 7000), b"")));
    assert!(!leaves(&mut smf, teid, &udp_packet((UE, 9000), (remote, 7001), b"")));
    assert!(leaves(&mut smf, teid, &segment(true, 5000, 0x18, VIDEO)));
    assert!(!leaves(&mut smf, teid, &segment(true, 5000, 0x18, OTHER)));
    let offending = Some(OffendingIe(PfdContents::TYPE));
    for (text, cause) in [
        ("", Cause::SERVICE_NOT_SUPPORTED),
        ("sni: a.example", Cause::SERVICE_NOT_SUPPORTED),
        ("url: https://a.example/", Cause::SERVICE_NOT_SUPPORTED),
        ("domain: a.example", Cause::SERVICE_NOT_SUPPORTED),
        ("url: (", Cause::MANDATORY_IE_INCORRECT),
        ("flow: permit sideways", Cause::MANDATORY_IE_INCORRECT),
    ] {
        let answer = manage(&mut smf, described(custom(text)));
        assert_eq!((answer.cause, answer.offending_ie), (cause, offending), "{text}");
    }
    // Beside a part that is detected, another one is left out.
    let urls = vec![b"https://a.example/".to_vec(), b"http://a.example/".to_vec()];
    let contents = PfdContents { urls, custom: Some(b"opaque".to_vec()), ..Default::default() };
    assert_eq!(manage(&mut smf, described(contents)).cause, Cause::ACCEPTED);
    assert!(leaves(&mut smf, teid, &segment(true, 5000, 0x18, OTHER)));
}

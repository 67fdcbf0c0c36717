//! UE addresses that the UPF allocates.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_config::DnnConfig;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// A UPF with a pool of five addresses.
fn giving() -> Smf {
    let mut smf = Smf::with(|config| {
        let pools = vec!["10.45.0.0/29".into()];
        let name = "internet".into();
        config.dnns = vec![DnnConfig { name, pools, allocate: true, ..DnnConfig::default() }];
    });
    let answer = smf.associate(1);
    assert!(answer.up_features.unwrap().has(UpFunctionFeatures::UEIP));
    smf
}

fn choosing(cp_seid: u64, v6: bool) -> SessionEstablishmentRequest {
    let mut request = establishment();
    request.cp_fseid.seid = cp_seid;
    for pdr in &mut request.create_pdrs {
        let is_destination = pdr.pdi.ue_ip_addresses[0].is_destination;
        let ue = UeIpAddress {
            is_destination,
            choose_ipv4: true,
            choose_ipv6: v6,
            ..UeIpAddress::default()
        };
        pdr.pdi.ue_ip_addresses = vec![ue];
    }
    request
}

fn establish(smf: &mut Smf, request: SessionEstablishmentRequest) -> SessionEstablishmentResponse {
    let Message::SessionEstablishmentResponse(answer) = smf.session(0, request).message else {
        panic!()
    };
    answer
}

#[test]
fn an_ipv6_prefix_is_advertised_again_before_the_router_expires() {
    let mut smf = Smf::without_heartbeats();
    let mut request = establishment();
    for pdr in &mut request.create_pdrs {
        pdr.pdi.ue_ip_addresses[0].ipv6 = Some("fd45:0:0:7::".parse().unwrap());
    }
    let (seid, _) = smf.establish(request);
    smf.accepted(seid, to_gnb(REMOTE));
    for _ in 0..3 {
        smf.pass(Duration::from_secs(21_600));
        let bytes = smf.bench.receive_n3().expect("an advertisement");
        let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&bytes) else { panic!() };
        assert_eq!(pdu.payload[40], 134);
    }
    // An idle UE is paged.
    smf.accepted(seid, idle());
    smf.pass(Duration::from_secs(21_600));
    let (_, report) = smf.reports().remove(0);
    assert_eq!(report.report_type, ReportType::DLDR);
    smf.delete(seid);
    assert_eq!(smf.n4.deadlines.len(), 0);
}

#[test]
fn a_prefix_that_a_modification_adds_is_advertised_until_it_is_removed() {
    let mut smf = Smf::without_heartbeats();
    let (seid, _) = smf.establish(establishment());
    smf.accepted(seid, to_gnb(REMOTE));
    let before = smf.n4.deadlines.len();
    let with = |prefix: Option<Ipv6Addr>| {
        let mut pdi = establishment().create_pdrs[1].pdi.clone();
        pdi.ue_ip_addresses[0].ipv6 = prefix;
        let update = UpdatePdr { pdr_id: PdrId(2), pdi: Some(pdi), ..Default::default() };
        SessionModificationRequest { update_pdrs: vec![update], ..Default::default() }
    };
    smf.accepted(seid, with(Some("fd45:0:0:7::".parse().unwrap())));
    assert_eq!(smf.n4.deadlines.len(), before + 1);
    smf.pass(Duration::from_secs(21_600));
    let bytes = smf.bench.receive_n3().expect("an advertisement");
    let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&bytes) else { panic!() };
    assert_eq!(pdu.payload[40], 134);
    smf.accepted(seid, with(None));
    assert_eq!(smf.n4.deadlines.len(), before);
}

#[test]
fn both_directions_of_a_session_use_one_address() {
    let mut smf = giving();
    let answer = establish(&mut smf, choosing(1, true));
    assert_eq!(answer.cause, Cause::ACCEPTED);
    let [uplink, downlink] = &answer.created_pdrs[..] else { panic!("{answer:?}") };
    let (up, down) = (uplink.ue_ip_addresses[0], downlink.ue_ip_addresses[0]);
    assert_eq!((up.ipv4, up.is_destination), (Some(Ipv4Addr::new(10, 45, 0, 2)), false));
    assert_eq!((down.ipv4, down.ipv6, down.is_destination), (up.ipv4, up.ipv6, true));
    assert_eq!(up.ipv6, Some("fd45:0:0:1::".parse().unwrap()));
    assert_eq!(downlink.local_fteid, None);
    let Some(FTeid::Given { teid, .. }) = uplink.local_fteid else { panic!("{uplink:?}") };
    // Packets from that address pass, and those from another one do not.
    for (source, passes) in [(up.ipv4.unwrap(), true), (Ipv4Addr::new(10, 45, 0, 3), false)] {
        let packet = udp_packet((source, 9000), (smf.bench.remote(), 7000), b"up");
        smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
        assert_eq!(smf.bench.receive_n6().is_some(), passes, "{source}");
    }
}

#[test]
fn addresses_are_released_with_their_session() {
    let mut smf = giving();
    let mut seids = Vec::new();
    let mut given = std::collections::BTreeSet::new();
    for n in 1..=5 {
        let answer = establish(&mut smf, choosing(n, false));
        seids.push(answer.up_fseid.unwrap().seid);
        assert!(given.insert(answer.created_pdrs[0].ue_ip_addresses[0].ipv4.unwrap()), "{given:?}");
    }
    assert_eq!(
        establish(&mut smf, choosing(6, false)).cause,
        Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED
    );
    // A request that is rejected for another reason holds no address.
    smf.delete(seids[2]);
    let mut wrong = choosing(7, false);
    wrong.create_pdrs[1].far_id = Some(FarId(77));
    assert_eq!(establish(&mut smf, wrong).cause, Cause::RULE_CREATION_FAILURE);
    let again = establish(&mut smf, choosing(8, false));
    assert_eq!(again.cause, Cause::ACCEPTED);
    assert!(given.contains(&again.created_pdrs[0].ue_ip_addresses[0].ipv4.unwrap()));
    // The end of the association frees all of them.
    smf.associate(2);
    for n in 1..=5 {
        assert_eq!(establish(&mut smf, choosing(n, false)).cause, Cause::ACCEPTED);
    }
}

#[test]
fn no_addresses_are_allocated_for_a_dnn_of_the_smf() {
    let mut smf = Smf::associated();
    let answer = establish(&mut smf, choosing(1, false));
    assert_eq!(
        (answer.cause, answer.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(1)))
    );
    assert_eq!(smf.n4.counts(), (0, 1));
}

#[test]
fn the_network_of_an_address_may_be_written_in_labels() {
    let mut smf = giving();
    let mut request = choosing(1, false);
    for pdr in &mut request.create_pdrs {
        pdr.pdi.network_instance = Some(NetworkInstance::in_labels("internet"));
    }
    assert_eq!(establish(&mut smf, request).cause, Cause::ACCEPTED);
}

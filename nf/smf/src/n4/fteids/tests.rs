//! F-TEIDs over the requests and responses of sessions.
use super::table::Use;
use super::*;
use crate::addresses::Addresses;
use crate::config::SmfConfig;
use crate::n4::{
    Downlink, N4Error, RuleParameters, SessionTraffic, access_rules, access_tunnels, deletion,
    establishment, forward, forwarding_tunnel, stop_forwarding,
};
use crate::user_plane_path::Tunnel;
use martlet_pfcp::ie::{
    Cause, CreatedPdr, FSeid, FTeid, Interface, NodeId, OuterHeaderRemoval, RecoveryTimeStamp,
};
use martlet_pfcp::{
    Message, SessionDeletionResponse, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationResponse,
};
use martlet_sbi_api::common::PduSessionType;
use std::net::Ipv4Addr;

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 8);
const N9: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

fn upf() -> UpfConfig {
    UpfConfig {
        n3_address: Some(N3.into()),
        ..UpfConfig::at(SocketAddr::from(([127, 0, 0, 8], 8805)))
    }
}

fn association(features: UpFunctionFeatures) -> AssociationSetupResponse {
    AssociationSetupResponse {
        node_id: NodeId::Ip(N3.into()),
        cause: Cause::ACCEPTED,
        recovery: RecoveryTimeStamp(1),
        up_features: Some(features),
        cp_features: None,
        ip_resources: vec![],
        flags: None,
    }
}

/// The SMF, associated with a UPF that does not allocate F-TEIDs.
async fn smf() -> N4 {
    let mut config = SmfConfig { upfs: vec![upf()], ..SmfConfig::default() };
    (config.n4.bind, config.n4.port) = (Ipv4Addr::LOCALHOST.into(), 0);
    let n4 = N4::open(&config, None, false).await.unwrap();
    n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::EMPU), false);
    n4
}

fn parameters(cp_seid: u64, restored: Option<Tunnel>) -> RuleParameters<'static> {
    RuleParameters {
        node: NodeId::Ip(N3.into()),
        cp_address: N3.into(),
        cp_seid,
        traffic: SessionTraffic {
            kind: &PduSessionType::Ipv4,
            ue: Addresses { ipv4: Some([10, 45, 0, 2].into()), prefix: None },
            dnn: "internet",
            framed_routes: &[],
        },
        unstructured_server: None,
        qfi: 1,
        uplink: 1000,
        downlink: 1000,
        flows: &[],
        quota: None,
        groups: vec![],
        restored,
        inactivity_s: None,
        downlink_action: Downlink::Buffer,
    }
}

fn pdrs_of(message: &Message) -> Vec<FTeid> {
    let pdrs = match message {
        Message::SessionEstablishmentRequest(request) => &request.create_pdrs,
        Message::SessionModificationRequest(request) => &request.create_pdrs,
        other => panic!("{other:?}"),
    };
    pdrs.iter().filter_map(|pdr| pdr.pdi.local_fteid).collect()
}

/// The UPF establishes the session with this identifier, without any F-TEID in its response.
fn established(n4: &N4, request: SessionEstablishmentRequest, seid: u64) -> Vec<CreatedPdr> {
    let mut message = Message::from(request);
    let allocation = n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().unwrap();
    assert!(pdrs_of(&message).iter().all(|fteid| matches!(fteid, FTeid::Given { .. })));
    let mut answer = Ok(Message::from(SessionEstablishmentResponse {
        node_id: NodeId::Ip(N3.into()),
        cause: Cause::ACCEPTED,
        offending_ie: None,
        up_fseid: Some(FSeid::new(seid, N3.into())),
        created_pdrs: vec![],
        load: None,
        overload: None,
        failed_rule: None,
        created_traffic_endpoints: vec![],
    }));
    allocation.answered(&mut answer);
    let Ok(Message::SessionEstablishmentResponse(response)) = answer else { panic!() };
    response.created_pdrs
}

fn modified(n4: &N4, request: impl Into<Message>, seid: u64) -> Vec<CreatedPdr> {
    let mut message = request.into();
    let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message).unwrap().unwrap();
    let mut answer = Ok(Message::from(SessionModificationResponse {
        cause: Cause::ACCEPTED,
        offending_ie: None,
        created_pdrs: vec![],
        load: None,
        overload: None,
        usage_reports: vec![],
        failed_rule: None,
        created_traffic_endpoints: vec![],
    }));
    allocation.answered(&mut answer);
    let Ok(Message::SessionModificationResponse(response)) = answer else { panic!() };
    response.created_pdrs
}

fn deleted(n4: &N4, seid: u64) {
    let mut message = Message::from(deletion());
    let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message).unwrap().unwrap();
    let response = SessionDeletionResponse {
        cause: Cause::ACCEPTED,
        offending_ie: None,
        load: None,
        overload: None,
        usage_reports: vec![],
    };
    allocation.answered(&mut Ok(response.into()));
}

fn teid(created: &[CreatedPdr]) -> u32 {
    match created[0].local_fteid {
        Some(FTeid::Given { teid, ipv4: Some(ip), ipv6: None }) if ip == N3 => teid,
        other => panic!("{other:?}"),
    }
}

/// The TEIDs that are in use, or may be.
fn used(n4: &N4) -> usize {
    n4.fteids().get(&upf().n4).map_or(0, |upf| upf.used.len())
}

#[test]
fn the_smf_allocates_where_the_upf_does_not() {
    let (ftup, without) = (UpFunctionFeatures::FTUP, UpFunctionFeatures::default());
    assert_eq!(resources(&upf(), &association(ftup)), []);
    let configured = UserPlaneIpResource { ipv4: Some(N3), ..Default::default() };
    assert_eq!(resources(&upf(), &association(without)), std::slice::from_ref(&configured));
    let forced = UpfConfig { allocate_fteids: true, ..upf() };
    assert_eq!(resources(&forced, &association(ftup)), [configured]);
    assert_eq!(resources(&UpfConfig::at(upf().n4), &association(without)), []);
    // What the UPF says counts.
    let own = UserPlaneIpResource { ipv4: Some(N9), ..Default::default() };
    let announced = AssociationSetupResponse {
        ip_resources: vec![UserPlaneIpResource::default(), own.clone()],
        ..association(without)
    };
    assert_eq!(resources(&upf(), &announced), [own]);
}

#[tokio::test]
async fn f_teids_are_unique_and_free_with_the_end_of_their_session() {
    let n4 = smf().await;
    let sessions: Vec<u32> = (1..=100)
        .map(|n| teid(&established(&n4, establishment(&parameters(n, None)), n)))
        .collect();
    let mut unique = sessions.clone();
    unique.sort_unstable();
    unique.dedup();
    assert!(unique.len() == 100 && !unique.contains(&0) && used(&n4) == 100);
    // A tunnel for indirect forwarding has one of its own.
    let created = modified(&n4, forward(7, N9.into()), 5);
    let (forwarding, address) = forwarding_tunnel(&created).unwrap();
    assert!(!sessions.contains(&forwarding) && address == N3 && used(&n4) == 101);
    let stored = n4.allocated_teids(upf().n4, 5).unwrap();
    assert_eq!(stored.2.len(), 2);
    assert_eq!(modified(&n4, stop_forwarding(), 5), []);
    assert_eq!(n4.allocated_teids(upf().n4, 5), Some((upf().n4, 5, vec![(1, sessions[4])])));
    (1..=100).for_each(|seid| deleted(&n4, seid));
    assert_eq!((used(&n4), n4.allocated_teids(upf().n4, 5)), (0, None));
}

#[tokio::test]
async fn n3_and_n9_have_f_teids_of_their_own_at_the_address_of_their_interface() {
    let n4 = smf().await;
    let of = |ip, interface| UserPlaneIpResource {
        ipv4: Some(ip),
        source_interface: Some(interface),
        ..Default::default()
    };
    let announced = AssociationSetupResponse {
        ip_resources: vec![of(N9, Interface::Core), of(N3, Interface::Access)],
        ..association(UpFunctionFeatures::default())
    };
    n4.set_fteid_resources(&upf(), &announced, false);
    let local = ["permit out ip from 10.98.0.0/16 to assigned".to_string()];
    let request = access_rules(&parameters(1, None), (9, N9.into()), &local);
    let created = established(&n4, request, 1);
    let ((n3, address, _), n9) = access_tunnels(&created).unwrap();
    assert_eq!((address, n9.1), (N3.into(), N9.into()));
    // The PDRs of the gNB's packets share a CHOOSE ID.
    assert!(n3 != n9.0 && used(&n4) == 2 && created.len() == 3);
}

#[tokio::test]
async fn the_outer_header_to_remove_has_the_ip_version_of_the_f_teid() {
    let n4 = smf().await;
    for (address, description) in [(IpAddr::V4(N3), 0), ("2001:db8::8".parse().unwrap(), 1)] {
        let upf = UpfConfig { n3_address: Some(address), ..upf() };
        n4.set_fteid_resources(&upf, &association(UpFunctionFeatures::default()), true);
        let mut message = establishment(&parameters(1, None)).into();
        let allocation = n4.allocate_fteids(upf.n4, Some(0), &mut message).unwrap();
        assert!(allocation.is_some());
        let Message::SessionEstablishmentRequest(request) = message else { panic!() };
        let removals = request.create_pdrs.iter().map(|pdr| pdr.outer_header_removal);
        let uplink = Some(OuterHeaderRemoval { description });
        assert_eq!(removals.collect::<Vec<_>>(), [uplink, None]);
    }
}

#[tokio::test]
async fn f_teids_are_restored_with_their_sessions() {
    let n4 = smf().await;
    let at = upf().n4;
    let first = teid(&established(&n4, establishment(&parameters(1, None)), 11));
    let second = teid(&established(&n4, establishment(&parameters(2, None)), 12));
    let stored = [11, 12].map(|seid| n4.allocated_teids(at, seid).unwrap());
    // Another process.
    let n4 = smf().await;
    n4.restore_teids(1, &stored[0]);
    n4.restore_teids(2, &stored[1]);
    // The UPF has lost its sessions. One is restored with the identifier that the other had.
    n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::EMPU), true);
    assert_eq!((used(&n4), n4.allocated_teids(at, 11)), (2, None));
    let restored = |n4: &N4, reference, teid, seid| {
        let request = establishment(&parameters(reference, Some((teid, N3.into()))));
        established(n4, request, seid);
    };
    restored(&n4, 1, first, 12);
    restored(&n4, 2, second, 13);
    let teids = |seid| n4.allocated_teids(at, seid).unwrap().2;
    assert_eq!((teids(12), teids(13)), (vec![(1, first)], vec![(1, second)]));
    // A UPF that has lost one session alone gets it again.
    restored(&n4, 2, second, 14);
    assert_eq!((teids(14), n4.allocated_teids(at, 13)), (vec![(1, second)], None));
    // No other session gets the TEID, and none an address that the UPF no longer has.
    for (reference, tunnel) in [(3, (first, N3)), (1, (first, N9))] {
        let tunnel = (tunnel.0, IpAddr::from(tunnel.1));
        let mut request = establishment(&parameters(reference, Some(tunnel))).into();
        let refused = n4.allocate_fteids(at, Some(0), &mut request).err();
        let cause = Cause::INVALID_FTEID_ALLOCATION_OPTION.0;
        assert!(matches!(refused, Some(N4Error::Rejected(of)) if of == cause));
    }
    deleted(&n4, 12);
    deleted(&n4, 14);
    assert_eq!(used(&n4), 0);
}

#[tokio::test]
async fn a_teid_is_held_while_the_upf_may_have_it() {
    let n4 = smf().await;
    let mut message = establishment(&parameters(1, None)).into();
    let allocation = n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().unwrap();
    allocation.answered(&mut Err(N4Error::Timeout(upf().n4)));
    assert_eq!(used(&n4), 1);
    let held = n4.fteids().get(&upf().n4).and_then(|upf| upf.used.values().next().copied());
    assert!(matches!(held, Some(Use::Held(_))), "{held:?}");
    // A UPF that allocates gets what the rules ask for.
    n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::FTUP), true);
    let mut message = establishment(&parameters(1, None)).into();
    assert!(n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().is_none());
    assert!(matches!(pdrs_of(&message)[..], [FTeid::Choose { .. }]) && used(&n4) == 0);
}

#[tokio::test]
async fn the_teids_of_a_session_that_is_not_deleted_are_held() {
    let n4 = smf().await;
    (1..=4).for_each(|n| drop(established(&n4, establishment(&parameters(n, None)), n)));
    let answered = |seid, answer: Result<Message, N4Error>| {
        let mut message = Message::from(deletion());
        let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message);
        allocation.unwrap().unwrap().answered(&mut { answer });
    };
    let is_held = |of: &&Use| matches!(of, Use::Held(_));
    let held = || n4.fteids()[&upf().n4].used.values().filter(is_held).count();
    // The deletion is requested again after a timeout, and not after a rejection.
    answered(1, Err(N4Error::Timeout(upf().n4)));
    assert_eq!((used(&n4), held()), (4, 0));
    answered(1, Err(N4Error::Rejected(Cause::SYSTEM_FAILURE.0)));
    let response = SessionDeletionResponse {
        cause: Cause::SYSTEM_FAILURE,
        offending_ie: None,
        load: None,
        overload: None,
        usage_reports: vec![],
    };
    answered(2, Ok(response.into()));
    assert_eq!((used(&n4), held()), (4, 2));
    // The UPF does not know the session.
    answered(3, Err(N4Error::Rejected(Cause::SESSION_CONTEXT_NOT_FOUND.0)));
    assert_eq!((used(&n4), held()), (3, 2));
    // Another member of the set had the last one.
    n4.sessions_ended(&[4, 5]);
    assert_eq!((used(&n4), held()), (3, 3));
    assert!((1..=4).all(|seid| n4.allocated_teids(upf().n4, seid).is_none()));
}

#[tokio::test]
async fn a_session_has_the_teids_of_a_change_with_a_malformed_response() {
    let n4 = smf().await;
    established(&n4, establishment(&parameters(1, None)), 5);
    let mut message = forward(7, N9.into()).into();
    let allocation = n4.allocate_fteids(upf().n4, Some(5), &mut message).unwrap().unwrap();
    allocation.answered(&mut Err(N4Error::Unexpected("a malformed response")));
    assert_eq!(n4.allocated_teids(upf().n4, 5).unwrap().2.len(), 2);
    deleted(&n4, 5);
    assert_eq!(used(&n4), 0);
}
